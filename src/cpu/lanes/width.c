/* SPDX-License-Identifier: MIT
 *
 * How many invocations a call runs, where nobody has said and the kernel cannot tell. In: a kernel
 * after its passes, and the usual number. Out: that; or as many as fill `VECTORS` vectors of the
 * machine with numbers of 32 bits, which are whole rows of the workgroup or a part of one; or, if
 * the workgroup has fewer invocations, as many as hold these.
 *
 * More lanes are fewer calls and turns of loops, more sums that do not wait for one another, and
 * longer runs of memory for each. They are worse where lanes part ways, where each reads another
 * place, since such accesses take turns or are transposed, and where registers do not suffice. So a
 * kernel is widened where the lanes of a row access numbers side by side, all of them the same, or
 * what the machine gathers in any case, and part only where an index that counts up from lane to
 * lane is compared with what they share: at the end of the data. One whose loops keep more sums
 * than there are registers gets fewer lanes, but a vector's at least.
 */
#include "cpu/lanes/internal.h"

/* docs/PERFORMANCE.md, "How many lanes". MOST_INSTS, of those that differ between lanes, bounds
 * what takes longer to compile; of what loops keep in registers, rounds of a hash have 4 and gain,
 * blocks of 4 x 4 have 16 and lose. */
enum { VECTORS = 8, MOST_LANES = 128, MOST_ROWS = 4, MOST_INSTS = 512, MOST_CARRIED = 4 };
enum { MOST_KEPT = 32 /* vectors, with 16 registers, too */ };
/* How far conditions and indices are looked into: by both operands, so these are exponents. */
enum { CONDITION_DEPTH = 6, INDEX_DEPTH = 12 };

static uint32_t vector_bits(const Emit *e) { return cpu_tuning(lanes_of(e)->machine)->vector_bits; }

/* Of numbers that are taken apart well: by permutations of pairs of vectors, if there are any. */
static uint32_t most_stride(const Emit *e) { return vector_bits(e) < 512 ? 2 : 3; }

static bool is_varying(const Emit *e, SpvId id) { return e->uniformity->varying[id]; }

/* ---- what numbers grow by from lane to lane of a row ----------------------------------------- */

static bool grows_by(Emit *e, SpvId id, uint32_t depth, uint64_t *by);

/* What a phi at a loop's head is in the first iteration: others add what all lanes share, or it is
 * no index that an access likes. */
static bool phi_grows_by(Emit *e, const SpvInst *i, uint32_t depth, uint64_t *by)
{
    uint32_t at = e->cfg->position[i->block->index];
    const CfgLoop *loop = e->cfg->blocks[at].loop;
    if (!loop || loop->header != at || loop->latch == UINT32_MAX)
        return false;
    for (uint32_t k = 0; k + 1 < spv_n_operands(i); k += 2)
        if (spv_operand(i, k + 1) != e->cfg->blocks[loop->latch].block->id)
            return grows_by(e, spv_operand(i, k), depth, by);
    return false;
}

/* What is computed from what a row shares, it shares. */
static bool is_shared_by_row(Emit *e, const SpvInst *i, uint32_t depth, uint64_t *by)
{
    uint16_t at[8];
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    if (!spv_is_pure(i) || i->op == SpvOpExtInst || n > COUNT_OF(at))
        return false;
    for (uint32_t k = 0; k < n; k++)
        if (!grows_by(e, i->words[at[k]], depth, by) || *by)
            return false;
    return true;
}

static bool product_grows_by(Emit *e, const SpvInst *i, uint32_t depth, uint64_t *by)
{
    for (uint32_t k = 0; k < 2; k++) {
        uint64_t times;
        if (!spv_constant(e->module, spv_operand(i, k), &times) ||
            !grows_by(e, spv_operand(i, 1 - k), depth, by))
            continue;
        *by *= times;
        return true;
    }
    return is_shared_by_row(e, i, depth, by);
}

