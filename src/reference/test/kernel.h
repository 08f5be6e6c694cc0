/* SPDX-License-Identifier: MIT
 *
 * What the tests of reference/ share: a kernel from GLSL (through the toolchain's glslang) or from
 * assembly, run on buffers, with its diagnostics kept as text.
 */
#ifndef HEDDLE_REFERENCE_TEST_KERNEL_H
#define HEDDLE_REFERENCE_TEST_KERNEL_H

#include "base/test.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct Kernel {
    Arena arena;
    jmp_buf out_of_memory;
    SpvModule *module;
    DiagSink sink;
    char text[8192]; /* diagnostics, one a line */
    RefDispatch d;
    RefBinding bindings[8];
    RefResult result;
} Kernel;

static void kernel_report(void *user, const Diag *d)
{
    Kernel *k = user;
    size_t at = strlen(k->text);
    if (at + 2 >= sizeof(k->text))
        return;
    diag_format(d, k->text + at, sizeof(k->text) - at - 1);
    strcat(k->text, "\n");
}

static void kernel_init(Kernel *k)
{
    memset(k, 0, sizeof(*k));
    k->sink = (DiagSink){ .report = kernel_report, .user = k, .max_errors = 1000 };
    k->arena.on_failure = &k->out_of_memory;
    k->d.bindings = k->bindings;
    k->d.groups[0] = k->d.groups[1] = k->d.groups[2] = 1;
    k->d.seed = 1;
    k->d.budget = 1 << 22;
}

static inline bool kernel_assemble(Kernel *k, const char *text)
{
    kernel_init(k);
    if (setjmp(k->out_of_memory))
        return false;
    k->module = spv_assemble(&k->arena, text, strlen(text), "kernel.spvasm", &k->sink);
    if (!k->module)
        test_fail(__FILE__, __LINE__, "%s", k->text);
    return k->module != NULL;
}

static void *kernel_slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    void *p = malloc(*size + 1);
    *size = fread(p, 1, *size, f);
    fclose(f);
    return p;
}

/* GLSL's body after a common head; false where no glslang is to be had (the test is then skipped).
 */
static inline bool kernel_glsl(Kernel *k, const char *body)
{
    static const char head[] = "#version 460\n"
                               "#pragma use_vulkan_memory_model\n"
                               "#extension GL_KHR_memory_scope_semantics : require\n"
                               "#extension GL_EXT_split_barrier : enable\n"
                               "#extension GL_EXT_float_e2m1 : enable\n"
                               "#extension GL_KHR_cooperative_matrix : enable\n"
                               "#extension GL_NV_cooperative_matrix2 : enable\n"
                               "#extension GL_EXT_shader_explicit_arithmetic_types : enable\n"
                               "#extension GL_EXT_buffer_reference : enable\n"
                               "#extension GL_EXT_buffer_reference_uvec2 : enable\n"
                               "#extension GL_EXT_scalar_block_layout : enable\n"
                               "#extension GL_EXT_shader_16bit_storage : enable\n"
                               "#extension GL_EXT_shader_8bit_storage : enable\n"
                               "#extension GL_EXT_nonuniform_qualifier : enable\n"
                               "#extension GL_EXT_shader_atomic_float : enable\n"
                               "#extension GL_EXT_control_flow_attributes : enable\n"
                               "#extension GL_KHR_shader_subgroup_basic : enable\n"
                               "#extension GL_KHR_shader_subgroup_vote : enable\n"
                               "#extension GL_KHR_shader_subgroup_ballot : enable\n"
                               "#extension GL_KHR_shader_subgroup_arithmetic : enable\n"
                               "#extension GL_KHR_shader_subgroup_shuffle : enable\n"
                               "#extension GL_KHR_shader_subgroup_shuffle_relative : enable\n"
                               "#extension GL_KHR_shader_subgroup_clustered : enable\n"
                               "#extension GL_KHR_shader_subgroup_quad : enable\n"
                               "#extension GL_NV_shader_subgroup_partitioned : enable\n"
                               "#extension GL_EXT_bfloat16 : enable\n"
                               "#extension GL_EXT_integer_dot_product : enable\n"
                               "#extension GL_EXT_maximal_reconvergence : enable\n";
    const char *tool = HEDDLE_TOOLCHAIN "/bin/glslang";
    char path[64], command[512];
    volatile size_t size = 0;
    kernel_init(k);
    if (access(tool, X_OK))
        return false;
    snprintf(path, sizeof(path), "/tmp/heddle-reference-%ld.comp", (long)getpid());
    FILE *f = fopen(path, "w");
    if (!f)
        return false;
    fprintf(f, "%s#line 1\n%s", head, body);
    fclose(f);
    snprintf(command, sizeof(command), "%s --target-env vulkan1.3 -gV -o %s.spv %s > %s.log 2>&1",
             tool, path, path, path);
    bool made = system(command) == 0;
    if (!made) {
        snprintf(command, sizeof(command), "cat %s.log", path);
        if (system(command))
            made = false;
        test_fail(__FILE__, __LINE__, "glslang rejects the kernel");
    }
    char spv[80];
    snprintf(spv, sizeof(spv), "%s.spv", path);
    size_t got = 0;
    void *volatile data = made ? kernel_slurp(spv, &got) : NULL;
    size = got;
    unlink(path);
    unlink(spv);
    snprintf(spv, sizeof(spv), "%s.log", path);
    unlink(spv);
    if (!data)
        return false;
    if (!setjmp(k->out_of_memory))
        k->module = spv_read(&k->arena, data, size, "kernel.comp", &k->sink);
    free(data);
    if (!k->module)
        test_fail(__FILE__, __LINE__, "%s", k->text);
    return k->module != NULL;
}

static inline void kernel_bind(Kernel *k, uint32_t binding, void *base, uint64_t size)
{
    k->bindings[k->d.n_bindings++] = (RefBinding){ .binding = binding, .base = base, .size = size };
}

static inline bool kernel_run(Kernel *k)
{
    return ref_dispatch(&k->arena, k->module, &k->d, &k->result, &k->sink);
}

static inline bool kernel_found(const Kernel *k, RefFindingKind kind)
{
    for (uint32_t i = 0; i < k->result.n_findings; i++)
        if (k->result.findings[i].kind == kind)
            return true;
    return false;
}

static inline void kernel_free(Kernel *k) { arena_free(&k->arena); }

/* Compiles, runs on the given buffers and fails the test with the diagnostics when that fails. */
#define KERNEL_RUN(k)                                                                              \
    do {                                                                                           \
        bool ran_ = kernel_run(k);                                                                 \
        if (!ran_ || (k)->text[0])                                                                 \
            test_fail(__FILE__, __LINE__, "%s", (k)->text);                                        \
    } while (0)

#endif
