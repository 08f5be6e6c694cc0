/* SPDX-License-Identifier: MIT
 *
 * The products of fused workgroups, 128 x 256 sums a block: all its threads copy panels of A and B
 * to workgroup memory (cp.async), 128 bytes of k a stage, several stages ahead of each other;
 * its warpgroups multiply them (wgmma), 64 rows and their part of the columns each; then the sums
 * go through workgroup memory to the subgroups whose they are. A dispatch too small for that has
 * blocks of half the columns and warps: the kernel has code for both. On an H100, 4096^3 of f16 by
 * two warpgroups: 430 TFLOP/s by mma.sync with the same staging, more than 600 this way.
 *
 * Robust access costs nothing here: whether all that will be loaded lies inside is known before,
 * and where some does not, the loop does all of the work.
 */
#include "nvptx/fuse.h"
#include "llvm/ir.h"
#include "pass/edit.h"

#include <stddef.h>
#include <stdio.h>

enum {
    MOST_STAGES = 4,
    LINE = 128, /* bytes of a line of a panel, and of what wgmma's swizzle permutes */
    A_BYTES = NVPTX_BLOCK_ROWS * LINE,
    B_BYTES = NVPTX_BLOCK_COLUMNS * LINE,
    STAGE_BYTES = A_BYTES + B_BYTES,
    TABLE = MOST_STAGES * STAGE_BYTES, /* where the block's tiles are, 8 bytes each */
    B_TABLE = TABLE + 8 * 2 * NVPTX_MOST_TILES,
    FACTS = B_TABLE + 8 * 4 * NVPTX_MOST_TILES,
    SHARED_BYTES = FACTS + 128,
    MOST_CHUNKS = 8,      /* of a panel, a thread */
    MOST_TURNED = 2,      /* tiles' columns of a panel of bytes that a warp transposes */
    QUAD = 4,             /* lines of k that a thread transposes at once */
    MOST_REGISTERS = 128, /* of sums, a thread */
    MOST_HELD = 2 * MOST_TURNED * QUAD * QUAD,
    ROWS_AT_ONCE = 64, /* of a wgmma */
};

typedef struct Block {
    uint32_t warps, columns;
    uint32_t products; /* of 64 rows, of each warpgroup */
    uint32_t parts;    /* of the columns, a warpgroup each */
} Block;

/* An operand, here. */
typedef struct Panel {
    const NvptxOperand *o;
    uint32_t n;         /* tiles that the subgroup loads in an iteration */
    uint32_t lines;     /* of the block: 128 or 256 */
    uint32_t table, at; /* offsets in workgroup memory: of its tiles, in a stage */
    LV address[NVPTX_MOST_TILES], delta, stride; /* i64 */
    LV chunk[MOST_CHUNKS]; /* i64: what this thread copies in the first stage */
    uint32_t n_chunks;
    LV step;      /* bytes from a stage to the next */
    LV turned_at; /* i32: where the thread's first word goes in the first stage of a turned panel */
} Panel;

typedef struct Stager {
    Emit *e;
    const NvptxFusion *f;
    const Block *block;
    Panel a, b;
    LV tid, warp, columns, row, column; /* i32; the latter of the subgroup in the block */
    LV row_part, column_part;           /* i32, of the warpgroup */
    LV shared;                          /* its address there, i32 */
    LV mine;                            /* where the thread's chunks go in a panel, i32 */
    uint32_t n_registers;               /* of a wgmma's sums */
    uint32_t stages; /* that there is memory for: one is multiplied, the others copied */
    LT reg;
} Stager;

static LV u32(const Stager *s, uint32_t x) { return ir_int(s->e->i32, x); }
static LV u64(const Stager *s, uint64_t x) { return ir_int(s->e->i64, x); }
static LV add(const Stager *s, LV x, LV y) { return LLVMBuildAdd(s->e->b, x, y, ""); }
static LV mul(const Stager *s, LV x, LV y) { return LLVMBuildMul(s->e->b, x, y, ""); }
static LV both(const Stager *s, LV x, LV y) { return LLVMBuildAnd(s->e->b, x, y, ""); }
static LV widened(const Stager *s, LV x) { return LLVMBuildZExt(s->e->b, x, s->e->i64, ""); }
static LV shifted(const Stager *s, LV x, uint32_t n)
{
    return LLVMBuildLShr(s->e->b, x, u32(s, n), "");
}
static LV low(const Stager *s, LV x, uint32_t mask) { return both(s, x, u32(s, mask)); }
static LV equal(const Stager *s, LV x, LV y) { return LLVMBuildICmp(s->e->b, LLVMIntEQ, x, y, ""); }

static LV call_asm(const Stager *s, const char *text, const char *constraints, LT result, LV *args,
                   unsigned n)
{
    IrAsm code = { text, constraints, .has_effects = true };
    return threads_asm(s->e, &code, result, args, n);
}

static void call(const Stager *s, const char *name, LV *args, unsigned n)
{
    threads_call(s->e, name, s->e->void_, args, n);
}

static LV shared_at(const Stager *s, LV offset, uint32_t constant)
{
    LV at = add(s, s->shared, add(s, offset, u32(s, constant)));
    return LLVMBuildIntToPtr(s->e->b, at, LLVMPointerTypeInContext(s->e->cx, SPACE_SHARED), "");
}

/* ---- do all subgroups mean the same? --------------------------------------------------------- */

static LV address_of(const Stager *s, const EmitPointer *p)
{
    LV at = LLVMBuildPtrToInt(s->e->b, p->base, s->e->i64, "");
    if (p->offset)
        at = add(s, at, p->offset);
    return add(s, at, u64(s, (uint64_t)p->constant));
}