/* Lanes of a row that access memory together: half a vector of numbers of 32 bits. */
static uint32_t run_of(const Emit *e) { return MIN(e->local_size[0], vector_bits(e) / 64); }

/* Of a number that counts up in rows and begins with a multiple of their length, as indices of
 * invocations do: by a multiple of a run, quotients are the same in it, and the rest counts up. */
static bool quotient_grows_by(Emit *e, const SpvInst *i, uint32_t depth, uint64_t *by)
{
    bool rest = i->op == SpvOpUMod || i->op == SpvOpSMod || i->op == SpvOpSRem;
    uint64_t divisor;
    if (!spv_constant(e->module, spv_operand(i, 1), &divisor) || divisor % run_of(e) ||
        !grows_by(e, spv_operand(i, 0), depth, by) || *by != 1)
        return is_shared_by_row(e, i, depth, by);
    *by = rest;
    return true;
}

/* Which component of which built-in a pointer leads to; 0: the first, or all. */
static const uint32_t *builtin_of(Emit *e, SpvId pointer, uint64_t *component)
{
    const SpvInst *chain = spv_def(e->module, pointer);
    SpvId variable = pointer_variable(e->module, pointer);
    *component = 0;
    if (chain && pointer_from(chain) && spv_n_operands(chain) == 2)
        (void)spv_constant(e->module, spv_operand(chain, 1), component);
    return variable ? spv_decoration(e->module, variable, -1, SpvDecorationBuiltIn, NULL) : NULL;
}

static bool builtin_grows_by(Emit *e, SpvId pointer, uint32_t component, uint64_t *by)
{
    uint64_t selected;
    const uint32_t *builtin = builtin_of(e, pointer, &selected);
    *by = component + selected == 0;
    return builtin &&
           (*builtin == SpvBuiltInGlobalInvocationId || *builtin == SpvBuiltInLocalInvocationId ||
            *builtin == SpvBuiltInLocalInvocationIndex);
}

static bool grows_by(Emit *e, SpvId id, uint32_t depth, uint64_t *by)
{
    const SpvInst *i = spv_def(e->module, id);
    uint64_t other = 0;
    *by = 0;
    if (!is_varying(e, id))
        return true;
    if (!i || !depth--)
        return false;
    switch (i->op) {
    case SpvOpSConvert:
    case SpvOpUConvert:
    case SpvOpBitcast:
    case SpvOpCopyObject: return grows_by(e, spv_operand(i, 0), depth, by);
    case SpvOpPhi: return phi_grows_by(e, i, depth, by);
    case SpvOpIMul: return product_grows_by(e, i, depth, by);
    case SpvOpLoad: return builtin_grows_by(e, spv_operand(i, 0), 0, by);
    case SpvOpCompositeExtract: {
        const SpvInst *load = spv_def(e->module, spv_operand(i, 0));
        return load && load->op == SpvOpLoad && spv_n_operands(i) == 2 &&
               builtin_grows_by(e, spv_operand(load, 0), spv_operand(i, 1), by);
    }
    case SpvOpIAdd:
    case SpvOpISub:
        if (!grows_by(e, spv_operand(i, 0), depth, by) ||
            !grows_by(e, spv_operand(i, 1), depth, &other))
            return false;
        *by += i->op == SpvOpIAdd ? other : 0 - other;
        return true;
    case SpvOpUDiv:
    case SpvOpSDiv:
    case SpvOpUMod:
    case SpvOpSMod:
    case SpvOpSRem: return quotient_grows_by(e, i, depth, by);
    default: return is_shared_by_row(e, i, depth, by);
    }
}

/* ---- what lanes do --------------------------------------------------------------------------- */

