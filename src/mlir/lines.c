/* SPDX-License-Identifier: MIT
 *
 * Positions in the SPIR-V. MLIR's serialiser can write OpLine, but there is no way to ask for it
 * through the API. It does write a decoration for an attribute with a decoration's name, so before
 * it runs, each operation in a function gets a Location with a number. An operation without a
 * result gets a companion that has one, which is removed again. Afterwards decorations become lines
 * (SPIR-V 1.6, 3.52.2).
 */
#include "mlir/mlir.h"

enum { FIRST_NUMBER = 1 << 24, HEADER = 5, BOUND = 3 };
enum { OP_STRING = 7, OP_LINE = 8, OP_FUNCTION = 54, OP_DECORATE = 71, OP_LABEL = 248 };
enum { DECORATION_LOCATION = 30 };

/* ---- before ---------------------------------------------------------------------------------- */

/* Not those that are something else than one instruction in a block. */
static bool is_instruction(HmJob *j, MlirOperation op)
{
    static const char *const others[] = {
        "spirv.mlir.",          "spirv.Constant",    "spirv.Spec",          "spirv.Branch",
        "spirv.Return",         "spirv.Unreachable", "spirv.Variable",      "spirv.Undef",
        "spirv.func",           "spirv.Switch",      "spirv.Kill",          "spirv.module",
        "spirv.GlobalVariable", "spirv.EntryPoint",  "spirv.ExecutionMode", "spirv.EXT.",
        "spirv.Constituent"
    };
    const char *name = op_name(j, op);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (!strncmp(name, others[i], strlen(others[i])))
            return false;
    }
    return !strncmp(name, "spirv.", 6);
}

static MlirOperation stand_before(HmJob *j, MlirOperation op)
{
    HmBuild b = { j, op, mlirOperationGetLocation(op) };
    MlirType i32 = type_parse(j, "i32");
    MlirValue zero = build_n(&b, "spirv.Constant", i32, "{value = 0 : i32}", 0, NULL);
    return definition(build(&b, "spirv.SNegate", i32, NULL, zero));
}

void lines_mark(HmJob *j, MlirOperation module)
{
    HmOpList ops = ops_named(j, module, NULL);
    for (uint32_t i = 0; i < ops.len; i++) {
        MlirOperation op = ops.data[i];
        if (!is_instruction(j, op))
            continue;
        HmLine line = { .at = location_of(j, mlirOperationGetLocation(op)),
                        .alone = mlirOperationGetNumResults(op) == 0 };
        if (!line.at.line)
            continue;
        if (line.alone)
            op = stand_before(j, op);
        mlirOperationSetDiscardableAttributeByName(
            op, ref("location"), attr_parse(j, "%u : i32", FIRST_NUMBER + j->lines.len));
        vec_push(j->arena, &j->lines, line);
    }
}

/* ---- after ----------------------------------------------------------------------------------- */

typedef struct LineRewrite {
    HmJob *job;
    Str out;
    Map numbers; /* by id: of the operation, until its instruction was met */
    Map strings; /* by a file's name's hash: the OpString's id */
    uint32_t bound;
    bool past_head; /* past the instructions before which there are no OpStrings */
    bool in_functions;
    const HmLine *last; /* in this block */
} LineRewrite;

static void put_words(LineRewrite *r, const uint32_t *words, uint32_t n)
{
    str_addn(r->job->arena, &r->out, (const char *)words, n * sizeof *words);
}

static uint64_t name_hash(const char *name) { return hash_bytes(name, strlen(name), 0); }

static void put_strings(LineRewrite *r)
{
    for (uint32_t i = 0; i < r->job->lines.len; i++) {
        const char *name = r->job->lines.data[i].at.file;
        uint32_t words[1024] = { 0 }, n = 2 + (uint32_t)strlen(name) / 4 + 1;
        uint64_t id;
        if (n > COUNT_OF(words) || map_get(&r->strings, name_hash(name), &id))
            continue;
        words[0] = n << 16 | OP_STRING;
        words[1] = r->bound++;
        memcpy(&words[2], name, strlen(name));
        map_put(r->job->arena, &r->strings, name_hash(name), words[1]);
        put_words(r, words, n);
    }
}

static void put_line(LineRewrite *r, const HmLine *line)
{
    uint64_t file;
    bool same =
        r->last && r->last->at.line == line->at.line && r->last->at.column == line->at.column;
    if (same || !map_get(&r->strings, name_hash(line->at.file), &file))
        return;
    uint32_t words[] = { 4 << 16 | OP_LINE, (uint32_t)file, line->at.line, line->at.column };
    put_words(r, words, 4);
    r->last = line;
}

static bool is_mark(const uint32_t *inst, uint32_t length)
{
    return (inst[0] & 0xffff) == OP_DECORATE && length == 4 && inst[2] == DECORATION_LOCATION &&
           inst[3] >= FIRST_NUMBER;
}

static void rewrite_inst(LineRewrite *r, const uint32_t *inst, uint32_t length)
{
    /* capabilities to execution modes */
    static const uint16_t head[] = { 17, 10, 11, 14, 15, 16, 331 };
    uint32_t op = inst[0] & 0xffff, k = 0;
    while (k < COUNT_OF(head) && head[k] != op)
        k++;
    if (k == COUNT_OF(head) && !r->past_head) {
        r->past_head = true;
        put_strings(r);
    }
    if (is_mark(inst, length))
        return;
    r->in_functions |= op == OP_FUNCTION;
    if (op == OP_LABEL)
        r->last = NULL;
    uint64_t number = 0;
    if (r->in_functions && length > 2 && map_get(&r->numbers, inst[2], &number) && number) {
        map_put(r->job->arena, &r->numbers, inst[2], 0);
        const HmLine *line = &r->job->lines.data[number - FIRST_NUMBER];
        put_line(r, line);
        if (line->alone)
            return;
    }
    put_words(r, inst, length);
}

void lines_write(HmJob *j)
{
    const uint32_t *in = (const uint32_t *)(const void *)j->output.data;
    uint32_t n = j->output.len / 4;
    if (!j->lines.len || n < HEADER)
        return;
    LineRewrite r = { .job = j, .bound = in[BOUND] };
    for (uint32_t i = HEADER; i < n && in[i] >> 16; i += in[i] >> 16) {
        if (is_mark(&in[i], in[i] >> 16) && in[i + 3] - FIRST_NUMBER < j->lines.len)
            map_put(j->arena, &r.numbers, in[i + 1], in[i + 3]);
    }
    put_words(&r, in, HEADER);
    for (uint32_t i = HEADER; i < n && in[i] >> 16; i += in[i] >> 16)
        rewrite_inst(&r, &in[i], in[i] >> 16);
    memcpy(r.out.data + BOUND * sizeof r.bound, &r.bound, sizeof r.bound);
    j->output = r.out;
}
