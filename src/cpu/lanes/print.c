/* SPDX-License-Identifier: MIT
 *
 * printf: passes the words of all lanes, row by row, and which lanes are active, to the dispatch.
 */
#include "cpu/lanes/internal.h"
#include "llvm/ir.h"

#include <stddef.h>

void lanes_print(Emit *e, const EmitPrint *p)
{
    LT lanes = emit_lanes_type(e, e->i64);
    LV record = emit_alloca(e, LLVMArrayType2(lanes, p->n_words + 1), "print");
    for (uint32_t k = 0; k < p->n_words; k++) {
        LV at = ir_int(e->i64, k);
        LLVMBuildStore(e->b, emit_lanes(e, p->words[k]),
                       LLVMBuildGEP2(e->b, lanes, record, &at, 1, ""));
    }
    LV mask = LLVMBuildBitCast(e->b, lanes_mask(e), LLVMIntTypeInContext(e->cx, e->W), "");
    LV bits = emit_alloca(e, LLVMArrayType2(e->i64, 2), "mask");
    LLVMBuildStore(e->b, LLVMBuildZExt(e->b, mask, LLVMIntTypeInContext(e->cx, 128), ""), bits);
    LV fn = lanes_env(e, e->b, e->ptr, offsetof(CpuEnv, print));
    EmitIf listens = if_begin(e, LLVMBuildIsNotNull(e->b, fn, ""));
    LT params[5] = { e->ptr, e->i64, e->ptr, e->i32, e->ptr };
    /* the format's text is a constant of the machine code, which the dispatch reads */
    LV args[5] = { e->env, emit_uniform(e, emit_leaf(e, p->format, 0)), record,
                   ir_int(e->i32, p->n_words), bits };
    LLVMBuildCall2(e->b, LLVMFunctionType(e->void_, params, 5, 0), fn, args, 5, "");
    if_end(e, &listens);
}
