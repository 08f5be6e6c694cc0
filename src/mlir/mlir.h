/* SPDX-License-Identifier: MIT
 *
 * mlir: the program heddle-mlir, which compiles MLIR modules to SPIR-V with MLIR's own passes. It
 * is a separate program rather than part of libheddle, so that MLIR is needed only for MLIR kernels
 * and a crash inside MLIR ends only this process. src/front/mlir runs it and reads what it writes
 * on standard output (messages.c). Types of the program's own begin with Hm, those of MLIR's C API
 * with Mlir.
 */
#ifndef HEDDLE_MLIR_TOOL_H
#define HEDDLE_MLIR_TOOL_H

#include <mlir-c/IR.h>

#include "base/base.h"

/* What gpu.subgroup_mma_rotate becomes. */
typedef enum HmRotation {
    ROTATION_GPU,   /* the gpu dialect's operations on what an invocation holds */
    ROTATION_SPIRV, /* SPIR-V's own */
} HmRotation;

typedef enum HmForm {
    FORM_SPIRV,   /* binary */
    FORM_MLIR,    /* the module after heddle's rewrites, before MLIR's conversions */
    FORM_LOWERED, /* the spirv.module */
} HmForm;

/* The effect on positions of an insertion into the source's text, or of a removal. */
typedef struct HmShift {
    uint32_t line, column; /* in the text that MLIR reads, from 1 */
    int32_t by;            /* what to add to columns from there on for the source's */
} HmShift;

/* The position of an instruction. */
typedef struct HmLine {
    DiagLoc at;
    bool alone; /* the instruction stands for one without a result: drop it */
} HmLine;

typedef VEC(MlirOperation) HmOpList;

typedef struct HmJob {
    Arena *arena;
    DiagSink *sink;
    const char *name; /* the source's */
    HmForm form;
    HmRotation rotation;
    bool rotate_loads;
    uint32_t subgroup_size; /* where the module names none */
    uint32_t local_size[3]; /* likewise, of a workgroup; 0: that of a subgroup */
    VEC(HmShift) shifts;    /* in order */
    VEC(HmLine) lines;      /* by the number that an operation was given */
    MlirContext context;
    MlirOperation module;
    /* While passes run whose errors are not reported as they come: the first one. */
    bool hold;
    MlirLocation held_at;
    const char *held;
    Str output;
} HmJob;

/* ---- messages.c ------------------------------------------------------------------------------ */

/* A DiagSink's report: one line on standard output, its fields separated by \037:
 * severity, line, column, file, message. */