/* i1: the tile at that address, if it is p's, lies inside. */
static LV is_inside(const Stager *s, const Panel *panel, const EmitPointer *p, LV at)
{
    Emit *e = s->e;
    LV span = add(s, mul(s, panel->stride, u64(s, s->f->tile - 1)),
                  u64(s, s->f->tile * s->f->factor->bits / 8));
    LV offset = LLVMBuildSub(e->b, at, LLVMBuildPtrToInt(e->b, p->base, e->i64, ""), "");
    LV most = LLVMBuildSub(e->b, p->limit, span, "");
    LV fits = LLVMBuildICmp(e->b, LLVMIntULE, span, p->limit, "");
    LV short_ = LLVMBuildICmp(e->b, LLVMIntULT, panel->stride, u64(s, (uint64_t)1 << 40), "");
    return both(s, both(s, short_, fits), LLVMBuildICmp(e->b, LLVMIntULE, offset, most, ""));
}

/* Evaluates a panel's addresses. What must hold of them, whatever other subgroups load: each moves
 * by `delta` an iteration and never wraps, from first to last inside the buffer, by multiples of 16
 * bytes. */
static LV open_panel(Stager *s, Panel *p)
{
    Emit *e = s->e;
    LV steps = LLVMBuildSub(e->b, emit_cast_index(e, emit_leaf(e, s->f->iterations, 0), e->i64),
                            u64(s, 1), "");
    LV odd = NULL, fine = NULL;
    uint32_t each = LINE / (s->f->tile * s->f->factor->bits / 8) / s->f->chain;
    p->stride = emit_cast_index(e, emit_leaf(e, p->o->stride, 0), e->i64);
    for (uint32_t k = 0; k < p->n; k++) {
        const EmitPointer *q = emit_pointer(e, p->o->first[k]);
        LV at = p->address[k] = address_of(s, q);
        LV delta = LLVMBuildSub(e->b, address_of(s, emit_pointer(e, p->o->second[k])), at, "");
        LV last = address_of(s, emit_pointer(e, p->o->last[k]));
        LV even = equal(s, last, add(s, at, mul(s, steps, delta)));
        if (k == 0) {
            p->delta = delta;
            p->stride = mul(s, p->stride, u64(s, emit_layout_size(e, &q->at)));
            odd = LLVMBuildOr(e->b, p->stride, delta, "");
        }
        even = both(s, even, equal(s, delta, p->delta));
        if (e->robust && q->limit)
            even = both(s, even, both(s, is_inside(s, p, q, at), is_inside(s, p, q, last)));
        odd = LLVMBuildOr(e->b, odd, at, "");
        fine = fine ? both(s, fine, even) : even;
    }
    p->step = mul(s, p->delta, u64(s, each));
    return both(s, fine, equal(s, both(s, odd, u64(s, 15)), u64(s, 0)));
}

static LV entry(const Stager *s, LV index, uint32_t table)
{
    return shared_at(s, LLVMBuildShl(s->e->b, index, u32(s, 3), ""), table);
}

static LV table_read(const Stager *s, LV index, uint32_t table)
{
    return ir_load(s->e->b, s->e->i64, entry(s, index, table), 8);
}

enum { N_FACTS = 5 };

/* What is the same all over the block. */
static void facts_of(const Stager *s, LV *facts)
{
    facts[0] = s->a.stride;
    facts[1] = s->a.delta;
    facts[2] = s->b.stride;
    facts[3] = s->b.delta;
    facts[4] = emit_cast_index(s->e, emit_leaf(s->e, s->f->stages, 0), s->e->i64);
}

/* All write what they mean, over each other's where it should be the same, and look whether it is
 * what stands there. i1, the same for the whole block. */
static LV agreed(const Stager *s, LV fine)
{
    Emit *e = s->e;
    LV facts[N_FACTS],
        first[2] = { mul(s, s->row, u32(s, s->a.n)), mul(s, s->column, u32(s, s->b.n)) };
    facts_of(s, facts);
    for (uint32_t write = 2; write-- > 0;) {
        for (uint32_t o = 0; o < 2; o++) {
            const Panel *p = o ? &s->b : &s->a;
            for (uint32_t k = 0; k < p->n; k++) {
                LV at = add(s, first[o], u32(s, k));
                if (write)
                    ir_store(e->b, p->address[k], entry(s, at, p->table), 8);
                else
                    fine = both(s, fine, equal(s, table_read(s, at, p->table), p->address[k]));
            }
        }
        for (uint32_t k = 0; k < N_FACTS; k++) {
            if (write)
                ir_store(e->b, facts[k], entry(s, u32(s, k), FACTS), 8);
            else
                fine = both(s, fine, equal(s, table_read(s, u32(s, k), FACTS), facts[k]));
        }
        if (write)
            threads_barrier(e);
    }
    LV vote[] = { u32(s, 0), fine };
    return threads_call(e, "llvm.nvvm.barrier.cta.red.and.aligned.all", e->i1, vote, 2);
}

