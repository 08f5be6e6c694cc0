/* SPDX-License-Identifier: MIT
 *
 * comp: component types, of matrices as they lie in memory and of what conversions lead between.
 */
#ifndef HEDDLE_LLVM_COMP_H
#define HEDDLE_LLVM_COMP_H

#include "spirv/spirv.h"

#include <llvm-c/Core.h>

typedef enum IrComp {
    COMP_F16,
    COMP_BF16,
    COMP_F32,
    COMP_F64,
    COMP_E4M3,
    COMP_E5M2,
    COMP_E2M1,
    COMP_E3M2,
    COMP_E2M3,
    COMP_E8M0,
    COMP_MXINT8,
    /* unsigned next to signed */
    COMP_S8,
    COMP_U8,
    COMP_S16,
    COMP_U16,
    COMP_S32,
    COMP_U32,
    COMP_S64,
    COMP_U64,
    COMP_COUNT
} IrComp;
IrComp comp_of(const SpvType *scalar); /* of an int or float type */
uint32_t comp_bytes(IrComp c);
bool comp_is_float(IrComp c);
bool comp_is_arithmetic(IrComp c); /* others are only converted from */
bool comp_is_signed(IrComp c);
/* An integer type read as signed or unsigned, which instructions and their operand flags decide
 * rather than types; other types stay as they are. */
IrComp comp_with_sign(IrComp c, bool is_signed);
const char *comp_name(IrComp c); /* "f16" */
/* The LLVM type of a component; smaller than 16 bits: i8. */
LLVMTypeRef comp_type(LLVMContextRef cx, IrComp c);

#endif
