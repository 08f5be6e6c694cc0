/* SPDX-License-Identifier: MIT
 *
 *     heddle-mlir INPUT OUTPUT NAME spirv|mlir|lowered gpu|spirv rotate-loads|- SUBGROUP-SIZE X,Y,Z
 *
 * Reads the MLIR module in INPUT (text or bytecode), which messages call NAME, and writes the form
 * asked for to OUTPUT. gpu or spirv: what gpu.subgroup_mma_rotate becomes. Exit status 1: an error
 * was reported; 2: wrong arguments, or a file that cannot be read or written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "mlir/mlir.h"

static bool read_file(HmJob *j, const char *path, Str *out)
{
    FILE *f = fopen(path, "re");
    char part[1 << 16];
    size_t n;
    while (f && (n = fread(part, 1, sizeof part, f)))
        str_addn(j->arena, out, part, n);
    bool good = f && !ferror(f);
    if (f)
        fclose(f);
    return good;
}

static bool write_file(const char *path, const Str *s)
{
    FILE *f = fopen(path, "we");
    bool good = f && fwrite(s->data, 1, s->len, f) == s->len;
    return f && fclose(f) == 0 && good;
}

static bool parse_module(HmJob *j, const Str *source)
{
    static const char bytecode[] = { 'M', 'L', (char)0xef, 'R' };
    MlirStringRef text = { source->data ? source->data : "", source->len };
    if (text.length < 4 || memcmp(text.data, bytecode, 4)) {
        size_t size;
        text.data = syntax_generic(j, text.data, text.length, &size);
        text.length = size;
    }
    if (!text.data)
        return false;
    j->module = mlirModuleGetOperation(mlirModuleCreateParse(j->context, text));
    return !mlirOperationIsNull(j->module);
}

static void print_module(HmJob *j)
{
    HmText t = { .arena = j->arena };
    mlirOperationPrint(j->module, text_add, &t);
    j->output = t.str;
    str_add(j->arena, &j->output, "\n");
}

static bool compile_module(HmJob *j)
{
    if (!lower_prepare(j) || !elements_lower(j) || !rotate_verify(j))
        return false;
    uint32_t loads = loads_count(j);
    if (j->rotate_loads && !loads_rotate(j))
        return false;
    message_figure("loads", "", loads, loads_count(j));
    if (!rotate_lower(j))
        return false;
    if (j->form == FORM_MLIR) {
        print_module(j);
        return true;
    }
    if (!lower_to_spirv(j))
        return false;
    if (j->form == FORM_SPIRV)
        return lower_serialise(j);
    print_module(j);
    return true;
}

static int run_job(HmJob *j, const char *input, const char *output)
{
    /* Dialects that operations are made of, whether or not the module has any. */
    static const char *const built[] = { "gpu", "spirv", "arith", "func", "memref", "vector" };
    Str source = { 0 };
    if (!read_file(j, input, &source)) {
        diag(j->sink, DIAG_ERROR, &(DiagLoc){ .file = input }, NULL, "%s", strerror(errno));
        return 2;
    }
    MlirDialectRegistry registry = mlirDialectRegistryCreate();
    register_dialects(registry);
    register_passes();
    j->context = mlirContextCreateWithRegistry(registry, false);
    mlirContextSetAllowUnregisteredDialects(j->context, true);
    for (size_t i = 0; i < COUNT_OF(built); i++)
        mlirContextGetOrLoadDialect(j->context, ref(built[i]));
    messages_attach(j);
    bool good = parse_module(j, &source) && compile_module(j);
    if (!mlirOperationIsNull(j->module))
        mlirOperationDestroy(j->module);
    mlirContextDestroy(j->context);
    mlirDialectRegistryDestroy(registry);
    if (good && !write_file(output, &j->output)) {
        diag(j->sink, DIAG_ERROR, &(DiagLoc){ .file = output }, NULL, "%s", strerror(errno));
        return 2;
    }
    return !good;
}

int main(int n, char **argv)
{
    static const char *const forms[] = { "spirv", "mlir", "lowered" };
    static const char *const rotations[] = { "gpu", "spirv" };
    if (n != 9)
        return 2;
    Arena arena = { 0 };
    DiagSink sink = { .report = message_write };
    HmJob j = { .arena = &arena,
                .sink = &sink,
                .name = argv[3],
                .rotate_loads = !strcmp(argv[6], "rotate-loads"),
                .subgroup_size = (uint32_t)strtoul(argv[7], NULL, 10) };
    sscanf(argv[8], "%u,%u,%u", &j.local_size[0], &j.local_size[1], &j.local_size[2]);
    for (int i = 0; i < 3; i++)
        j.form = strcmp(argv[4], forms[i]) ? j.form : (HmForm)i;
    for (int i = 0; i < 2; i++)
        j.rotation = strcmp(argv[5], rotations[i]) ? j.rotation : (HmRotation)i;
    jmp_buf out_of_memory;
    if (ARENA_GUARD(&arena, out_of_memory)) {
        diag(&sink, DIAG_ERROR, NULL, NULL, "out of memory");
        return 2;
    }
    int status = run_job(&j, argv[1], argv[2]);
    arena_free(&arena);
    return status;
}
