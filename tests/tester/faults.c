/* SPDX-License-Identifier: MIT
 *
 * Whether the tester of drivers finds faults: each of a table is planted into every module that a
 * driver gets, as if it understood that instruction wrongly, and some kernel has to show it. Of the
 * faults that a driver's kernels have a place for, 95 % must be found. On heddle's own driver and
 * on Mesa's lavapipe, which has no matrices, so that heddle lowers what was broken. Then one is
 * looked at whole: its folder, what is left of the module, what is said of it.
 */
#include "base/test.h"
#include "tester/internal.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Fault Fault;
struct Fault {
    const char *name;
    uint16_t op;
    bool (*plant)(SpvModule *m, SpvInst *i, const Fault *f); /* false: not here */
    uint32_t a, b;
};

/* ---- what is done to an instruction ---------------------------------------------------------- */

static uint32_t *operand(SpvInst *i, uint32_t n) { return &i->words[i->first_operand + n]; }

static bool another_opcode(SpvModule *m, SpvInst *i, const Fault *f)
{
    (void)m;
    i->op = (uint16_t)f->a;
    i->words[0] = (uint32_t)i->n_words << 16 | f->a;
    return true;
}

/* Operand a is b. */
static bool another_literal(SpvModule *m, SpvInst *i, const Fault *f)
{
    (void)m;
    if (f->a >= spv_n_operands(i) || *operand(i, f->a) == f->b)
        return false;
    *operand(i, f->a) = f->b;
    return true;
}

static bool exchanged(SpvModule *m, SpvInst *i, const Fault *f)
{
    uint32_t x = *operand(i, f->a), y = *operand(i, f->b);
    (void)m;
    *operand(i, f->a) = y;
    *operand(i, f->b) = x;
    return x != y;
}

static bool dropped(SpvModule *m, SpvInst *i, const Fault *f)
{
    (void)m;
    (void)f;
    spv_unlink(i);
    return true;
}

/* Operand a in place of the result. */
static bool forgotten(SpvModule *m, SpvInst *i, const Fault *f)
{
    spv_replace_uses(m, i->id, *operand(i, f->a));
    spv_unlink(i);
    return true;
}

/* An integer operand a, and b. */
static bool moved(SpvModule *m, SpvInst *i, const Fault *f)
{
    const SpvType *t = f->a < spv_n_operands(i) ? spv_type_of(m, *operand(i, f->a)) : NULL;
    uint64_t value;
    if (!t || t->kind != SPV_INT)
        return false;
    if (spv_constant(m, *operand(i, f->a), &value)) {
        *operand(i, f->a) = spv_int_constant(m, t->id, value + f->b);
        return true;
    }
    SpvId by = spv_int_constant(m, t->id, f->b);
    *operand(i, f->a) =
        spv_put(m, i, SpvOpIAdd, t->id, (uint32_t[]){ *operand(i, f->a), by }, 2)->id;
    return true;
}

/* An integer operand a, with the other one of bit b. */
static bool other_bit(SpvModule *m, SpvInst *i, const Fault *f)
{
    const SpvType *t = spv_type_of(m, *operand(i, f->a));
    if (!t || t->kind != SPV_INT)
        return false;
    uint32_t both[] = { *operand(i, f->a), spv_int_constant(m, t->id, f->b) };
    *operand(i, f->a) = spv_put(m, i, SpvOpBitwiseXor, t->id, both, 2)->id;
    return true;
}

static bool null_operand(SpvModule *m, SpvInst *i, const Fault *f)
{
    *operand(i, f->a) = spv_null_constant(m, spv_type_of(m, *operand(i, f->a))->id);
    return true;
}

/* ---- of matrices ----------------------------------------------------------------------------- */

static bool is_matrix(SpvModule *m, SpvId type)
{
    const SpvType *t = spv_type(m, type);
    return t && t->kind == SPV_COOPMAT;
}

static bool has_use(SpvModule *m, SpvId type, uint32_t use)
{
    return is_matrix(m, type) && spv_type(m, type)->use == use;
}

