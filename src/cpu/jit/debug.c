/* SPDX-License-Identifier: MIT
 *
 * Machine code for those who look at it: GDB, which is told of objects by its JIT interface; perf,
 * by a map of symbols or a dump of the code; and heddle itself, which wants lines for faults.
 *
 * GDB's and perf's listeners are of LLVM's older linker, so only code with lines is linked by it.
 */
#include "cpu/jit/jit.h"

#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Object.h>
#include <llvm-c/OrcEE.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Not every LLVM is built with it. */
extern LLVMJITEventListenerRef LLVMCreatePerfJITEventListener(void) __attribute__((weak));

CpuPerf cpu_perf(void)
{
    const char *s = getenv("HEDDLE_PERF");
    if (!s || !*s || !strcmp(s, "0"))
        return CPU_PERF_NONE;
    return strcmp(s, "jitdump") ? CPU_PERF_MAP : CPU_PERF_DUMP;
}

/* ---- linking --------------------------------------------------------------------------------- */

/* The listeners are the process's: LLVM keeps what they registered with them. */
static LLVMJITEventListenerRef gdb_listener, perf_listener;
static pthread_once_t listeners = PTHREAD_ONCE_INIT;

static void make_listeners(void)
{
    gdb_listener = LLVMCreateGDBRegistrationListener();
    if (cpu_perf() == CPU_PERF_DUMP && LLVMCreatePerfJITEventListener)
        perf_listener = LLVMCreatePerfJITEventListener();
}

static LLVMOrcObjectLayerRef linking_layer(void *user, LLVMOrcExecutionSessionRef session,
                                           const char *triple)
{
    (void)user;
    (void)triple;
    LLVMOrcObjectLayerRef layer =
        LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(session);
    if (gdb_listener)
        LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener(layer, gdb_listener);
    if (perf_listener)
        LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener(layer, perf_listener);
    return layer;
}

LLVMOrcLLJITBuilderRef cpu_debug_linker(void)
{
    pthread_once(&listeners, make_listeners);
    LLVMOrcLLJITBuilderRef b = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(b, linking_layer, NULL);
    return b;
}

/* ---- what an object says of its code --------------------------------------------------------- */

static bool read_section(CpuLines *l, LLVMBinaryRef object, const char *name)
{
    LLVMSectionIteratorRef s = LLVMObjectFileCopySectionIterator(object);
    bool found = false;
    for (; !found && !LLVMObjectFileIsSectionIteratorAtEnd(object, s); LLVMMoveToNextSection(s)) {
        const char *is = LLVMGetSectionName(s);
        found = is && !strcmp(is, name);
        if (found && !strcmp(name, ".text"))
            l->size = LLVMGetSectionSize(s);
        else if (found)
            found = cpu_lines_read(l, LLVMGetSectionContents(s), LLVMGetSectionSize(s));
    }
    LLVMDisposeSectionIterator(s);
    return found;
}

static bool add_function(CpuLines *l, const char *name, uint64_t offset, uint64_t size)
{
    CpuFunction *more = realloc(l->functions, (l->n_functions + 1) * sizeof *more);
    char *copy = strdup(name);
    if (more)
        l->functions = more;
    if (!more || !copy) {
        free(copy);
        return false;
    }
    l->functions[l->n_functions++] = (CpuFunction){ copy, offset, size };
    return true;
}

static bool read_functions(CpuLines *l, LLVMBinaryRef object, uintptr_t kernel)
{
    LLVMSectionIteratorRef s = LLVMObjectFileCopySectionIterator(object);
    LLVMSymbolIteratorRef i = LLVMObjectFileCopySymbolIterator(object);
    bool good = true;
    for (; good && !LLVMObjectFileIsSymbolIteratorAtEnd(object, i); LLVMMoveToNextSymbol(i)) {
        const char *name = LLVMGetSymbolName(i);
        uint64_t size = LLVMGetSymbolSize(i), offset = LLVMGetSymbolAddress(i);
        if (!name || !*name || !size)
            continue;
        LLVMMoveToContainingSection(s, i);
        const char *section =
            LLVMObjectFileIsSectionIteratorAtEnd(object, s) ? NULL : LLVMGetSectionName(s);
        if (!section || strcmp(section, ".text"))
            continue;
        good = add_function(l, name, offset, size);
        if (!strcmp(name, CPU_KERNEL_NAME))
            l->start = kernel - offset;
    }
    LLVMDisposeSymbolIterator(i);
    LLVMDisposeSectionIterator(s);
    return good && l->start;
}

CpuLines *cpu_debug_lines(LLVMMemoryBufferRef object, uintptr_t kernel)
{
    char *error = NULL;
    LLVMBinaryRef binary = LLVMCreateBinary(object, NULL, &error);
    LLVMDisposeMessage(error);
    CpuLines *l = binary ? calloc(1, sizeof *l) : NULL;
    if (l && (!read_section(l, binary, ".text") || !read_functions(l, binary, kernel))) {
        cpu_lines_free(l);
        l = NULL;
    }
    if (l)
        read_section(l, binary, ".debug_line"); /* none: of an object without lines */
    if (binary)
        LLVMDisposeBinary(binary);
    return l;
}

/* ---- perf's map ------------------------------------------------------------------------------ */

/* "START SIZE NAME", a line a function. The kernel's own symbol is the same for all, so it has the
 * name that its source has. */
void cpu_perf_map(const CpuLines *l, const char *kernel)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    pthread_mutex_lock(&lock);
    FILE *f = fopen(path, "ae");
    for (uint32_t k = 0; f && k < l->n_functions; k++) {
        const CpuFunction *x = &l->functions[k];
        bool own = !strcmp(x->name, CPU_KERNEL_NAME);
        char line[512];
        int n = snprintf(line, sizeof line, "%llx %llx %s%s%s\n",
                         (unsigned long long)(l->start + x->offset), (unsigned long long)x->size,
                         kernel, own ? "" : " ", own ? "" : x->name);
        fwrite(line, 1, MIN((size_t)n, sizeof line - 1), f);
    }
    if (f)
        fclose(f);
    pthread_mutex_unlock(&lock);
}
