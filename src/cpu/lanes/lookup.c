/* SPDX-License-Identifier: MIT
 *
 * Numbers that each lane takes from a small table in memory that all lanes share, as kernels for
 * quantised weights look up what four bits mean. In: a load through an index that differs. Out: the
 * whole table is loaded and permuted by the lanes' indices, byte by byte, for which all machines
 * have an instruction; a gather would load lane by lane, and no machine gathers bytes.
 *
 * Lanes with an index outside of the table, for which SPIR-V says nothing, get any number of it.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <string.h>

enum { MOST = 16, MOST_LANES = 128, MOST_BYTES = 4 /* of a number */ };

typedef struct Permutation {
    const char *name;
    uint32_t bytes;
} Permutation;

/* Of 16 bytes by as many numbers, in one part of a register or in several; NULL: none. */
static const Permutation *permutation(Emit *e)
{
    static const Permutation of[] = { { "llvm.x86.avx512.pshuf.b.512", 64 },
                                      { "llvm.x86.avx2.pshuf.b", 32 },
                                      { "llvm.x86.ssse3.pshuf.b.128", 16 },
                                      { "llvm.aarch64.neon.tbl1.v16i8", 16 } };
    const CpuTarget *t = lanes_of(e)->machine;
    if (t->sets & CPU_NEON)
        return &of[3];
    if (t->sets & CPU_AVX512 && e->W >= 64)
        return &of[0];
    if (t->sets & (CPU_AVX2 | CPU_AVX512) && e->W >= 32)
        return &of[1];
    return t->features && strstr(t->features, "+ssse3") ? &of[2] : NULL;
}

typedef struct Table {
    EmitPointer at;
    uint32_t n, size; /* numbers; bytes of one */
    SpvId index;
} Table;

static bool may_be_shared(uint32_t storage)
{
    return storage == SpvStorageClassWorkgroup || storage == SpvStorageClassUniformConstant ||
           storage == SpvStorageClassFunction || storage == SpvStorageClassPrivate;
}

/* Whether a load is such a one: of a variable that is the same for all lanes, and is all there. */
static bool find_table(Emit *e, const SpvInst *load, const EmitPointer *p, Table *t)
{
    const SpvInst *chain = spv_def(e->module, spv_operand(load, 0));
    const SpvInst *variable =
        spv_is_chain(chain) ? spv_def(e->module, spv_operand(chain, 0)) : NULL;
    const SpvType *type = p->at.type;
    if ((type->kind != SPV_INT && type->kind != SPV_FLOAT) || !p->lane_index || p->volatile_ ||
        !variable || variable->op != SpvOpVariable || spv_n_operands(chain) != 2 ||
        !may_be_shared(p->storage) || p->at.rule == LAYOUT_LANES)
        return false;
    *t = (Table){ .at = *emit_pointer(e, variable->id),
                  .size = emit_scalar_bytes(e, type),
                  .index = spv_operand(chain, 1) };
    const SpvType *array = t->at.at.type;
    uint64_t second;
    if (t->at.descriptors || t->at.lane_index || emit_is_lanes(t->at.base) ||
        address_checked(e, &t->at) || !array || array->kind != SPV_ARRAY || array->count < 2 ||
        array->count > MOST || t->size > MOST_BYTES)
        return false;
    t->n = (uint32_t)array->count;
    (void)emit_layout_part(e, &t->at.at, 1, &second);
    return second == t->size && emit_is_lanes(emit_leaf(e, t->index, 0));
}

/* Bytes number `place` of all of the table's numbers: <16 x i8>. */
static LV bytes_of(Emit *e, const Table *t, LV numbers, uint32_t place)
{
    int from[MOST];
    for (uint32_t k = 0; k < MOST; k++)
        from[k] = (int)(MIN(k, t->n - 1) * t->size + place);
    return ir_shuffle(e->b, numbers, NULL, from, MOST);
}

static LV permute(Emit *e, const Permutation *how, LV table, LV index)
{
    int from[MOST_LANES];
    LV pieces[MOST_LANES / MOST];
    uint32_t n = MAX(e->W / how->bytes, 1u);
    for (uint32_t k = 0; k < how->bytes; k++)
        from[k] = (int)(k % MOST);
    LV args[2] = { ir_shuffle(e->b, table, NULL, from, how->bytes) };
    for (uint32_t p = 0; p < n; p++) {
        for (uint32_t k = 0; k < how->bytes; k++)
            from[k] = (int)((p * how->bytes + k) % e->W);
        args[1] = ir_shuffle(e->b, index, NULL, from, how->bytes);
        pieces[p] = ir_intrinsic(e->b, how->name, NULL, 0, args, 2);
    }
    return ir_part(e->b, ir_concatenate(e->b, pieces, n), 0, e->W);
}