/* Loads of matrices with use a. */
static bool other_order(SpvModule *m, SpvInst *i, const Fault *f)
{
    bool store = i->op == SpvOpCooperativeMatrixStoreKHR;
    uint32_t *layout = operand(i, store ? 2 : 1);
    uint64_t value;
    if ((!store && !has_use(m, i->type, f->a)) || !spv_constant(m, *layout, &value))
        return false;
    *layout = spv_int_constant(m, spv_type_of(m, *layout)->id, !value);
    return true;
}

static bool a_for_b(SpvModule *m, SpvInst *i, const Fault *f)
{
    (void)f;
    if (!has_use(m, i->type, 0))
        return false;
    for (SpvInst *j = i->next; j; j = j->next) {
        if (j->op != i->op || !has_use(m, j->type, 1))
            continue;
        SpvId b = *operand(j, 0), a = *operand(i, 0);
        if (spv_type_of(m, a) != spv_type_of(m, b) || spv_def(m, b)->block != i->block)
            return false;
        *operand(j, 0) = a; /* B is loaded from where A is */
        return true;
    }
    return false;
}

static bool no_such_flag(SpvModule *m, SpvInst *i, const Fault *f)
{
    (void)m;
    if (spv_n_operands(i) < 4 || !(*operand(i, 3) & f->a))
        return false;
    *operand(i, 3) &= ~f->a;
    return true;
}

static bool matrix_opcode(SpvModule *m, SpvInst *i, const Fault *f)
{
    return is_matrix(m, i->type) && another_opcode(m, i, f);
}

static bool matrix_forgotten(SpvModule *m, SpvInst *i, const Fault *f)
{
    return is_matrix(m, i->type) && forgotten(m, i, f);
}

static bool matrix_of_nulls(SpvModule *m, SpvInst *i, const Fault *f)
{
    return is_matrix(m, i->type) && null_operand(m, i, f);
}

/* A function of elements takes the row for the column. */
static bool row_for_column(SpvModule *m, SpvInst *i, const Fault *f)
{
    SpvInst *function = spv_def(m, spv_operand(i, 1)), *row = NULL;
    (void)f;
    for (SpvInst *p = function->list->first; p; p = p->next) {
        if (p->op != SpvOpFunctionParameter)
            continue;
        if (row)
            return spv_replace_uses(m, p->id, row->id), true;
        row = p;
    }
    return false;
}

/* ---- of others ------------------------------------------------------------------------------- */

static bool in_storage(SpvModule *m, SpvInst *i, const Fault *f)
{
    const SpvType *t = spv_type(m, i->type);
    if (t->storage != f->a)
        return false;
    return moved(m, i, &(Fault){ .a = spv_n_operands(i) - 1, .b = f->b });
}

static bool neighbour_in_workgroup(SpvModule *m, SpvInst *i, const Fault *f)
{
    (void)f;
    if (spv_type(m, i->type)->storage != SpvStorageClassWorkgroup)
        return false;
    return other_bit(m, i, &(Fault){ .a = spv_n_operands(i) - 1, .b = 1 });
}

static bool chosen_by_default(SpvModule *m, SpvInst *i, const Fault *f)
{
    (void)m;
    (void)f;
    if (spv_n_operands(i) < 6 || *operand(i, 1) == *operand(i, 5))
        return false;
    *operand(i, 3) = *operand(i, 5); /* the first label is the second */
    return true;
}

static bool nothing_by_first(SpvModule *m, SpvInst *i, const Fault *f)
{
    return spv_type(m, i->type)->kind != SPV_POINTER && null_operand(m, i, f);
}

