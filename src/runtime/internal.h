/* SPDX-License-Identifier: MIT
 *
 * What the runtime's files tell each other.
 */
#ifndef HEDDLE_RUNTIME_INTERNAL_H
#define HEDDLE_RUNTIME_INTERNAL_H

#include "check/check.h"
#include "front/mlir/mlir.h"
#include "pass/pass.h"
#include "runtime/runtime.h"

/* ---- types.c --------------------------------------------------------------------------------- */

HeddleType type_of_spv(const SpvType *t);   /* of a scalar; NO_TYPE for anything else */

/* ---- number.c: elements of arrays ------------------------------------------------------------ */

double number_load(HeddleType type, const void *p);
void number_store(HeddleType type, void *p, double value);

/* ---- npy.c ----------------------------------------------------------------------------------- */

/* Parsed and bounds-checked; the elements are at data + header_size, as they lie in the file. */
typedef struct NpyHeader {
    HeddleType type;
    bool big_endian, fortran_order;
    uint32_t rank;
    uint64_t shape[HEDDLE_MAX_RANK];
    uint64_t count, size;           /* elements, their bytes: header_size + size <= file size */
    size_t header_size;
} NpyHeader;
bool npy_parse(const void *bytes, size_t size, const char *name, NpyHeader *out, DiagSink *sink);
/* A version 1 or 2 header for a row-major array into out, which has room for NPY_HEADER_MAX
 * bytes. */
enum { NPY_HEADER_MAX = 512 };
size_t npy_header(const HeddleArray *a, char *out);

/* ---- reflect.c ------------------------------------------------------------------------------- */

/* What entry point `e` of `m` needs, as `m` now is. Everything it points to lives in `arena`. */
HeddleKernelInfo *reflect(Arena *arena, SpvModule *m, const SpvEntryPoint *e);
/* Compute entry points of the module, in order. */
uint32_t reflect_entry_points(Arena *arena, SpvModule *m, SpvEntryPoint **out);

/* ---- module.c -------------------------------------------------------------------------------- */

/* The subgroup size that a kernel of an MLIR module was compiled for; 0 where any will do. */
uint32_t module_subgroup_size(const HeddleModule *m, const char *entry);
/* For passes whose result is written; NULL after reporting an error. */
SpvModule *module_copy(Arena *arena, const HeddleModule *m, DiagSink *sink);

/* ---- devices.c ------------------------------------------------------------------------------- */

/* The devices there are, by HeddleDeviceKind. */
extern const DeviceOps *const devices[HEDDLE_N_DEVICE_KINDS];

/* ---- the objects ----------------------------------------------------------------------------- */

struct HeddleModule {               /* immutable once made: shared by threads */
    Arena arena;
    const SpvModule *spv;
    uint32_t *words;
    size_t size;
    bool unchecked;                 /* as its options said */
    uint32_t n_entries;
    HeddleKernelInfo **entries;
    uint32_t n_loops;
    HeddleLoopInfo *loops;          /* what heddle_module_pipeline did */
    uint32_t n_lowerings;
    HeddleLowering *lowerings;      /* what heddle_module_lower did */
    MlirResult mlir;                /* what the front end said, of an MLIR module */
};

#endif
