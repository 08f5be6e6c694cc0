/* SPDX-License-Identifier: MIT
 *
 * mlir: MLIR modules to SPIR-V, by running heddle-mlir (src/mlir), which is built where MLIR is.
 */
#ifndef HEDDLE_FRONT_MLIR_H
#define HEDDLE_FRONT_MLIR_H

#include "front/tool.h"

typedef enum MlirForm {
    MLIR_SPIRV,     /* binary */
    MLIR_REWRITTEN, /* MLIR after heddle's rewrites, before MLIR's conversions */
    MLIR_LOWERED,   /* MLIR's spirv.module */
} MlirForm;

typedef struct MlirOptions {
    MlirForm form;
    bool rotate_loads;      /* overlapping loads of matrices become rotations */
    bool rotate_by_gpu;     /* rotations become the gpu dialect's operations, not SPIR-V's */
    uint32_t subgroup_size; /* of kernels that name none; 0 = 32 */
    uint32_t local_size[3]; /* likewise; 0 = the subgroup's */
} MlirOptions;

typedef struct MlirKernel {
    const char *name;
    uint32_t subgroup_size; /* that it was compiled for */
} MlirKernel;

typedef struct MlirResult {
    void *bytes; /* the form asked for */
    size_t size;
    VEC(MlirKernel) kernels;
    uint32_t loads_before, loads_after; /* of matrices, in the text */
} MlirResult;

/* What it returns is in `arena`. */
ToolStatus mlir_compile(Arena *arena, const ToolSource *source, const MlirOptions *options,
                        MlirResult *out, DiagSink *sink);

#endif