/* clang-format off */
static const Fault faults[] = {
    { "A by columns for rows", SpvOpCooperativeMatrixLoadKHR, other_order, 0, 0 },
    { "B by columns for rows", SpvOpCooperativeMatrixLoadKHR, other_order, 1, 0 },
    { "C by columns for rows", SpvOpCooperativeMatrixLoadKHR, other_order, 2, 0 },
    { "stored by columns for rows", SpvOpCooperativeMatrixStoreKHR, other_order, 0, 0 },
    { "A in B's place", SpvOpCooperativeMatrixLoadKHR, a_for_b, 0, 0 },
    { "a stride longer by one in loads", SpvOpCooperativeMatrixLoadKHR, moved, 2, 1 },
    { "a stride longer by one in stores", SpvOpCooperativeMatrixStoreKHR, moved, 3, 1 },
    { "C left out", SpvOpCooperativeMatrixMulAddKHR, null_operand, 2, 0 },
    { "A's sign left out", SpvOpCooperativeMatrixMulAddKHR, no_such_flag,
      SpvCooperativeMatrixOperandsMatrixASignedComponentsKHRMask, 0 },
    { "B's sign left out", SpvOpCooperativeMatrixMulAddKHR, no_such_flag,
      SpvCooperativeMatrixOperandsMatrixBSignedComponentsKHRMask, 0 },
    { "no saturation", SpvOpCooperativeMatrixMulAddKHR, no_such_flag,
      SpvCooperativeMatrixOperandsSaturatingAccumulationKHRMask, 0 },
    { "matrices not negated", SpvOpFNegate, matrix_forgotten, 0, 0 },
    { "matrices subtracted, not added", SpvOpFAdd, matrix_opcode, SpvOpFSub, 0 },
    { "matrices not scaled", SpvOpMatrixTimesScalar, matrix_forgotten, 0, 0 },
    { "matrices of nothing", SpvOpCompositeConstruct, matrix_of_nulls, 0, 0 },
    { "rows reduced for columns", SpvOpCooperativeMatrixReduceNV, another_literal, 1, 1 },
    { "not transposed", SpvOpCooperativeMatrixTransposeNV, another_opcode,
      SpvOpCooperativeMatrixConvertNV, 0 },
    { "a row for a column", SpvOpCooperativeMatrixPerElementOpEXT, row_for_column, 0, 0 },
    { "a slice off by one", SpvOpTensorLayoutSliceNV, moved, 1, 1 },
    { "a slice's columns off by one", SpvOpTensorLayoutSliceNV, moved, 3, 1 },
    { "a tensor larger by one", SpvOpTensorLayoutSetDimensionNV, moved, 1, 1 },
    { "another part of an array", SpvOpExtractSubArrayQCOM, other_bit, 1, 8 },
    { "no barriers", SpvOpControlBarrier, dropped, 0, 0 },
    { "neighbours in workgroup memory", SpvOpAccessChain, neighbour_in_workgroup, 0, 0 },
    { "atomics that do not add", SpvOpAtomicIAdd, another_opcode, SpvOpAtomicXor, 0 },
    { "the least for the most", SpvOpAtomicUMax, another_opcode, SpvOpAtomicUMin, 0 },
    { "sums of those before", SpvOpGroupNonUniformIAdd, another_literal, 1, 1 },
    { "sums without the own", SpvOpGroupNonUniformIAdd, another_literal, 1, 2 },
    { "not shuffled", SpvOpGroupNonUniformShuffleXor, forgotten, 1, 0 },
    { "up for down", SpvOpGroupNonUniformShuffleDown, another_opcode,
      SpvOpGroupNonUniformShuffleUp, 0 },
    { "any for all", SpvOpGroupNonUniformAll, another_opcode, SpvOpGroupNonUniformAny, 0 },
    { "bits of those before, and the own", SpvOpGroupNonUniformBallotBitCount, another_literal,
      1, 1 },
    { "shifts without the sign", SpvOpShiftRightArithmetic, another_opcode,
      SpvOpShiftRightLogical, 0 },
    { "division without the sign", SpvOpSDiv, another_opcode, SpvOpUDiv, 0 },
    { "comparison without the sign", SpvOpSLessThan, another_opcode, SpvOpULessThan, 0 },
    { "loops with one more turn", SpvOpULessThan, another_opcode, SpvOpULessThanEqual, 0 },
    { "quotients for remainders", SpvOpUMod, another_opcode, SpvOpUDiv, 0 },
    { "bits without the sign", SpvOpBitFieldSExtract, another_opcode, SpvOpBitFieldUExtract, 0 },
    { "widened without the sign", SpvOpSConvert, another_opcode, SpvOpUConvert, 0 },
    { "the other one selected", SpvOpSelect, exchanged, 1, 2 },
    { "the wrong case", SpvOpSwitch, chosen_by_default, 0, 0 },
    { "nothing by the first way into a block", SpvOpPhi, nothing_by_first, 0, 0 },
    { "buffers off by one", SpvOpAccessChain, in_storage, SpvStorageClassStorageBuffer, 1 },
};
/* clang-format on */

