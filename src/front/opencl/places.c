/* SPDX-License-Identifier: MIT
 *
 * Where instructions are in the source. LLVM's SPIR-V target writes no OpLine, but it writes names:
 * what is to be known of an instruction of LLVM's goes through it in the instruction's name, and is
 * taken out of the module again. Until then it is a debug location, which LLVM's passes know how to
 * keep. An instruction without a result has no name; it is taken to be where the one before it is.
 */
#include "front/opencl/emit.h"
#include "front/opencl/spirv_target.h"

#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <stdlib.h>

/* A name is BEGIN, "line:column:file", END and the name that there was; of variables that are kept
 * for debuggers another END, and what LLVM appends. */
static const char BEGIN = '\x01', END = '\x02';

/* ---- debug locations ------------------------------------------------------------------------- */

void ocl_places_begin(OclEmit *e)
{
    static const char flag[] = "Debug Info Version";
    LLVMValueRef version = LLVMConstInt(e->i32, LLVMDebugMetadataVersion(), false);
    e->places = LLVMCreateDIBuilder(e->module);
    LLVMMetadataRef file =
        LLVMDIBuilderCreateFile(e->places, e->o->name, strlen(e->o->name), "", 0);
    LLVMDIBuilderCreateCompileUnit(e->places, LLVMDWARFSourceLanguageC99, file, "heddle", 6, false,
                                   "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, false,
                                   false, "", 0, "", 0);
    LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, flag, sizeof flag - 1,
                      LLVMValueAsMetadata(version));
}

void ocl_places_end(OclEmit *e)
{
    if (!e->places)
        return;
    LLVMDIBuilderFinalize(e->places);
    LLVMDisposeDIBuilder(e->places);
}

void ocl_places_function(OclEmit *e, LLVMValueRef f, const char *name, OclLoc loc)
{
    if (!e->places)
        return;
    DiagLoc at = ocl_position(e->o, loc);
    LLVMMetadataRef file = LLVMDIBuilderCreateFile(e->places, at.file, strlen(at.file), "", 0);
    LLVMMetadataRef type =
        LLVMDIBuilderCreateSubroutineType(e->places, file, NULL, 0, LLVMDIFlagZero);
    e->scope =
        LLVMDIBuilderCreateFunction(e->places, file, name, strlen(name), "", 0, file, at.line, type,
                                    true, true, at.line, LLVMDIFlagZero, true);
    e->scope_file = at.file;
    LLVMSetSubprogram(f, e->scope);
    ocl_places_at(e, loc);
    LLVMSetCurrentDebugLocation2(e->entry, LLVMGetCurrentDebugLocation2(e->builder));
}

LLVMMetadataRef ocl_places_at(OclEmit *e, OclLoc loc)
{
    LLVMMetadataRef before = e->places ? LLVMGetCurrentDebugLocation2(e->builder) : NULL;
    if (!e->places || !loc)
        return before;
    DiagLoc at = ocl_position(e->o, loc);
    LLVMMetadataRef scope = e->scope;
    if (strcmp(at.file, e->scope_file)) {
        LLVMMetadataRef file = LLVMDIBuilderCreateFile(e->places, at.file, strlen(at.file), "", 0);
        scope = LLVMDIBuilderCreateLexicalBlockFile(e->places, scope, file, 0);
    }
    LLVMSetCurrentDebugLocation2(
        e->builder, LLVMDIBuilderCreateDebugLocation(e->context, at.line, at.column, scope, NULL));
    return before;
}

