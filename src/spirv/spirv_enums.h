/* SPDX-License-Identifier: MIT
 *
 * The numbers of SPIR-V, out of ops.def, enumerants.def and ext_insts.def (written by
 * tools/spirv_tables.py). Names are those of the standard's C header: SpvOpIAdd,
 * SpvStorageClassWorkgroup, SpvDim2D, and for masks SpvMemoryAccessVolatileMask,
 * SpvMemoryAccessMaskNone. Instructions of the extended sets are GLSLstd450FMin, OpenCLstd_fma,
 * NonSemanticShaderDebugInfo100DebugLine.
 */
#ifndef HEDDLE_SPIRV_ENUMS_H
#define HEDDLE_SPIRV_ENUMS_H

enum { SpvMagicNumber = 0x07230203, SpvOpCodeMask = 0xffff, SpvWordCountShift = 16 };

enum SpvOp {
#define OP(name, number, type, result, operands, caps, flags) SpvOp##name = number,
#define ALIAS(other, name)                                    SpvOp##other = SpvOp##name,
#include "spirv/ops.def"
};

enum {
#define VALUE(kind, name, value, params, caps) Spv##kind##name = value,
#define VALUE_ALIAS(kind, other, name)         Spv##kind##other = Spv##kind##name,
#define MASK(kind, name, value, params, caps)  Spv##kind##name##Mask = value,
#define MASK_ALIAS(kind, other, name)          Spv##kind##other##Mask = Spv##kind##name##Mask,
#define NONE(kind, name, value, params, caps)  Spv##kind##Mask##name = value,
#define NONE_ALIAS(kind, other, name)          Spv##kind##Mask##other = Spv##kind##Mask##name,
#include "spirv/enumerants.def"
};

/* What an operand is. Kinds that are masks or enumerations are named in enumerants.def. */
enum {
    SPV_OPERAND_NONE,
#define MASK_KIND(kind)  SPV_OPERAND_##kind,
#define VALUE_KIND(kind) SPV_OPERAND_##kind,
#define PLAIN_KIND(kind) SPV_OPERAND_##kind,
#include "spirv/enumerants.def"
    SPV_N_OPERAND_KINDS
};

/* Extended instruction sets: SpvInst.ext_set. Sets unknown to the tables are SPV_SET_UNKNOWN, or
 * SPV_SET_NONSEMANTIC when their name says that they have no meaning. */
enum {
    SPV_SET_NONE,
    SPV_SET_UNKNOWN,
    SPV_SET_NONSEMANTIC,
#define SET(token, name) SPV_SET_##token,
#include "spirv/ext_insts.def"
    SPV_N_SETS
};

enum {
#define EXT(set, name, number, operands) set##name = number,
#include "spirv/ext_insts.def"
};

#endif