/* Comparisons of such numbers, of which a lane's neighbours most often say the same. */
static bool parts_at_ends(Emit *e, SpvId condition, uint32_t depth)
{
    const SpvInst *i = spv_def(e->module, condition);
    if (!is_varying(e, condition))
        return true;
    if (!i || !depth--)
        return false;
    bool compares = i->op >= SpvOpIEqual && i->op <= SpvOpSLessThanEqual, phi = i->op == SpvOpPhi;
    bool logical = i->op == SpvOpLogicalAnd || i->op == SpvOpLogicalOr || i->op == SpvOpLogicalNot;
    for (uint32_t k = 0; k < spv_n_operands(i); k += 1 + phi) {
        uint64_t by;
        bool good = logical || phi ? parts_at_ends(e, spv_operand(i, k), depth)
                    : compares     ? grows_by(e, spv_operand(i, k), INDEX_DEPTH, &by)
                                   : false;
        if (!good)
            return false;
    }
    return logical || compares || phi;
}

/* Of built-ins, those that are the same however wide subgroups are. */
static bool is_builtin_of_groups(uint32_t builtin)
{
    return (builtin >= SpvBuiltInNumWorkgroups && builtin <= SpvBuiltInLocalInvocationIndex) ||
           (builtin >= SpvBuiltInWorkDim && builtin <= SpvBuiltInGlobalLinearId);
}

/* Whether memory says where a number is: it is gathered, however many lanes there are. */
static bool comes_from_memory(Emit *e, SpvId id, uint32_t depth)
{
    const SpvInst *i = spv_def(e->module, id);
    uint16_t at[8];
    uint64_t component;
    if (!i || !is_varying(e, id) || !depth--)
        return false;
    if (i->op == SpvOpLoad)
        return !builtin_of(e, spv_operand(i, 0), &component);
    uint32_t n = spv_id_operands(i, at, COUNT_OF(at));
    for (uint32_t k = 0; k < MIN(n, COUNT_OF(at)) && spv_is_pure(i); k++)
        if (comes_from_memory(e, i->words[at[k]], depth))
            return true;
    return false;
}

/* By an instruction of the machine, and once. */
static bool is_gathered(Emit *e, uint32_t position, const SpvType *t, SpvId index)
{
    return lanes_of(e)->machine->sets & CPU_AVX512 && t->bits >= 32 &&
           !e->cfg->blocks[position].loop && comes_from_memory(e, index, CONDITION_DEPTH);
}

/* One number, at one address in a row, next to the neighbours' or gathered. */
static bool is_good_access(Emit *e, uint32_t position, SpvId pointer)
{
    const SpvInst *chain = spv_def(e->module, pointer);
    const SpvType *t = spv_type_of(e->module, pointer);
    uint64_t component;
    uint64_t by;
    const uint32_t *builtin = builtin_of(e, pointer, &component);
    if (builtin || !is_varying(e, pointer))
        return !builtin || is_builtin_of_groups(*builtin);
    if (!chain || !pointer_from(chain) || spv_n_operands(chain) < 2 || !t || !t->element ||
        (t->element->kind != SPV_INT && t->element->kind != SPV_FLOAT))
        return false;
    uint32_t last = spv_n_operands(chain) - 1;
    for (uint32_t k = 0; k < last; k++)
        if (is_varying(e, spv_operand(chain, k)))
            return false;
    SpvId index = spv_operand(chain, last);
    return (grows_by(e, index, INDEX_DEPTH, &by) && by <= most_stride(e)) ||
           is_gathered(e, position, t->element, index);
}

/* Whether its results depend on how wide subgroups are, as it does how many elements of a matrix an
 * invocation has. */
static bool tells_width(Emit *e, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    SpvId pointer = i->op == SpvOpLoad || pointer_from(i) ? spv_operand(i, 0) : 0;
    uint64_t component;
    const uint32_t *builtin = pointer ? builtin_of(e, pointer, &component) : NULL;
    if (emit_has_matrix(spv_type(e->module, i->type)) ||
        (pointer && emit_has_matrix(spv_type_of(e->module, pointer))))
        return true;
    if (i->op == SpvOpControlBarrier || i->op == SpvOpGroupNonUniformAll) /* pass_whole's */
        return false;
    return !info || info->flags & SPV_OPF_GROUP || i->op == SpvOpCooperativeMatrixLengthKHR ||
           i->op == SpvOpFunctionCall || (builtin && !is_builtin_of_groups(*builtin));
}