void ocl_places_back(OclEmit *e, LLVMMetadataRef to)
{
    if (e->places)
        LLVMSetCurrentDebugLocation2(e->builder, to);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void set_name(LLVMValueRef i, const char *own, size_t n, const char *behind)
{
    unsigned length = 0, line = LLVMGetDebugLocLine(i);
    const char *file = LLVMGetDebugLocFilename(i, &length);
    if (!line || !file || LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVoidTypeKind)
        return;
    char *name = NULL;
    int size = asprintf(&name, "%c%u:%u:%.*s%c%.*s%s", BEGIN, line, LLVMGetDebugLocColumn(i),
                        (int)length, file, END, (int)n, own, behind);
    if (size > 0)
        LLVMSetValueName2(i, name, (size_t)size);
    free(name);
}

static void name_instruction(LLVMValueRef i)
{
    size_t n;
    const char *own = LLVMGetValueName2(i, &n);
    set_name(i, own, n, "");
}

void ocl_name_kept(LLVMValueRef variable, const char *name)
{
    set_name(variable, name, strlen(name), (char[]){ END, 0 });
}

bool ocl_is_kept(LLVMValueRef variable)
{
    size_t n;
    const char *s = LLVMGetValueName2(variable, &n);
    return n && *s == BEGIN;
}

void ocl_name_places(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
                if (LLVMInstructionGetDebugLoc(i) && !LLVMIsAAllocaInst(i))
                    name_instruction(i);
    LLVMStripModuleDebugInfo(m);
}

/* ---- positions ------------------------------------------------------------------------------- */

typedef struct Files {
    SpvModule *m;
    Map known; /* hash of a name -> id of its OpString */
} Files;

/* An instruction of debug information: `id` and a text, or a text alone. */
static SpvInst *text_inst(SpvModule *m, uint16_t op, SpvId result, SpvId of, const char *s,
                          size_t n)
{
    uint32_t skip = of ? 1 : 0, *words = NEW_ARRAY(m->arena, uint32_t, n / 4 + 2);
    words[0] = of;
    memcpy(words + skip, s, n);
    SpvInst *i = spv_make(m, op, 0, result, words, (uint32_t)(n / 4 + 1 + skip));
    spv_append_global(m, i);
    return i;
}

static SpvId file_id(Files *f, const char *name, size_t n)
{
    uint64_t found, key = hash_bytes(name, n, 0);
    if (map_get(&f->known, key, &found))
        return (SpvId)found;
    SpvInst *i = text_inst(f->m, SpvOpString, spv_new_id(f->m), 0, name, n);
    map_put(f->m->arena, &f->known, key, i->id);
    return i->id;
}

/* What LLVM appended to tell names apart is no name. */
static bool is_name(const char *s) { return s[strspn(s, "0123456789.")]; }

static void take_place(Files *f, SpvInst *i)
{
    SpvInst *def = spv_def(f->m, spv_operand(i, 0));
    const char *s = spv_string(i, 1, NULL);
    unsigned line, column;
    int at = 0;
    if (!def || !s || *s != BEGIN || sscanf(s + 1, "%u:%u:%n", &line, &column, &at) != 2 || !at)
        return;
    const char *file = s + 1 + at, *end = strchr(file, END);
    if (!end)
        return;
    def->line = line;
    def->column = column;
    def->file = file_id(f, file, (size_t)(end - file));
    if (is_name(end + 1))
        text_inst(f->m, SpvOpName, 0, def->id, end + 1, strcspn(end + 1, (char[]){ END, 0 }));
    spv_unlink(i);
}

static void fill_in(SpvBlock *b)
{
    const SpvInst *last = NULL;
    for (SpvInst *i = b->insts.first; i; i = i->next) {
        if (i->line) {
            last = i;
        } else if (last && i->op != SpvOpPhi) {
            i->line = last->line;
            i->column = last->column;
            i->file = last->file;
        }
    }
}

void ocl_take_places(SpvModule *m)
{
    Files f = { .m = m };
    for (SpvInst *i = m->globals.first, *next; i; i = next) {
        next = i->next;
        if (i->op == SpvOpName)
            take_place(&f, i);
    }
    for (SpvFunction *fn = m->functions; fn; fn = fn->next)
        for (SpvBlock *b = fn->first; b; b = b->next)
            fill_in(b);
}
