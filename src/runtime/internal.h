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

HeddleType type_of_spv(const SpvType *t); /* of a scalar; NO_TYPE for anything else */

/* ---- number.c: elements of arrays ------------------------------------------------------------ */

double number_load(HeddleType type, const void *p);
void number_store(HeddleType type, void *p, double value);

/* ---- npy.c ----------------------------------------------------------------------------------- */

/* Parsed and bounds-checked; the elements are at data + header_size, as they lie in the file. */
typedef struct RuntimeNpy {
    HeddleType type;
    bool big_endian, fortran_order;
    uint32_t rank;
    uint64_t shape[HEDDLE_MAX_RANK];
    uint64_t count, size; /* elements, their bytes: header_size + size <= file size */
    size_t header_size;
} RuntimeNpy;
bool npy_parse(const void *bytes, size_t size, const char *name, RuntimeNpy *out, DiagSink *sink);
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

/* ---- sized.c: structs of the public header that grow ----------------------------------------- */

typedef struct RuntimeSized {
    const char *name;
    size_t first, now; /* bytes in 0.2, and of what this library knows */
} RuntimeSized;
extern const RuntimeSized sized_device_options, sized_matrix_layout, sized_module_options,
    sized_pipeline_options, sized_kernel_options, sized_dispatch, sized_report, sized_comparison;
/* Copies the caller's (may be NULL) to one of this library's, with zeros for what it has not. False
 * after reporting. */
bool sized_read(const RuntimeSized *s, const void *from, void *to, HeddleLog *log);
/* Copies to the caller's (may be NULL) what it has room for. False after reporting. */
bool sized_write(const RuntimeSized *s, void *to, const void *from, HeddleLog *log);
/* Whether that will work. */
bool sized_check(const RuntimeSized *s, const void *given, HeddleLog *log);

/* ---- dispatch.c ------------------------------------------------------------------------------ */

/* A dispatch from its submission to its end. */
typedef struct RuntimeRun {
    Arena scratch;
    HeddleKernel *kernel;
    HeddleDispatch dispatch; /* the caller's; what it points to is copied to `x` or bound */
    DeviceBinding **bound;   /* by the kernel's bindings: the descriptors of each */
    uint32_t *n_bound;
    DeviceDispatch x;
    DiagSink sink;
} RuntimeRun;
/* Makes a zeroed Run ready to be carried out. run_free also after a failure. */
HeddleResult run_prepare(RuntimeRun *r, HeddleKernel *kernel, const HeddleDispatch *dispatch,
                         HeddleLog *log);
/* On this thread, to its end. */
HeddleResult run_execute(RuntimeRun *r, HeddleLog *log);
/* Tells what came of it. */
HeddleResult run_report(RuntimeRun *r, HeddleResult result, HeddleReport *report, HeddleLog *log);
void run_free(RuntimeRun *r);

/* ---- the objects ----------------------------------------------------------------------------- */

struct HeddleModule { /* immutable once made: shared by threads */
    Arena arena;
    const SpvModule *spv;
    uint32_t *words;
    size_t size;
    bool unchecked;   /* as its options said */
    bool specialises; /* has specialisation constants */
    uint32_t n_entries;
    HeddleKernelInfo **entries;
    uint32_t n_loops;
    HeddleLoopInfo *loops; /* what heddle_module_pipeline did */
    uint32_t n_lowerings;
    HeddleLowering *lowerings; /* what heddle_module_lower did */
    uint32_t lowered_for;      /* subgroups of so many invocations; 0: of any */
    MlirResult mlir;           /* what the front end said, of an MLIR module */
};

#endif