static LV has_stages(const Stager *s)
{
    Emit *e = s->e;
    LV start = emit_leaf(e, s->f->start, 0), bound = emit_leaf(e, s->f->bound, 0),
       stages = emit_leaf(e, s->f->stages, 0);
    LV less =
        LLVMBuildICmp(e->b, s->f->compares_signed ? LLVMIntSLT : LLVMIntULT, start, bound, "");
    return both(s, less, LLVMBuildICmp(e->b, LLVMIntNE, stages, ir_inum(stages, 0), ""));
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The address of 16 bytes in the first stage: of line `inner` of a tile, which is `chunk` * 16
 * bytes in. */
static LV chunk_at(const Stager *s, const Panel *p, LV tile, LV k_tile, LV inner, LV chunk)
{
    uint32_t chain = s->f->chain;
    LV number = add(s, mul(s, tile, u32(s, chain)), low(s, k_tile, chain - 1));
    LV at = table_read(s, number, p->table);
    LV turn = LLVMBuildUDiv(s->e->b, k_tile, u32(s, chain), "");
    at = add(s, at, mul(s, widened(s, turn), p->delta));
    at = add(s, at, mul(s, widened(s, inner), p->stride));
    return add(s, at, mul(s, widened(s, chunk), u64(s, 16)));
}

/* Lines of a panel are rows of A or columns of B where k lies along them in memory; else they are
 * of k, 64 rows or columns in each, and there are several panels of 64 lines. */
static bool lies_along_k(const Stager *s, const Panel *p)
{
    return (p == &s->a) != p->o->by_column;
}

/* wgmma takes bytes only where k lies along the lines of a panel: others are transposed on their
 * way, through registers. */
static bool is_turned(const Stager *s, const Panel *p)
{
    return s->f->factor->bits == 8 && !lies_along_k(s, p);
}

static bool is_panel_along_k(const Stager *s, const Panel *p)
{
    return lies_along_k(s, p) || is_turned(s, p);
}

/* Lines that all threads copy at once, 16 bytes each. */
static uint32_t lines_at_once(const Stager *s) { return s->block->warps * NVPTX_WARP / 8; }

/* A lane has four lines of k, by its number, a warp 16 or 32 columns (of A: rows) of all 128: so
 * its words of four k go to 32 different banks. */
static void find_turned_chunks(Stager *s, Panel *p)
{
    LV lane = low(s, s->tid, 31), k_tile = shifted(s, lane, 2);
    LV inner = LLVMBuildShl(s->e->b, low(s, lane, 3), u32(s, 2), "");
    p->n_chunks = p->lines / s->f->tile / s->block->warps;
    LV tile = mul(s, s->warp, u32(s, p->n_chunks));
    for (uint32_t k = 0; k < p->n_chunks; k++)
        p->chunk[k] = chunk_at(s, p, add(s, tile, u32(s, k)), k_tile, inner, u32(s, 0));
    LV word = add(s, mul(s, k_tile, u32(s, 16)), inner);
    p->turned_at = add(s, mul(s, tile, u32(s, s->f->tile * LINE)), word);
}

static void find_chunks(Stager *s, Panel *p)
{
    if (is_turned(s, p)) {
        find_turned_chunks(s, p);
        return;
    }
    uint32_t tile = s->f->tile, in_tile = tile * s->f->factor->bits / 8 / 16;
    LV eighth = low(s, s->tid, 7), across = LLVMBuildUDiv(s->e->b, eighth, u32(s, in_tile), ""),
       chunk = low(s, eighth, in_tile - 1);
    p->n_chunks = p->lines / lines_at_once(s);
    for (uint32_t k = 0; k < p->n_chunks; k++) {
        LV line = add(s, shifted(s, s->tid, 3), u32(s, k * lines_at_once(s)));
        LV inner = low(s, line, tile - 1);
        if (lies_along_k(s, p)) {
            LV lines = LLVMBuildUDiv(s->e->b, line, u32(s, tile), "");
            p->chunk[k] = chunk_at(s, p, lines, across, inner, chunk);
        } else {
            LV first = mul(s, shifted(s, line, 6), u32(s, 64 / tile));
            LV k_tile = LLVMBuildUDiv(s->e->b, low(s, line, 63), u32(s, tile), "");
            p->chunk[k] = chunk_at(s, p, add(s, first, across), k_tile, inner, chunk);
        }
    }
}

/* Of the stage that is so many bytes behind the first, to `to`. */
static void copy_panel(const Stager *s, const Panel *p, LV moved, LV to)
{
    for (uint32_t k = 0; k < p->n_chunks && !is_turned(s, p); k++) {
        char text[96];
        LV args[2] = { to, add(s, p->chunk[k], moved) };
        snprintf(text, sizeof text, "cp.async.cg.shared.global [$0+%u], [$1], 16;",
                 p->at + k * lines_at_once(s) * LINE);
        call_asm(s, text, "r,l,~{memory}", s->e->void_, args, 2);
    }
}

static void copy_stage(const Stager *s, LV slot, LV moved_a, LV moved_b)
{
    LV to = add(s, s->mine, mul(s, slot, u32(s, STAGE_BYTES)));
    copy_panel(s, &s->a, moved_a, to);
    copy_panel(s, &s->b, moved_b, to);
}

/* ---- panels of bytes, transposed ------------------------------------------------------------- */

/* What the thread has of a stage: of each tile four lines, 16 bytes each. */
static void hold_panel(const Stager *s, const Panel *p, LV moved, LV *held)
{
    Emit *e = s->e;
    LT four = LLVMVectorType(e->i32, QUAD), global = LLVMPointerTypeInContext(e->cx, SPACE_GLOBAL);
    for (uint32_t k = 0; k < p->n_chunks; k++)
        for (uint32_t line = 0; line < QUAD; line++) {
            LV at = add(s, p->chunk[k], add(s, moved, mul(s, p->stride, u64(s, line))));
            LV v = ir_load(e->b, four, LLVMBuildIntToPtr(e->b, at, global, ""), 16);
            for (uint32_t w = 0; w < QUAD; w++)
                *held++ = LLVMBuildExtractElement(e->b, v, u32(s, w), "");
        }
}

/* Four words of four bytes, as a matrix of bytes, transposed. */
static void turn_quad(const Stager *s, const LV in[QUAD], LV out[QUAD])
{
    static const uint32_t pairs[2] = { 0x5140, 0x7362 }, halves[2] = { 0x5410, 0x7632 };
    for (uint32_t p = 0; p < 2; p++) {
        LV first = threads_bytes_of(s->e, in[0], in[1], pairs[p]),
           second = threads_bytes_of(s->e, in[2], in[3], pairs[p]);
        for (uint32_t h = 0; h < 2; h++)
            out[2 * p + h] = threads_bytes_of(s->e, first, second, halves[h]);
    }
}

/* Words of four k to the lines of their columns, whose chunks of 16 bytes lie as wgmma's swizzle
 * permutes them. */
static void put_panel(const Stager *s, const Panel *p, LV slot, const LV *held)
{
    LV base = add(s, p->turned_at, mul(s, slot, u32(s, STAGE_BYTES)));
    for (uint32_t k = 0; k < p->n_chunks; k++, held += QUAD * QUAD)
        for (uint32_t w = 0; w < QUAD; w++) {
            LV in[QUAD], out[QUAD];
            for (uint32_t line = 0; line < QUAD; line++)
                in[line] = held[QUAD * line + w];
            turn_quad(s, in, out);
            for (uint32_t c = 0; c < QUAD; c++) {
                uint32_t line = QUAD * w + c;
                LV at = LLVMBuildXor(s->e->b, base, u32(s, 16 * (line & 7)), "");
                ir_store(s->e->b, out[c], shared_at(s, at, p->at + (s->f->tile * k + line) * LINE),
                         4);
            }
        }
}

/* Words of a panel that a thread holds from one stage to the next. */
static uint32_t n_held(const Stager *s, const Panel *p)
{
    return is_turned(s, p) ? p->n_chunks * QUAD * QUAD : 0;
}

static void hold_stage(const Stager *s, LV moved_a, LV moved_b, LV *held)
{
    if (is_turned(s, &s->a))
        hold_panel(s, &s->a, moved_a, held);
    if (is_turned(s, &s->b))
        hold_panel(s, &s->b, moved_b, held + n_held(s, &s->a));
}

static void put_stage(const Stager *s, LV slot, const LV *held)
{
    if (is_turned(s, &s->a))
        put_panel(s, &s->a, slot, held);
    if (is_turned(s, &s->b))
        put_panel(s, &s->b, slot, held + n_held(s, &s->a));
}

static void copies_end(const Stager *s) { call(s, "llvm.nvvm.cp.async.commit.group", NULL, 0); }

/* ---- products -------------------------------------------------------------------------------- */

/* A matrix descriptor (PTX ISA, "Matrix Descriptor Format"): 128-byte swizzle, 1024 bytes between
 * groups of eight lines, and, where lines are of k, a panel of 64 lines to the next 64 columns. */
static LV descriptor(const Stager *s, const Panel *p, LV at)
{
    uint64_t next = is_panel_along_k(s, p) ? 1 : 64 * LINE / 16;
    LV start = widened(s, low(s, shifted(s, at, 4), 0x3fff));
    return LLVMBuildOr(s->e->b, start,
                       u64(s, (uint64_t)1 << 62 | (uint64_t)(1024 / 16) << 32 | next << 16), "");
}

/* Columns of a wgmma. */
static uint32_t width_of(const Stager *s) { return s->block->columns / s->block->parts; }

static const char *type_names(const NvptxFusion *f)
{
    static const char *const bytes[4] = { "k32.s32.u8.u8", "k32.s32.s8.u8", "k32.s32.u8.s8",
                                          "k32.s32.s8.s8" };
    static const char *const small[4] = { "k32.f32.e4m3.e4m3", "k32.f32.e5m2.e5m2",
                                          "k32.f16.e4m3.e4m3", "k32.f16.e5m2.e5m2" };
    if (f->factor->bits == 8 && f->factor->kind == SPV_FLOAT)
        return small[(f->factor->format == SPV_E5M2) + 2 * (f->sum->bits == 16)];
    if (f->factor->bits == 8)
        return bytes[f->a_signed + 2 * f->b_signed];
    if (f->factor->format == SPV_BF16)
        return "k16.f32.bf16.bf16";
    return f->sum->bits == 16 ? "k16.f16.f16.f16" : "k16.f32.f16.f16";
}

/* Four wgmmas, each of 32 bytes of k. The sums are operands that are results as well. */
static void product_text(const Stager *s, char *text, size_t size, char *constraints)
{
    uint32_t n = s->n_registers;
    char *end = text + size, *c = constraints;
    text += snprintf(text, size, "{ .reg .pred p; setp.ne.b32 p, 1, 0; ");
    for (uint32_t k = 0; k < 4; k++) {
        text += snprintf(text, (size_t)(end - text), "wgmma.mma_async.sync.aligned.m64n%u%s {",
                         width_of(s), type_names(s->f));
        for (uint32_t r = 0; r < n; r++)
            text += snprintf(text, (size_t)(end - text), "%s$%u", r ? ", " : "", r);
        text += snprintf(text, (size_t)(end - text), "}, $%u, $%u, p", 2 * n + k, 2 * n + 4 + k);
        if (s->f->factor->kind == SPV_FLOAT) /* neither negated */
            text += snprintf(text, (size_t)(end - text), ", 1, 1");
        if (s->f->factor->bits == 16) /* how the lines lie */
            text += snprintf(text, (size_t)(end - text), ", %d, %d", !is_panel_along_k(s, &s->a),
                             !is_panel_along_k(s, &s->b));
        text += snprintf(text, (size_t)(end - text), "; ");
    }
    snprintf(text, (size_t)(end - text), "}");
    for (uint32_t r = 0; r < n; r++)
        c += sprintf(c, "=%c,", s->reg == s->e->f32 ? 'f' : 'r');
    for (uint32_t r = 0; r < n; r++)
        c += sprintf(c, "%u,", r);
    sprintf(c, "l,l,l,l,l,l,l,l");
}

/* So many rows of A, which lie there, by B. */
static void multiply_rows(const Stager *s, LV a, LV b, LV *sum)
{
    enum { TEXT = 4096, CONSTRAINTS = 1024 };
    Emit *e = s->e;
    char *text = arena_alloc(e->arena, TEXT), *constraints = arena_alloc(e->arena, CONSTRAINTS);
    LV args[MOST_REGISTERS + 8];
    LT types[MOST_REGISTERS];
    uint32_t n = s->n_registers;
    for (uint32_t k = 0; k < n; k++) {
        args[k] = sum[k];
        types[k] = s->reg;
    }
    for (uint32_t k = 0; k < 4; k++) { /* 32 bytes along a line, or 16 lines */
        args[n + k] = add(s, a, u64(s, k * (is_panel_along_k(s, &s->a) ? 2 : 128)));
        args[n + 4 + k] = add(s, b, u64(s, k * (is_panel_along_k(s, &s->b) ? 2 : 128)));
    }
    product_text(s, text, TEXT, constraints);
    LV r = call_asm(s, text, constraints, LLVMStructTypeInContext(e->cx, types, n, 0), args, n + 8);
    for (uint32_t k = 0; k < n; k++)
        sum[k] = LLVMBuildExtractValue(e->b, r, k, "");
}

static void multiply_stage(const Stager *s, LV slot, LV *sum)
{
    LV at = add(s, s->shared, mul(s, slot, u32(s, STAGE_BYTES)));
    LV own = mul(s, s->row_part, u32(s, ROWS_AT_ONCE * LINE));
    LV columns = add(s, mul(s, s->column_part, u32(s, width_of(s) * LINE)), u32(s, A_BYTES));
    LV b = descriptor(s, &s->b, add(s, at, columns));
    call(s, "llvm.nvvm.wgmma.fence.sync.aligned", NULL, 0);
    for (uint32_t k = 0; k < s->block->products; k++) {
        LV a = descriptor(s, &s->a, add(s, add(s, at, own), u32(s, k * ROWS_AT_ONCE * LINE)));
        multiply_rows(s, a, b, sum + k * s->n_registers);
    }
    call(s, "llvm.nvvm.wgmma.commit_group.sync.aligned", NULL, 0);
}

static void wait_for_products(const Stager *s, uint64_t but)
{
    LV n = u64(s, but);
    call(s, "llvm.nvvm.wgmma.wait_group.sync.aligned", &n, 1);
}

static void wait_for_copies(const Stager *s)
{
    LV n = u32(s, s->stages - 2);
    call(s, "llvm.nvvm.cp.async.wait.group", &n, 1);
    call_asm(s, "fence.proxy.async.shared::cta;", "~{memory}", s->e->void_, NULL, 0);
    threads_barrier(s->e);
}

/* ---- the loop -------------------------------------------------------------------------------- */

typedef struct Turn {
    LV number, slot, moved_a, moved_b;   /* of the copies that it starts: how far in A and B */
    LV kept[MOST_REGISTERS + MOST_HELD]; /* sums, and what is held of the stage behind this one */
} Turn;

static uint32_t n_sums(const Stager *s) { return s->block->products * s->n_registers; }

static LV is_less(const Stager *s, LV x, LV y)
{
    return LLVMBuildICmp(s->e->b, LLVMIntULT, x, y, "");
}

static LV wrapped(const Stager *s, LV slot)
{
    LV over = LLVMBuildSub(s->e->b, slot, u32(s, s->stages), "");
    return LLVMBuildSelect(s->e->b, is_less(s, slot, u32(s, s->stages)), slot, over, "");
}

static void start_copies(const Stager *s, LV stages, Turn *t)
{
    t->moved_a = t->moved_b = u64(s, 0);
    for (uint32_t k = 0; k + 1 < s->stages; k++) {
        EmitIf f = if_begin(s->e, is_less(s, u32(s, k), stages));
        copy_stage(s, u32(s, k), t->moved_a, t->moved_b);
        if_end(s->e, &f);
        copies_end(s);
        t->moved_a = add(s, t->moved_a, s->a.step);
        t->moved_b = add(s, t->moved_b, s->b.step);
    }
}

/* The next stage's bytes are put while this one is multiplied, then those of the one behind it
 * loaded; where there is none, others that are there. */
static void turn_panels(const Stager *s, LV stages, Turn *t)
{
    LV *held = t->kept + n_sums(s), moved[2] = { t->moved_a, t->moved_b };
    if (!n_held(s, &s->a) && !n_held(s, &s->b))
        return;
    put_stage(s, wrapped(s, add(s, t->slot, u32(s, 1))), held);
    LV there = is_less(s, add(s, t->number, u32(s, 2)), stages);
    for (uint32_t o = 0; o < 2; o++) {
        LV back = mul(s, (o ? &s->b : &s->a)->step, u64(s, s->stages - 3));
        moved[o] = LLVMBuildSelect(s->e->b, there, LLVMBuildSub(s->e->b, moved[o], back, ""),
                                   u64(s, 0), "");
    }
    hold_stage(s, moved[0], moved[1], held);
}

/* The first stage of turned panels is put, the second held. */
static void start_turning(const Stager *s, LV stages, Turn *t)
{
    LV *held = t->kept + n_sums(s), there = is_less(s, u32(s, 1), stages);
    hold_stage(s, u64(s, 0), u64(s, 0), held);
    put_stage(s, u32(s, 0), held);
    hold_stage(s, LLVMBuildSelect(s->e->b, there, s->a.step, u64(s, 0), ""),
               LLVMBuildSelect(s->e->b, there, s->b.step, u64(s, 0), ""), held);
}

/* One stage is multiplied while the ones behind it are copied; the slot of the one before, whose
 * products are finished, takes the next. */
static void emit_turn(const Stager *s, LV stages, Turn *t)
{
    wait_for_copies(s);
    multiply_stage(s, t->slot, t->kept);
    turn_panels(s, stages, t);
    wait_for_products(s, 1);
    threads_barrier(s->e);
    LV ahead = add(s, t->number, u32(s, s->stages - 1));
    EmitIf f = if_begin(s->e, is_less(s, ahead, stages));
    copy_stage(s, wrapped(s, add(s, t->slot, u32(s, s->stages - 1))), t->moved_a, t->moved_b);
    if_end(s->e, &f);
    copies_end(s);
    t->number = add(s, t->number, u32(s, 1));
    t->slot = wrapped(s, add(s, t->slot, u32(s, 1)));
    t->moved_a = add(s, t->moved_a, s->a.step);
    t->moved_b = add(s, t->moved_b, s->b.step);
}

static void emit_turns(const Stager *s, Turn *t)
{
    Emit *e = s->e;
    LV stages = emit_cast_index(e, emit_leaf(e, s->f->stages, 0), e->i32);
    t->number = t->slot = u32(s, 0);
    start_copies(s, stages, t);
    start_turning(s, stages, t);
    for (uint32_t k = 0; k < n_sums(s); k++)
        t->kept[k] = LLVMConstNull(s->reg);
    LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(e->b) }, top = emit_new_block(e, "stage");
    LLVMBuildBr(e->b, top);
    LLVMPositionBuilderAtEnd(e->b, top);
    Turn first = *t, next;
    LV *in = (LV *)t, *was = (LV *)&first, *becomes = (LV *)&next;
    uint32_t n = 4 + n_sums(s) + n_held(s, &s->a) + n_held(s, &s->b);
    for (uint32_t k = 0; k < n; k++)
        in[k] = LLVMBuildPhi(e->b, LLVMTypeOf(was[k]), "");
    next = *t;
    emit_turn(s, stages, &next);
    from[1] = LLVMGetInsertBlock(e->b);
    for (uint32_t k = 0; k < n; k++) {
        LV values[2] = { was[k], becomes[k] };
        LLVMAddIncoming(in[k], values, from, 2);
    }
    LLVMBasicBlockRef done = emit_new_block(e, "staged");
    LLVMBuildCondBr(e->b, is_less(s, next.number, stages), top, done);
    LLVMPositionBuilderAtEnd(e->b, done);
    *t = next;
    wait_for_products(s, 0);
}

