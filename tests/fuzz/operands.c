/* SPDX-License-Identifier: MIT
 *
 * Every instruction, and every extended one, with random operands of right and wrong types, widths,
 * numbers of components and storage classes, one a module, on the whole way of path.h. Whatever
 * comes of it is a result or a diagnostic; what the rules of check let through has operands that
 * fit, so that neither device finds that they do not, and makes no invalid LLVM IR.
 *
 *     test_fuzz_operands [--count N] [--first N] [--only OpName] [--show 1]
 *         N modules for each instruction, from the N-th on; what became of each
 *     test_fuzz_operands --write N         that module to operands-N.spv
 */
#include "operands.h"
#include "path.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEFAULT_COUNT = 1, SECONDS = 20 * HEDDLE_TEST_STEP, MAX_WORDS = 64, MAX_TRIES = 60,
       MAX_SUBJECTS = 3000 };

/* A module that instructions are put into. */
typedef struct Base {
    Arena arena;
    SpvModule *m;
    uint32_t *words;
    uint32_t n, globals, body;  /* words; where declarations and instructions go */
    VEC(SpvId) types, values, constants, ids;
    uint8_t set;                /* SPV_SET_* of its extended instructions */
    SpvId set_id;
} Base;

/* An opcode, or an extended instruction. */
typedef struct Subject {
    uint16_t op;
    bool extended, declares;    /* stands among the declarations */
    uint32_t number;
    const Base *base;
} Subject;

typedef struct Corpus {
    Base shader, kernel;
    Subject subject[MAX_SUBJECTS];
    uint32_t n;
} Corpus;

/* ---- the modules ----------------------------------------------------------------------------- */

static bool take_id(void *user, SpvInst *i)
{
    Base *b = user;
    const SpvOpInfo *info = spv_op_info(i->op);
    if (!i->id)
        return true;
    vec_push(&b->arena, &b->ids, i->id);
    if (info->flags & SPV_OPF_TYPE)
        vec_push(&b->arena, &b->types, i->id);
    if (info->flags & SPV_OPF_CONSTANT)
        vec_push(&b->arena, &b->constants, i->id);
    if (i->type && i->op != SpvOpFunction)
        vec_push(&b->arena, &b->values, i->id);
    if (i->op == SpvOpExtInstImport)
        b->set_id = i->id;
    return true;
}

static void print(void *user, const Diag *d)
{
    char text[400];
    (void)user;
    diag_format(d, text, sizeof text);
    printf("%s\n", text);
}

static bool base_open(Base *b, char *(*text)(Arena *a), uint8_t set)
{
    size_t size;
    DiagSink sink = { .report = print };
    const char *t = text(&b->arena);
    b->m = spv_assemble(&b->arena, t, strlen(t), "base", &sink);
    if (!b->m || !check_module(b->m, &sink))
        return false;
    spv_each_inst(b->m, take_id, b);
    b->words = spv_write(&b->arena, b->m, &size);
    b->n = (uint32_t)(size / 4);
    b->set = set;
    for (uint32_t k = 5; k < b->n; k += b->words[k] >> 16) {
        uint16_t op = (uint16_t)b->words[k];
        if (op == SpvOpFunction)
            b->globals = k;
        if (op == SpvOpReturn)
            b->body = k;
    }
    return true;
}

/* What has a place of its own in a module, or in its control flow, is left to mutations.c. */
static bool is_structure(const SpvOpInfo *o)
{
    switch (o->op) {
    case SpvOpExtInst: case SpvOpExtInstWithForwardRefsKHR: case SpvOpExtension:
    case SpvOpExtInstImport: case SpvOpMemoryModel: case SpvOpEntryPoint:
    case SpvOpExecutionMode: case SpvOpExecutionModeId: case SpvOpCapability: case SpvOpLabel:
    case SpvOpPhi: case SpvOpSelectionMerge: case SpvOpLoopMerge: case SpvOpFunction:
    case SpvOpFunctionParameter: case SpvOpFunctionEnd: case SpvOpTypeForwardPointer:
        return true;
    default:
        return o->flags & (SPV_OPF_TERMINATOR | SPV_OPF_DEBUG | SPV_OPF_ANNOTATION);
    }
}