enum { FAULTS = COUNT_OF(faults), NO_FAULT = -1 };

/* The fault that the driver's process is to have; both processes see it. */
static volatile int *chosen;

static bool plant(void *user, SpvModule *m)
{
    (void)user;
    if (*chosen == NO_FAULT)
        return true;
    const Fault *fault = &faults[*chosen];
    bool any = false;
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            for (SpvInst *i = b->insts.first, *next; i; i = next) {
                next = i->next;
                if (i->op == fault->op)
                    any |= fault->plant(m, i, fault);
            }
    return any;
}

/* ---- drivers --------------------------------------------------------------------------------- */

static bool choose(const char *manifest)
{
    if (access(manifest, R_OK)) {
        printf("passed over: no %s\n", manifest);
        return false;
    }
    setenv("VK_DRIVER_FILES", manifest, 1);
    setenv("VK_ICD_FILENAMES", manifest, 1);
    chosen = mmap(NULL, sizeof *chosen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *chosen = NO_FAULT;
    return true;
}

typedef struct Hunt {
    TesterWorker w;
    bool met[FAULTS], found[FAULTS];
    bool is_others; /* the driver: it has faults of its own */
} Hunt;

/* The case without a fault, then with each that was not found yet. */
static void hunt(Hunt *h, const TesterCase *c)
{
    *chosen = NO_FAULT;
    TesterVerdict v = worker_run(&h->w, c);
    if (v == TESTER_LACKS || (v != TESTER_SAME && h->is_others))
        return;
    if (v != TESTER_SAME)
        test_fail(__FILE__, __LINE__, "%s %s: %s", c->name, tester_verdict(v), h->w.box->message);
    h->w.box->keeps = true;
    for (int k = 0; k < FAULTS && v == TESTER_SAME; k++) {
        if (h->found[k])
            continue;
        *chosen = k;
        h->w.box->emitted_size = 0;
        TesterVerdict with = worker_run(&h->w, c);
        h->met[k] |= with != TESTER_SAME || h->w.box->emitted_size;
        h->found[k] = with == TESTER_DIFFERS || (with >= TESTER_FAILS && with != TESTER_NO_TEST);
    }
    h->w.box->keeps = false;
}

/* The first ones, and others until the last one. */
static void hunt_cases(Hunt *h, uint32_t first, uint32_t others)
{
    uint32_t all = tester_n_cases(h->w.box);
    for (uint32_t k = 0; k < first + others; k++) {
        Arena a = { 0 };
        TesterCase c;
        uint32_t at = k < first ? k : first + (k - first + 1) * (all - first) / others - 1;
        CHECK(tester_case(&a, h->w.box, at, &c));
        hunt(h, &c);
        arena_free(&a);
    }
}

static void hunt_random(Hunt *h, uint32_t n)
{
    Arena a = { 0 };
    *chosen = NO_FAULT;
    GenTarget t = tester_target(&a, &h->w);
    for (uint32_t seed = 1; seed <= n; seed++) {
        Arena of_case = { 0 };
        TesterCase c;
        CHECK(tester_random(&of_case, h->w.box, &t, seed, &c));
        hunt(h, &c);
        arena_free(&of_case);
    }
    arena_free(&a);
}

static void find_faults(const char *manifest, uint32_t others)
{
    static Hunt h;
    TesterOptions o = { .patience = 10, .plant = plant };
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    uint32_t met = 0, found = 0;
    if (!choose(manifest))
        return;
    h = (Hunt){ .is_others = !strcmp(manifest, HEDDLE_LAVAPIPE) };
    REQUIRE(worker_open(&h.w, &o, log) == HEDDLE_OK);
    hunt_cases(&h, 26, others);
    hunt_random(&h, 12);
    for (int k = 0; k < FAULTS; k++) {
        met += h.met[k];
        found += h.found[k];
        if (!h.found[k])
            printf("  %s: %s\n", faults[k].name, h.met[k] ? "not found" : "no place for it");
    }
    printf("  %u of %u found\n", found, met);
    CHECK(met >= 30);
    CHECK(found * 100 >= met * 95);
    worker_close(&h.w);
    heddle_log_free(log);
}

TEST(own_driver) { find_faults(HEDDLE_DRIVER, 18); }
TEST(lavapipe) { find_faults(HEDDLE_LAVAPIPE, 6); }

/* ---- a run as a whole ------------------------------------------------------------------------ */

static void remove_folder(const char *path)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    CHECK(!system(command));
}