/* ---- sums to their subgroups ----------------------------------------------------------------- */

/* Bytes of a row of sums, and some to spread rows over the banks. */
static uint32_t pitch_of(const Stager *s)
{
    return (s->block->columns + NVPTX_HELD) * s->f->sum->bits / 8;
}

/* Thread 4g + t of warp w of a warpgroup has of 64 rows 16w + g and 8 more, columns 2t and 2t + 1
 * of each 8. */
static void put_rows(const Stager *s, const LV *sum, LV at, uint32_t first)
{
    uint32_t size = s->f->sum->bits / 8, pitch = pitch_of(s);
    for (uint32_t n = 0; n < width_of(s) / 8; n++)
        for (uint32_t h = 0; h < 2; h++) {
            LV to = shared_at(s, at, 8 * n * size + (first + 8 * h) * pitch);
            if (size == 2) {
                ir_store(s->e->b, sum[2 * n + h], to, 4);
                continue;
            }
            LV pair = LLVMGetUndef(LLVMVectorType(s->reg, 2));
            for (uint32_t k = 0; k < 2; k++)
                pair = LLVMBuildInsertElement(s->e->b, pair, sum[4 * n + 2 * h + k], u32(s, k), "");
            ir_store(s->e->b, pair, to, 8);
        }
}