static void add(Corpus *c, Subject s)
{
    if (c->n < MAX_SUBJECTS)
        c->subject[c->n++] = s;
}

/* Those that a device knows in both modules, the others in one of them: they are to be refused. */
static void gather(Corpus *c)
{
    uint32_t n;
    const SpvOpInfo *o = spv_all_ops(&n);
    for (uint32_t k = 0; k < n; k++) {
        bool declares = o[k].flags & (SPV_OPF_TYPE | SPV_OPF_CONSTANT);
        bool known = declares || cpu_handles(o[k].op) || ref_handles(o[k].op);
        if (is_structure(&o[k]))
            continue;
        if (known || k % 2)
            add(c, (Subject){ .op = o[k].op, .declares = declares, .base = &c->shader });
        if (known || k % 2 == 0)
            add(c, (Subject){ .op = o[k].op, .declares = declares, .base = &c->kernel });
    }
    for (uint32_t k = 0; k < 2; k++) {
        const Base *b = k ? &c->kernel : &c->shader;
        const SpvExtInst *e = spv_ext_insts(b->set, &n);
        for (uint32_t j = 0; j < n; j++)
            add(c, (Subject){ SpvOpExtInst, true, false, e[j].number, b });
    }
}

/* ---- an instruction -------------------------------------------------------------------------- */

typedef struct Make {
    Rng rng;
    const Base *base;
    uint32_t words[MAX_WORDS], n;
    bool constants;             /* operands are */
    const SpvType *type;        /* of most operands */
    uint32_t odd;               /* those that are of another one: a bit each, the next lowest */
} Make;

static uint32_t below(Make *k, uint32_t n) { return (uint32_t)((rng_u64(&k->rng) >> 32) % n); }

static void put(Make *k, uint32_t word)
{
    if (k->n < MAX_WORDS)
        k->words[k->n++] = word;
}

static const SpvType *type_of(const Make *k, SpvId id) { return spv_type_of(k->base->m, id); }

/* A number, vector or boolean mostly: what instructions are mostly about. */
static const SpvType *any_subject(Make *k)
{
    const SpvType *t = NULL;
    for (uint32_t tries = 0; !t || (tries < 16 && (t->kind > SPV_VECTOR || !below(k, 16))); tries++)
        t = type_of(k, k->base->values.data[below(k, k->base->values.len)]);
    return t;
}

/* What a type may have to do with another. */
typedef enum Relation {
    SAME, AS_MANY, BOOLEANS, PART, POINTER, POINTER_TO_PART, WORD, LONG_WORD, ANYTHING, N_RELATIONS
} Relation;

static bool is_word(const SpvType *t, uint32_t bits)
{
    return t->kind == SPV_INT && t->bits == bits;
}

static uint32_t count(const SpvType *t) { return t->kind == SPV_VECTOR ? t->count : 1; }

static const SpvType *element(const SpvType *t) { return t->kind == SPV_VECTOR ? t->element : t; }

static bool is_related(const SpvType *t, const SpvType *to, Relation r)
{
    switch (r) {
    case SAME: return t == to;
    case AS_MANY: return count(t) == count(to) && element(t)->kind <= SPV_FLOAT && t != to;
    case BOOLEANS: return count(t) == count(to) && element(t)->kind == SPV_BOOL;
    case PART: return (to->element == t || t->element == to) && t->kind != SPV_POINTER;
    case POINTER: return t->kind == SPV_POINTER && t->element == to;
    case POINTER_TO_PART: return t->kind == SPV_POINTER && t->element == element(to);
    case WORD: return is_word(t, 32);
    case LONG_WORD: return is_word(t, 64);
    default: return true;
    }
}