void message_write(void *user, const Diag *d);
/* A line of figures, of the same form: the name, then the values. */
void message_figure(const char *name, const char *key, uint32_t a, uint32_t b);
/* MLIR's diagnostics to j->sink from here on. */
void messages_attach(HmJob *j);
/* The source's position of a location. */
DiagLoc location_of(HmJob *j, MlirLocation loc);
void complain_at(HmJob *j, MlirLocation loc, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* ---- syntax.c -------------------------------------------------------------------------------- */

/* What the RFC's operations are called inside: a dialect that MLIR does not know may have any. */
#define ROTATE  "heddle.subgroup_mma_rotate"
#define EXTRACT "heddle.subgroup_mma_extract"
#define INSERT  "heddle.subgroup_mma_insert"
#define TURN    "heddle.rotate"
/* The text with these operations in MLIR's generic form; the shifts go to the job. NULL after
 * reporting. */
const char *syntax_generic(HmJob *j, const char *text, size_t size, size_t *out_size);

/* ---- ir.c: MLIR's C API made short ----------------------------------------------------------- */

static inline MlirStringRef ref(const char *s) { return mlirStringRefCreateFromCString(s); }
/* Text that MLIR prints: text_add is its callback. */
typedef struct HmText {
    Arena *arena;
    Str str;
} HmText;
void text_add(MlirStringRef s, void *text);
const char *type_text(HmJob *j, MlirType t);
const char *attr_text(HmJob *j, MlirAttribute a); /* "" of none */
MlirAttribute attr_parse(HmJob *j, const char *fmt, ...) PRINTF_LIKE(2, 3);
MlirType type_parse(HmJob *j, const char *fmt, ...) PRINTF_LIKE(2, 3);
MlirAttribute attr_of(MlirOperation op, const char *name);
bool is_op(MlirOperation op, const char *name);
const char *op_name(HmJob *j, MlirOperation op);
/* All operations of that name (NULL: all) in `root`, outer before inner. */
HmOpList ops_named(HmJob *j, MlirOperation root, const char *name);
/* The operation that makes `v`; a null one where `v` is an argument. */
MlirOperation definition(MlirValue v);
/* The value of an integer constant of the arith or spirv dialect. */
bool constant_int(MlirValue v, int64_t *out);
/* The closest operation around `op` with that attribute, and the attribute; null if none. */
MlirAttribute attr_around(MlirOperation op, const char *name);
/* The subgroup's size where `op` stands: its entry point's; in a function that these call the one
 * that all of them have, or 0; else the job's. */
uint32_t subgroup_around(HmJob *j, MlirOperation op);

/* The workgroup's invocations where `op` stands, by its entry point's interface; 0 if that names no
 * size, or one that no kernel can have. */
uint32_t workgroup_around(HmJob *j, MlirOperation op);

typedef struct HmBuild {
    HmJob *job;
    MlirOperation before; /* what is built goes there */
    MlirLocation loc;
} HmBuild;
typedef struct HmNewOp {
    const char *name;
    const MlirType *results;
    uint32_t n_results;
    const char *attributes; /* a dictionary's text, or NULL */
    const MlirValue *operands;
    uint32_t n;
} HmNewOp;
/* Its first result, or a null value. */
MlirValue build_op(HmBuild *b, const HmNewOp *o);
MlirValue build_n(HmBuild *b, const char *name, MlirType result, const char *attributes, uint32_t n,
                  const MlirValue *operands);
#define build(b, name, result, attributes, ...)                                                    \
    build_n(b, name, result, attributes, COUNT_OF(((MlirValue[]){ __VA_ARGS__ })),                 \
            (MlirValue[]){ __VA_ARGS__ })
/* An arbitrary value of that type: zeros. Null: the type has none. */
MlirValue any_value(HmBuild *b, MlirType type);
void erase(MlirOperation op);
/* Runs a pipeline; false when it fails, which was reported (or held). */
bool run_passes(HmJob *j, MlirOperation module, const char *pipeline);

/* A matrix type of the gpu or the spirv dialect. */
typedef struct HmMatrix {
    uint32_t rows, columns;
    char element[8]; /* "f16", "si8" */
    char use[16];    /* "AOp", "BOp", "COp"; of SPIR-V "MatrixA" and so on */
} HmMatrix;
bool matrix_of(HmJob *j, MlirType t, HmMatrix *out);

/* ---- rotate.c, rotate_ops.c ------------------------------------------------------------------ */

/* How a dialect says what the scalar part of a rotation consists of. */
typedef struct HmRotateOps {
    const char *constant, *select, *bit_and, *shift_right, *greater_equal, *not_equal;
    const char *greater_equal_attr, *not_equal_attr;
    /* Among `cluster` neighbours of the subgroup's `width`; known: delta's value, or -1. */
    MlirValue (*rotate)(HmBuild *b, MlirValue v, MlirValue delta, int64_t known, uint32_t width,
                        uint32_t cluster);
} HmRotateOps;
extern const HmRotateOps rotate_ops[]; /* by Rotation */

/* The rest has one form, which MLIR converts. */
MlirValue rotate_zero(HmBuild *b, MlirType matrix, const HmMatrix *m); /* null: it has none */
MlirValue rotate_extract(HmBuild *b, MlirValue matrix, MlirType element, uint32_t at);
MlirValue rotate_insert(HmBuild *b, MlirValue matrix, MlirValue element, uint32_t at);
MlirValue rotate_lane(HmBuild *b);                                            /* i32 */
MlirValue rotate_constant(const HmRotateOps *ops, HmBuild *b, int64_t value); /* i32 */

/* Checks all rotations of the module: types, offset, whole elements. */
bool rotate_verify(HmJob *j);
/* Replaces all of them by what j->rotation says, but for those that must wait for a spirv.module:
 * marked before MLIR's conversion and replaced after it. */
bool rotate_lower(HmJob *j);
void rotate_wait(HmJob *j);
void rotate_finish(HmJob *j);

/* ---- elements.c ------------------------------------------------------------------------------ */

/* How many elements an invocation holds; 0 after reporting that these are no whole number. */
uint32_t elements_held(HmJob *j, MlirOperation op, const HmMatrix *m);
/* The RFC's proposal 2: elements in and out of matrices, values between invocations. */
bool elements_lower(HmJob *j);
/* Operations that SPIR-V does not have for matrices are applied to each element. */
bool elementwise_lower(HmJob *j);

/* ---- reduce.c -------------------------------------------------------------------------------- */

/* Reductions of subgroups become ones that MLIR converts, those of workgroups become these. */
bool reduce_lower(HmJob *j);

/* ---- arguments.c ----------------------------------------------------------------------------- */

/* Reports arguments of kernels that are neither numbers nor buffers. */
bool arguments_verify(HmJob *j);
/* Why memory of that type cannot be accessed; NULL if it can. */
const char *layout_fault(MlirType memref);

/* ---- loads.c --------------------------------------------------------------------------------- */

/* Overlapping loads of matrices become disjoint ones and rotations. False after reporting. */
bool loads_rotate(HmJob *j);
uint32_t loads_count(HmJob *j);

/* ---- prepare.c ------------------------------------------------------------------------------- */

/* Brings the kernels into a form that MLIR's conversion takes. */
bool prepare_for_conversion(HmJob *j);

/* ---- lower.c --------------------------------------------------------------------------------- */

/* Keeps only what kernels need, in one gpu.module, with a target and interfaces. */
bool lower_prepare(HmJob *j);
/* To a spirv.module. */
bool lower_to_spirv(HmJob *j);
/* The binary, into j->output. */
bool lower_serialise(HmJob *j);

/* ---- lines.c --------------------------------------------------------------------------------- */

/* Numbers the operations of a spirv.module; and makes lines of what MLIR wrote of that. */
void lines_mark(HmJob *j, MlirOperation module);
void lines_write(HmJob *j);

/* ---- register.cpp ---------------------------------------------------------------------------- */

void register_dialects(MlirDialectRegistry registry);
void register_passes(void);

#endif