static void put_sums(const Stager *s, const Turn *t)
{
    uint32_t size = s->f->sum->bits / 8;
    LV lane = low(s, s->tid, 31);
    LV row =
        add(s, mul(s, s->row_part, u32(s, ROWS_AT_ONCE)), mul(s, low(s, s->warp, 3), u32(s, 16)));
    LV column =
        add(s, mul(s, s->column_part, u32(s, width_of(s))), mul(s, low(s, lane, 3), u32(s, 2)));
    row = add(s, row, shifted(s, lane, 2));
    LV at = add(s, mul(s, row, u32(s, pitch_of(s))), mul(s, column, u32(s, size)));
    for (uint32_t k = 0; k < s->block->products; k++)
        put_rows(s, t->kept + k * s->n_registers, at, k * ROWS_AT_ONCE);
}

/* As matrix.c deals elements: of 16 x 16 thread 4g + t has rows 4 (g / 2) + g % 2 and 2 more,
 * columns 4t to 4t + 3; of 8 x 8 row g, columns 2t and 2t + 1. */
static void take_sums(const Stager *s, LV (*leaf)[NVPTX_HELD])
{
    const NvptxFusion *f = s->f;
    uint32_t size = f->sum->bits / 8, pitch = pitch_of(s), rows = f->tile / 8,
             each = f->held / rows;
    LT element = emit_scalar_type(s->e, f->sum), part = LLVMVectorType(element, each);
    LV lane = low(s, s->tid, 31), g = shifted(s, lane, 2), row = g;
    if (rows == 2)
        row = add(s, LLVMBuildShl(s->e->b, shifted(s, g, 1), u32(s, 2), ""), low(s, g, 1));
    row = add(s, row, mul(s, s->row, u32(s, f->tile * f->a.lines)));
    LV column = add(s, mul(s, low(s, lane, 3), u32(s, each)),
                    mul(s, s->column, u32(s, f->tile * f->b.lines)));
    LV at = add(s, mul(s, row, u32(s, pitch)), mul(s, column, u32(s, size)));
    for (uint32_t i = 0; i < f->a.lines; i++)
        for (uint32_t j = 0; j < f->b.lines; j++)
            for (uint32_t h = 0; h < rows; h++) {
                uint32_t from = (f->tile * i + 2 * h) * pitch + f->tile * j * size;
                LV v = ir_load(s->e->b, part, shared_at(s, at, from), each * size);
                for (uint32_t k = 0; k < each; k++)
                    leaf[f->b.lines * i + j][each * h + k] =
                        LLVMBuildExtractElement(s->e->b, v, u32(s, k), "");
            }
}