/* One of the ids (types, or values of them) that has to do with k's type in that way; else any. */
static SpvId related(Make *k, const SpvId *ids, uint32_t n, Relation r)
{
    uint32_t start = below(k, n);
    for (uint32_t j = 0; j < n; j++) {
        SpvId id = ids[(start + j) % n];
        const SpvType *t = spv_type(k->base->m, id);
        t = t ? t : type_of(k, id);
        if (t && is_related(t, k->type, r))
            return id;
    }
    return ids[start];
}

static Relation odd_relation(Make *k) { return AS_MANY + below(k, N_RELATIONS - AS_MANY); }

static SpvId operand(Make *k)
{
    const Base *b = k->base;
    Relation r = k->odd & 1 ? odd_relation(k) : SAME;
    k->odd >>= 1;
    if (below(k, 64) == 0)
        return b->ids.data[below(k, b->ids.len)];
    if (k->constants || (r != POINTER && r != POINTER_TO_PART && below(k, 8) == 0))
        return related(k, b->constants.data, b->constants.len, r);
    return related(k, b->values.data, b->values.len, r);
}

static void put_list(Make *k, const SpvOperandInfo *list, uint32_t n);

/* A value of an enumeration, or up to two bits of a mask; then what they bring along. */
static void put_enumerant(Make *k, uint8_t kind)
{
    uint32_t n, mask = 0;
    const SpvEnumerant *e = spv_enumerants(kind, &n);
    if (!spv_kind_is_mask(kind)) {
        e += below(k, below(k, 2) ? n : MIN(n, 8));
        put(k, e->value);
        put_list(k, e->params, e->n_params);
        return;
    }
    for (uint32_t bits = below(k, 3); bits; bits--)
        mask |= e[below(k, n)].value;
    put(k, mask);
    for (uint32_t j = 0; j < n; j++)
        if (e[j].value & mask && is_pow2(e[j].value))
            put_list(k, e[j].params, e[j].n_params);
}

static void put_inner(Make *k)
{
    uint32_t n;
    const SpvOpInfo *o = spv_all_ops(&n);
    do
        o = spv_op_info((uint16_t)(below(k, 2) ? 120 + below(k, 90) : below(k, 460)));
    while (!o || !o->has_type || !o->has_result || o->flags & SPV_OPF_CONSTANT);
    put(k, o->op);
    put_list(k, o->operands, o->n_operands);
}

static void put_operand(Make *k, uint8_t kind)
{
    static const uint32_t numbers[] = { 0, 1, 2, 3, 4, 8, 16, 32, 64, 1000000 };
    uint32_t n;
    switch (kind) {
    case SPV_OPERAND_PairIdRefIdRef:
        put(k, operand(k));
        put(k, operand(k));
        break;
    case SPV_OPERAND_PairIdRefLiteralInteger:
        put(k, operand(k));
        put(k, below(k, 4));
        break;
    case SPV_OPERAND_LiteralString:
        put(k, 'x');
        break;
    case SPV_OPERAND_IdScope: case SPV_OPERAND_IdMemorySemantics:
        put(k, k->base->constants.data[below(k, MIN(k->base->constants.len, 8))]);
        break;
    case SPV_OPERAND_LiteralSpecConstantOpInteger:
        put_inner(k);
        break;
    case SPV_OPERAND_LiteralContextDependentNumber:
        for (n = 1 + below(k, 2); n; n--)
            put(k, below(k, 2) ? 0x3f800000 : below(k, 100));
        break;
    default:
        if (spv_kind_is_id(kind))
            put(k, operand(k));
        else if (spv_enumerants(kind, &n))
            put_enumerant(k, kind);
        else
            put(k, numbers[below(k, below(k, 3) ? 5 : COUNT_OF(numbers))]);
    }
}

static void put_list(Make *k, const SpvOperandInfo *list, uint32_t n)
{
    for (uint32_t j = 0; j < n; j++) {
        uint32_t times = list[j].times == SPV_ONE ? 1 : list[j].times == SPV_OPTIONAL
                       ? below(k, 4) == 0 : below(k, 4);
        for (; times; times--)
            put_operand(k, list[j].kind);
    }
}