static int fault_named(const char *name)
{
    for (int k = 0; k < FAULTS; k++)
        if (!strcmp(faults[k].name, name))
            return k;
    return NO_FAULT;
}

static bool has_file(const char *folder, const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/01/%s", folder, name);
    return !access(path, R_OK);
}

static bool is_valid(const char *folder)
{
    char command[600];
    if (access(HEDDLE_TOOLCHAIN "/bin/spirv-val", X_OK))
        return true;
    snprintf(command, sizeof command, "%s/bin/spirv-val --target-env vulkan1.3 "
             "--scalar-block-layout %s/01/original.spv 1>&2", HEDDLE_TOOLCHAIN, folder);
    return !system(command);
}

/* What is found is small, and whole; known, it is listed as such. */
TEST(a_finding)
{
    char folder[] = "/tmp/heddle-tester-XXXXXX";
    TesterOptions o = { .folder = folder, .plant = plant, .stop_at_first = true, .patience = 10,
                        .known = "# a remark\n\"plain/*\" the fault that was planted\n" };
    TesterReport *r = NULL;
    HeddleLog *log = heddle_log_new(heddle_print_to_stderr, NULL);
    REQUIRE(mkdtemp(folder) && choose(HEDDLE_DRIVER));
    *chosen = fault_named("no barriers");
    REQUIRE(*chosen != NO_FAULT);
    REQUIRE(tester_run(&o, &r, log) == HEDDLE_OK);
    REQUIRE(r->n_findings == 1);
    CHECK(r->findings->verdict == TESTER_DIFFERS);
    CHECK(r->findings->instructions > 3 && r->findings->instructions < 60);
    CHECK_STR(r->findings->known, "the fault that was planted");
    CHECK_CONTAINS(r->markdown, "Known differences");
    static const char *const files[] = { "kernel.spv", "original.spv", "kernel.spvasm", "README",
                                         "input0.bin", "expected6.bin", "got6.bin" };
    for (uint32_t k = 0; k < COUNT_OF(files); k++)
        CHECK(has_file(folder, files[k]));
    CHECK(is_valid(folder));
    tester_free(r);
    heddle_log_free(log);
    remove_folder(folder);
}

/* ---- drivers that end ------------------------------------------------------------------------ */

/* In the driver's process: as a driver that crashes, or that never returns. */
static bool crash(void *user, SpvModule *m)
{
    (void)m;
    TesterWorker *w = user;
    w->box->at_driver = true;
    raise(SIGKILL);
    return true;
}

static bool hang(void *user, SpvModule *m)
{
    (void)m;
    TesterWorker *w = user;
    w->box->at_driver = true;
    for (;;)
        pause();
    return true;
}

static void end_as(bool (*how)(void *, SpvModule *), TesterVerdict v)
{
    TesterWorker w;
    TesterOptions o = { .patience = 2, .plant = how, .plant_user = &w };
    Arena a = { 0 };
    TesterCase c;
    REQUIRE(worker_open(&w, &o, NULL) == HEDDLE_OK);
    REQUIRE(tester_case(&a, w.box, 0, &c));
    CHECK(worker_run(&w, &c) == v);
    CHECK(worker_run(&w, &c) == v); /* in a new process */
    worker_close(&w);
    arena_free(&a);
}

TEST(crashes_and_hangs)
{
    if (!choose(HEDDLE_DRIVER))
        return;
    end_as(crash, TESTER_CRASHES);
    end_as(hang, TESTER_HANGS);
}