/* ---------------------------------------------------------------------------------------------- */

/* Where the subgroup's part of the block is: subgroups of a workgroup follow one another. */
static void place_subgroup(Stager *s)
{
    Emit *e = s->e;
    uint32_t subgroups = s->f->down * s->f->across;
    LV workgroup = LLVMBuildUDiv(e->b, s->warp, u32(s, subgroups), ""),
       subgroup = LLVMBuildURem(e->b, s->warp, u32(s, subgroups), ""),
       across = u32(s, s->f->across);
    LV columns = fused_workgroups(e)
                     ? threads_env(e, e->b, e->i32, offsetof(NvptxEnv, fused_columns))
                     : u32(s, 1);
    s->row = mul(s, LLVMBuildUDiv(e->b, workgroup, columns, ""), u32(s, s->f->down));
    s->row = add(s, s->row, LLVMBuildUDiv(e->b, subgroup, across, ""));
    s->column = mul(s, LLVMBuildURem(e->b, workgroup, columns, ""), across);
    s->column = add(s, s->column, LLVMBuildURem(e->b, subgroup, across, ""));
    s->columns = mul(s, columns, across);
}

/* With a hint for wait queues as many stages are copied ahead of the one that is multiplied, else
 * all that there is memory for. The bytes of a turned panel are put into the stage behind this one,
 * while products may still read the one before. */