/* That of most operands, or one that has to do with it, or any. */
static SpvId result_type(Make *k)
{
    Relation r = below(k, 2) ? SAME : odd_relation(k);
    return related(k, k->base->types.data, k->base->types.len, r);
}

static void make(Make *k, const Subject *s)
{
    const SpvOpInfo *info = spv_op_info(s->op);
    k->base = s->base;
    k->constants = s->declares;
    k->n = 0;
    k->type = any_subject(k);
    k->odd = below(k, 3) ? 1u << below(k, 4) | 1u << below(k, 4) : 0;
    put(k, 0);
    if (info->has_type)
        put(k, s->extended && !below(k, 8) ? s->base->types.data[0] : result_type(k));
    if (info->has_result)
        put(k, s->base->m->bound);
    if (s->extended) {
        const SpvExtInst *e = spv_ext_inst(s->base->set, s->number);
        put(k, s->base->set_id);
        put(k, s->number);
        put_list(k, e->operands, e->n_operands);
    } else {
        put_list(k, info->operands, info->n_operands);
    }
    k->words[0] = k->n << 16 | s->op;
}

/* The result is stored where there is a place for it. */
static void use(Make *k, const Subject *s)
{
    const Base *b = s->base;
    SpvId type = k->words[1], first = b->m->bound;
    for (uint32_t j = 0; j < b->values.len; j++) {
        const SpvType *p = type_of(k, b->values.data[j]);
        bool global = p && p->kind == SPV_POINTER && (p->storage == SpvStorageClassStorageBuffer ||
                                                      p->storage == SpvStorageClassCrossWorkgroup);
        if (!global || !p->element || p->element->id != type)
            continue;
        put(k, 3u << 16 | SpvOpStore);
        put(k, b->values.data[j]);
        put(k, first);
        return;
    }
}

/* The module with the instruction in its place; its words. */
static uint32_t *splice(Make *k, const Subject *s, Arena *a, uint32_t *n)
{
    const Base *b = s->base;
    const SpvOpInfo *info = spv_op_info(s->op);
    make(k, s);
    if (info->has_type && info->has_result && !s->declares)
        use(k, s);
    uint32_t at = s->declares ? b->globals : b->body;
    uint32_t *words = arena_alloc_array(a, sizeof *words, b->n + k->n);
    memcpy(words, b->words, at * sizeof *words);
    memcpy(words + at, k->words, k->n * sizeof *words);
    memcpy(words + at + k->n, b->words + at, (b->n - at) * sizeof *words);
    words[3]++;
    *n = b->n + k->n;
    return words;
}

static bool accepted(const uint32_t *words, uint32_t n)
{
    Arena a = { 0 };
    DiagSink quiet = { 0 };
    SpvModule *m = spv_read(&a, words, n * sizeof *words, "m", &quiet);
    bool good = m && check_read(m, &quiet) && check_module(m, &quiet);
    arena_free(&a);
    return good;
}

/* Module number i: any, or one of many that the rules accept. */
static uint32_t *build(const Corpus *c, uint64_t i, Arena *a, uint32_t *n)
{
    const Subject *s = &c->subject[i % c->n];
    Make k = { .rng = { (i + 1) * 0x9e3779b97f4a7c15u } };
    uint32_t *words = splice(&k, s, a, n);
    bool any = below(&k, 4) == 0;
    for (uint32_t tries = 1; !any && tries < MAX_TRIES && !accepted(words, *n); tries++)
        words = splice(&k, s, a, n);
    return words;
}

/* ---- running --------------------------------------------------------------------------------- */

typedef struct Plan {
    uint64_t first, end;
    const char *only;
    bool show;
} Plan;

/* What a process that dies leaves behind. */
typedef struct Shared {
    uint64_t current, stages[N_STAGES], failed;
} Shared;

static const char *name_of(const Subject *s)
{
    return s->extended ? spv_ext_inst(s->base->set, s->number)->name : spv_op_name(s->op);
}