/* Whether more lanes would do it as well. */
static bool suits(Emit *e, uint32_t position, const SpvInst *i)
{
    const SpvOpInfo *info = spv_op_info(i->op);
    switch (i->op) {
    case SpvOpControlBarrier:
    case SpvOpGroupNonUniformAll: return true;
    case SpvOpExtInst: return spv_is_pure(i) || spv_is_nonsemantic(i);
    case SpvOpLoad:
    case SpvOpStore: return is_good_access(e, position, spv_operand(i, 0));
    case SpvOpVariable: return !e->uniformity->varying_variable[i->id];
    case SpvOpBranchConditional: return parts_at_ends(e, spv_operand(i, 0), CONDITION_DEPTH);
    case SpvOpSwitch: return !e->uniformity->divergent_branch[position];
    default: return !(info->flags & (SPV_OPF_ATOMIC | SPV_OPF_MEMORY));
    }
}

static bool is_carried(const Emit *e, uint32_t position, const SpvInst *i)
{
    const CfgLoop *loop = e->cfg->blocks[position].loop;
    return i->op == SpvOpPhi && loop && loop->header == position && is_varying(e, i->id);
}

/* The most bits of an invocation that a loop keeps from one iteration to the next. */
static uint32_t carried_bits(Emit *e)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k + 1 < e->cfg->n; k++) {
        uint32_t bits = 0;
        for (const SpvInst *i = e->cfg->blocks[k].block->insts.first; i; i = i->next) {
            const SpvType *t = spv_type(e->module, i->type);
            const SpvType *leaf = t && t->kind == SPV_VECTOR ? t->element : t;
            if (is_carried(e, k, i))
                bits += leaf->bits * (t->kind == SPV_VECTOR ? t->count : 1);
        }
        most = MAX(most, bits);
    }
    return most;
}

static bool kernel_suits(Emit *e)
{
    uint32_t n = 0, carried;
    for (uint32_t k = 0; k + 1 < e->cfg->n; k++) { /* the last is the exit */
        carried = 0;
        for (const SpvInst *i = e->cfg->blocks[k].block->insts.first; i; i = i->next) {
            n += i->id && is_varying(e, i->id);
            carried += is_carried(e, k, i);
            if (n > MOST_INSTS || carried > MOST_CARRIED || !suits(e, k, i))
                return false;
        }
    }
    return true;
}

static bool kernel_tells(Emit *e)
{
    for (uint32_t k = 0; k + 1 < e->cfg->n; k++)
        for (const SpvInst *i = e->cfg->blocks[k].block->insts.first; i; i = i->next)
            if (tells_width(e, i))
                return true;
    return false;
}

static uint32_t widest(const Emit *e, uint32_t invocations)
{
    uint32_t most = MIN(MOST_LANES, VECTORS * vector_bits(e) / 32), row = e->local_size[0];
    uint32_t width = e->W;
    for (uint32_t next = width * 2; next <= most && invocations % next == 0; next *= 2)
        if (row % next == 0 || (next % row == 0 && next / row <= MOST_ROWS))
            width = next;
    return width;
}

uint32_t lanes_width(Emit *e)
{
    uint32_t invocations = e->local_size[0] * e->local_size[1] * e->local_size[2], width = e->W;
    if (kernel_tells(e))
        return width;
    uint32_t wide = invocations ? widest(e, invocations) : width, bits = carried_bits(e);
    if (wide > width && kernel_suits(e))
        return wide;
    while (width > 8 && invocations && invocations <= width / 2)
        width /= 2;
    while (width * 32 > vector_bits(e) && width * bits > MOST_KEPT * vector_bits(e))
        width /= 2;
    return width;
}