static uint32_t choose_stages(const Stager *s)
{
    uint32_t least = is_turned(s, &s->a) || is_turned(s, &s->b) ? 3 : 2, queues = s->f->queues;
    return queues ? MIN(MAX(queues + 1, least), MOST_STAGES) : MOST_STAGES;
}

static void open_stager(Stager *s, Emit *e)
{
    const NvptxFusion *f = threads_of(e)->fusion;
    *s = (Stager){ .e = e, .f = f };
    s->a = (Panel){ .o = &f->a, .n = f->a.lines * f->chain, .table = TABLE };
    s->b = (Panel){ .o = &f->b, .n = f->b.lines * f->chain, .table = B_TABLE, .at = A_BYTES };
    s->stages = choose_stages(s);
    s->tid = threads_register(e, "tid.x");
    s->warp = shifted(s, s->tid, 5);
    place_subgroup(s);
    LV memory = e->target->given(e, e->b, EMIT_GIVEN_SHARED);
    memory =
        LLVMBuildAddrSpaceCast(e->b, memory, LLVMPointerTypeInContext(e->cx, SPACE_SHARED), "");
    s->shared = LLVMBuildPtrToInt(e->b, memory, e->i32, "");
    LV line = shifted(s, s->tid, 3), eighth = low(s, s->tid, 7);
    LV place = LLVMBuildXor(e->b, eighth, low(s, line, 7), "");
    s->mine = add(s, s->shared, add(s, mul(s, line, u32(s, LINE)), mul(s, place, u32(s, 16))));
    s->reg = f->sum->bits == 32 && f->sum->kind == SPV_FLOAT ? e->f32 : e->i32;
    e->shared_bytes = SHARED_BYTES;
}

/* All that is done in blocks of that kind, from here to the branch to `joined`. */
static void emit_block(Stager *s, const Block *block, LV (*staged)[NVPTX_HELD],
                       LLVMBasicBlockRef joined)
{
    Turn *t = NEW(s->e->arena, Turn);
    LV group = shifted(s, s->tid, 7);
    s->block = block;
    s->row_part = LLVMBuildUDiv(s->e->b, group, u32(s, block->parts), "");
    s->column_part = LLVMBuildURem(s->e->b, group, u32(s, block->parts), "");
    s->a.lines = NVPTX_BLOCK_ROWS;
    s->b.lines = block->columns;
    s->n_registers = width_of(s) * s->f->sum->bits / 64;
    find_chunks(s, &s->a);
    find_chunks(s, &s->b);
    emit_turns(s, t);
    threads_barrier(s->e);
    put_sums(s, t);
    threads_barrier(s->e);
    take_sums(s, staged);
    LLVMBuildBr(s->e->b, joined);
}