static void take_one(const Corpus *c, const Plan *plan, Path *path, uint64_t i, Shared *shared)
{
    static const char *const stages[] = { "refused", "checked", "interpreted", "compiled", "run" };
    static const uint32_t sizes[] = { 8, 16, 32 };
    /* what a device says that has to look for itself whether operands fit */
    static const char *const wrong[] = { "invalid LLVM IR", "do not fit", "does not match" };
    Arena a = { 0 };
    uint32_t n;
    const uint32_t *words = build(c, i, &a, &n);
    path->compile = true;
    path->plain = i / c->n % 2;
    path->unchecked = REF_CHECK_RACES | REF_CHECK_UNDEFINED; /* all store to one place */
    path->subgroup_size = sizes[i % COUNT_OF(sizes)];
    Stage stage = path_take(path, words, n * sizeof *words);
    shared->stages[stage]++;
    bool bad = path->silent;
    for (uint32_t k = 0; k < COUNT_OF(wrong); k++)
        bad |= strstr(path->said, wrong[k]) != NULL;
    if (bad || plan->show)
        printf("operands %" PRIu64 " (%s): %s%s %s\n", i, name_of(&c->subject[i % c->n]),
               stages[stage], path->silent ? ", failed without saying why" : "", path->said);
    shared->failed += bad;
    arena_free(&a);
}

static int work(const Corpus *c, const Plan *plan, Shared *shared)
{
    static Path path;
    if (!path_open(&path))
        return 1;
    for (uint64_t i = shared->current; i < plan->end; i++) {
        shared->current = i;
        if (plan->only && strcmp(plan->only, name_of(&c->subject[i % c->n])))
            continue;
        alarm(SECONDS);
        take_one(c, plan, &path, i, shared);
    }
    alarm(0);
    path_close(&path);
    return 0;
}

/* A process works until it dies of a module; the next goes on behind that. */
static int many(const Corpus *c, const Plan *plan)
{
    Shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return 1;
    for (s->current = plan->first; s->current < plan->end; s->current++) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            int failed = work(c, plan, s);
            fflush(stdout);
            _exit(failed);
        }
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && !WEXITSTATUS(status))
            break;
        s->failed++;
        printf("operands %" PRIu64 " (%s): signal %d\n", s->current,
               name_of(&c->subject[s->current % c->n]), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
    printf("%u instructions: %" PRIu64 " refused, %" PRIu64 " checked, %" PRIu64 " interpreted, %"
           PRIu64 " compiled, %" PRIu64 " run\n", c->n, s->stages[0], s->stages[1], s->stages[2],
           s->stages[3], s->stages[4]);
    printf("%d passed, %" PRIu64 " failed\n", s->failed == 0, s->failed);
    return s->failed != 0;
}

static int write_one(const Corpus *c, uint64_t i)
{
    Arena a = { 0 };
    char path[64];
    uint32_t n;
    const uint32_t *words = build(c, i, &a, &n);
    snprintf(path, sizeof path, "operands-%" PRIu64 ".spv", i);
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(words, 4, n, f) == n;
    good = f && !fclose(f) && good;
    arena_free(&a);
    printf("%s\n", path);
    return !good;
}

int main(int argc, char **argv)
{
    static Corpus c;
    uint64_t count = DEFAULT_COUNT;
    Plan plan = { 0 };
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!base_open(&c.shader, shader_text, SPV_SET_GLSLstd450) ||
        !base_open(&c.kernel, kernel_text, SPV_SET_OpenCLstd_))
        return 1;
    gather(&c);
    for (int k = 1; k + 1 < argc; k += 2) {
        uint64_t x = strtoull(argv[k + 1], NULL, 0);
        if (!strcmp(argv[k], "--write"))
            return write_one(&c, x);
        if (!strcmp(argv[k], "--count"))
            count = x;
        else if (!strcmp(argv[k], "--first"))
            plan.first = x;
        else if (!strcmp(argv[k], "--only"))
            plan.only = argv[k + 1];
        else if (!strcmp(argv[k], "--show"))
            plan.show = x;
    }
    plan.end = plan.first + count * c.n;
    int status = many(&c, &plan);
    arena_free(&c.shader.arena);
    arena_free(&c.kernel.arena);
    return status;
}