/* Of words, where the machine permutes them: 16 at once, or eight, and longer tables in halves. */
static LV permute_words(Emit *e, const Table *t, LV numbers, LV index)
{
    int from[MOST];
    LV pieces[MOST_LANES / 8];
    bool wide = lanes_of(e)->machine->sets & CPU_AVX512 && e->W >= 16;
    uint32_t n = wide ? 16 : 8;
    const char *name = wide ? "llvm.x86.avx512.permvar.si.512" : "llvm.x86.avx2.permd";
    LV half[2] = { NULL },
       words = LLVMBuildBitCast(e->b, numbers, LLVMVectorType(e->i32, t->n), "");
    for (uint32_t h = 0; h * n < t->n; h++) {
        for (uint32_t k = 0; k < n; k++)
            from[k] = (int)MIN(h * n + k, t->n - 1);
        half[h] = ir_shuffle(e->b, words, NULL, from, n);
    }
    for (uint32_t p = 0; p < e->W / n; p++) {
        LV at = ir_part(e->b, index, p * n, n);
        pieces[p] = ir_intrinsic(e->b, name, NULL, 0, (LV[]){ half[0], at }, 2);
        if (half[1]) {
            LV high = ir_intrinsic(e->b, name, NULL, 0, (LV[]){ half[1], at }, 2);
            LV which = LLVMBuildICmp(e->b, LLVMIntUGE, at, ir_int(LLVMTypeOf(at), n), "");
            pieces[p] = LLVMBuildSelect(e->b, which, high, pieces[p], "");
        }
    }
    return ir_concatenate(e->b, pieces, e->W / n);
}

static bool has_words(Emit *e) { return lanes_of(e)->machine->sets & (CPU_AVX2 | CPU_AVX512); }

/* Numbers from their low halves and their high ones. */
static LV join(Emit *e, LV low, LV high)
{
    int from[2 * MOST_LANES];
    for (uint32_t k = 0; k < 2 * e->W; k++)
        from[k] = (int)(k / 2 + k % 2 * e->W);
    LT part = ir_element_of(low);
    LT whole = LLVMIntTypeInContext(e->cx, 2 * LLVMGetIntTypeWidth(part));
    LV v = ir_shuffle(e->b, low, high, from, 2 * e->W);
    return LLVMBuildBitCast(e->b, v, emit_lanes_type(e, whole), "");
}

static LV look_up(Emit *e, const Table *t, const Permutation *how, LV numbers)
{
    LV index = emit_leaf(e, t->index, 0), v[MOST_BYTES];
    if (t->size == sizeof(uint32_t) && has_words(e))
        return permute_words(e, t, numbers, arith_resize(e->b, index, e->i32, false));
    index = arith_resize(e->b, index, e->i8, false);
    index = LLVMBuildAnd(e->b, index, ir_int(LLVMTypeOf(index), MOST - 1), "");
    for (uint32_t k = 0; k < t->size; k++)
        v[k] = permute(e, how, bytes_of(e, t, numbers, k), index);
    for (uint32_t n = t->size; n > 1; n /= 2)
        for (uint32_t k = 0; k < n / 2; k++)
            v[k] = join(e, v[2 * k], v[2 * k + 1]);
    return v[0];
}

bool lookup_load(Emit *e, const SpvInst *i, const EmitPointer *p, LV *leaves)
{
    Table t;
    const Permutation *how = find_table(e, i, p, &t) ? permutation(e) : NULL;
    if (!how)
        return false;
    uint32_t bytes = t.n * t.size;
    LV numbers =
        ir_load(e->b, LLVMVectorType(e->i8, bytes), address_uniform(e, &t.at, 0, 1), t.size);
    access_count(e, p, HEDDLE_ACCESS_VECTOR, NULL, bytes);
    LT type = emit_lanes_type(e, emit_scalar_type(e, p->at.type));
    leaves[0] = LLVMBuildBitCast(e->b, look_up(e, &t, how, numbers), type, "");
    return true;
}