/* A warpgroup has 64 rows, or all where there is one. */
static Block block_of(const Stager *s, uint32_t way)
{
    uint32_t rows = NVPTX_BLOCK_ROWS / (s->f->tile * s->f->a.lines);
    uint32_t warps = rows * fusion_columns(s->f) / way, groups = warps / 4;
    return (Block){ .warps = warps,
                    .columns = NVPTX_BLOCK_COLUMNS / way,
                    .products = groups == 1 ? 2 : 1,
                    .parts = groups == 1 ? 1 : groups / 2 };
}

/* In all iterations that are staged. */
static LV guards_hold(const Stager *s)
{
    LV r = LLVMConstInt(s->e->i1, 1, 0);
    for (uint32_t k = 0; k < s->f->n_guards; k++)
        for (uint32_t at = 0; at < 3; at++)
            r = both(s, r, emit_leaf(s->e, s->f->guards[at][k], 0));
    return r;
}

static LV sum_of(const Stager *s, LV before, LV sum)
{
    if (LLVMIsNull(before))
        return sum;
    return s->f->sum->kind == SPV_FLOAT ? LLVMBuildFAdd(s->e->b, before, sum, "")
                                        : add(s, before, sum);
}

enum { WAYS = 3 /* not at all, by blocks of the whole size, by half of it */ };

/* What the loop begins with: what it began with, or what is left behind the stages, by n - 1 kinds
 * of blocks. */
static void join(const Stager *s, NvptxFusion *f, uint32_t n, LLVMBasicBlockRef from[WAYS],
                 LV (*staged[WAYS])[NVPTX_HELD])
{
    Emit *e = s->e;
    const SpvBlock *before = e->cfg->blocks[f->before].block;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
    LV counts[WAYS] = { emit_leaf(e, f->start, 0), emit_leaf(e, f->end, 0),
                        emit_leaf(e, f->end, 0) };
    for (uint32_t k = 0; k < f->a.lines * f->b.lines; k++)
        for (uint32_t j = 0; j < f->held; j++) {
            LV was = emit_leaf(e, loop_incoming(f->sums[k], before->id), j), values[WAYS] = { was };
            for (uint32_t way = 1; way < n; way++) {
                LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(from[way]));
                values[way] = sum_of(s, was, staged[way][k][j]);
            }
            LLVMPositionBuilderAtEnd(e->b, here);
            f->leaf[k][j] = LLVMBuildPhi(e->b, LLVMTypeOf(was), "");
            LLVMAddIncoming(f->leaf[k][j], values, from, n);
        }
    f->count = LLVMBuildPhi(e->b, LLVMTypeOf(counts[0]), "");
    LLVMAddIncoming(f->count, counts, from, n);
}

/* From a block each to `joined`; `ways` are block_of's. Returns where they begin. */
static LLVMBasicBlockRef emit_way(Stager *s, uint32_t way, LLVMBasicBlockRef joined,
                                  LLVMBasicBlockRef *from, LV (**staged)[NVPTX_HELD])
{
    LLVMBasicBlockRef begin = emit_new_block(s->e, way == 1 ? "large" : "small");
    *staged = arena_alloc(s->e->arena, 64 * sizeof **staged);
    LLVMPositionBuilderAtEnd(s->e->b, begin);
    Block block = block_of(s, way);
    emit_block(s, &block, *staged, joined);
    *from = LLVMGetInsertBlock(s->e->b);
    return begin;
}

/* Whether blocks may have all columns (1), or half of them (2). */
static bool has_way(const NvptxFusion *f, uint32_t way)
{
    return f->columns > 1 || way * f->columns * f->across == fusion_columns(f);
}

void fusion_emit(Emit *e)
{
    Stager *s = NEW(e->arena, Stager);
    const NvptxFusion *f = threads_of(e)->fusion;
    LV(*staged[WAYS])[NVPTX_HELD] = { NULL };
    open_stager(s, e);
    LV fine = both(s, open_panel(s, &s->a), open_panel(s, &s->b));
    fine = agreed(s, both(s, both(s, fine, guards_hold(s)), has_stages(s)));
    LLVMBasicBlockRef from[WAYS] = { LLVMGetInsertBlock(e->b) },
                      joined = emit_new_block(e, "joined"), fused = emit_new_block(e, "fused");
    LLVMBuildCondBr(e->b, fine, fused, joined);
    uint32_t n = 1;
    LLVMBasicBlockRef begins[2] = { NULL, NULL };
    for (uint32_t way = 1; way <= 2; way++)
        if (has_way(f, way)) {
            begins[n - 1] = emit_way(s, way, joined, &from[n], &staged[n]);
            n++;
        }
    LLVMPositionBuilderAtEnd(e->b, fused);
    if (begins[1])
        LLVMBuildCondBr(e->b, equal(s, s->columns, u32(s, fusion_columns(f))), begins[0],
                        begins[1]);
    else
        LLVMBuildBr(e->b, begins[0]);
    LLVMPositionBuilderAtEnd(e->b, joined);
    join(s, threads_of(e)->fusion, n, from, staged);
    if (!fused_workgroups(e))
        return;
    LLVMBasicBlockRef enter = emit_new_block(e, "enter");
    LLVMBuildCondBr(e->b, threads_exists(e), enter, threads_of(e)->exit);
    LLVMPositionBuilderAtEnd(e->b, enter);
}

LV fusion_incoming(const Emit *e, const SpvInst *phi, uint32_t leaf, uint32_t from, uint32_t at)
{
    const NvptxFusion *f = threads_of(e)->fusion;
    if (!f || from != f->before || at != f->header)
        return NULL;
    if (phi == f->counter)
        return f->count;
    for (uint32_t k = 0; k < f->a.lines * f->b.lines; k++)
        if (f->sums[k] == phi)
            return f->leaf[k][leaf];
    return NULL;
}
