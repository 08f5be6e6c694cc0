/* SPDX-License-Identifier: MIT
 *
 * What the files of check/ share: a family's table of rules and the questions that rules ask.
 */
#ifndef HEDDLE_CHECK_INTERNAL_H
#define HEDDLE_CHECK_INTERNAL_H

#include "check/check.h"

typedef struct Checker Checker;
typedef struct CheckFlow CheckFlow;
typedef struct CheckStructure CheckStructure;

/* A rule is asked about each instruction whose opcode is in `ops` (0 ends the list) or in `group`.
 */
typedef struct CheckRow {
    CheckRule rule;
    uint16_t ops[10];
    bool (*group)(uint16_t op);
    void (*check)(Checker *c, SpvInst *i);
} CheckRow;

typedef struct CheckFamily {
    const CheckRow *rows;
    uint32_t n;
} CheckFamily;
extern const CheckFamily check_core_floats, check_core_image, check_core_kernel,
    check_core_semantics, check_core_decorations, check_core_layout, check_core_widths,
    check_core_access, check_core_structure, check_core_control_flow, check_core_capabilities,
    check_core_constants, check_clspv_reflection, check_core_builtins, check_khr_untyped_pointers;
extern const CheckFamily check_core_types, check_core_values, check_core_composites,
    check_core_memory, check_core_flow, check_core_group, check_glsl, check_opencl,
    check_khr_cooperative_matrix, check_qcom_conversion, check_qcom_wait_queues,
    check_nv_cooperative_matrix2, check_nv_tensor_addressing, check_nv_decode_vector;

struct Checker {
    SpvModule *m;
    DiagSink *sink;
    Arena *arena;
    const CheckRow *row;   /* the rule being asked */
    SpvFunction *function; /* that the instruction is in, or NULL */
    /* by type: 0 not asked yet, 1 no, 2 yes */
    uint8_t *holds_matrix, *holds_tensor, *holds_sub_byte, *holds_image, *holds_bodiless;
    uint8_t *holds_columns;
    Map capabilities; /* declared, and EXTENSION_* of those known here; once asked */
    uint32_t extensions;
    CheckFlow *flow;           /* of values, when asked */
    uint8_t vulkan, matrices;  /* 0 not asked yet */
    bool has_entry;            /* with `named`: an entry point */
    Map named;                 /* what functions name, when asked */
    Map bodies;                /* functions by id, when asked */
    Map for_elements;          /* functions called for the elements of a matrix, looked into */
    uint8_t *holds_stored[3];  /* numbers of 8, of 16 bits, floats of 16 */
    Map merges;                /* blocks that headers name */
    CheckStructure *structure; /* of the last function asked about */
    Map declared;              /* types that may be declared once, by hash */
    Map reconverges;           /* functions of entry points that ask for maximal reconvergence */
    bool reconverges_known;
    Map decorated;     /* targets, members and decorations there were */
    uint8_t *laid_out; /* by type: its layout was looked at */
    Map matched;       /* pairs of types found to match logically */
    bool again;        /* after specialisation: errors only */
    bool failed;
};

/* Reports against the rule being asked: an error, or a warning about what does no harm. */
void broken(Checker *c, const SpvInst *i, const char *fmt, ...) PRINTF_LIKE(3, 4);
void doubtful(Checker *c, const SpvInst *i, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Where Vulkan's rules hold besides those of SPIR-V: in its memory model, and in all shaders. */
bool is_vulkan(Checker *c);
bool is_shader(Checker *c); /* one that Vulkan runs, no library */

/* The type of operand `n` (a value), or NULL: not there, or no value. */
const SpvType *operand_type(Checker *c, const SpvInst *i, uint32_t n);
const SpvType *result_type(Checker *c, const SpvInst *i);
SpvFunction *function_of(Checker *c, SpvId id); /* or NULL */
/* Reports and returns NULL when operand `n` is no value. */
const SpvType *want_value(Checker *c, const SpvInst *i, uint32_t n);

/* ---- trace.c: what made a value -------------------------------------------------------------- */

/* for (Trace t = trace(c, id); (i = trace_next(&t));) gives the instructions that made the value,
 * wherever it went from there: variables, parameters, phis, copies. */
typedef struct CheckTrace {
    Checker *c;
    Map seen;
    VEC(uint64_t) work;
    bool lost;   /* not all that may have made it is known */
    bool merged; /* ways through the function met: not each value need come */
} CheckTrace;
CheckTrace trace(Checker *c, SpvId id);
const SpvInst *trace_next(CheckTrace *t);
void trace_on(CheckTrace *t, SpvId id); /* from another value as well */
/* The value of a 32-bit integer, where it is always the same and specialisation does not change
 * it. */
bool trace_word(Checker *c, SpvId id, uint64_t *value);

/* The part of `t` that the indices from operand `first` on lead to (core_memory.c); NULL after
 * reporting. */
const SpvType *chain_part(Checker *c, SpvInst *i, const SpvType *t, uint32_t first);

/* ---- nv_tensor_addressing.c ------------------------------------------------------------------ */

/* Extensions that a capability may come with. */
enum {
    EXTENSION_ASKED = 1,
    EXTENSION_COOPMAT = 2,
    EXTENSION_COOPMAT2 = 4,
    EXTENSION_TENSOR = 8,
    EXTENSION_DECODE_VECTOR = 16,
    EXTENSION_MAINTENANCE1 = 32, /* SPV_EXT_cooperative_matrix_maintenance1, took some over */
    EXTENSION_CONVERSION = 64,
    EXTENSION_WAIT_QUEUES = 128
};
bool has_capability(Checker *c, uint32_t capability); /* declared, or implied by one that is */
bool has_any(Checker *c, const uint16_t *capabilities, uint32_t n); /* one of them, or n is 0 */
bool has_extension(Checker *c, const char *name);                   /* one whose name begins so */
/* Reports unless the capability is declared. */
void want_capability(Checker *c, const SpvInst *i, uint32_t capability);
/* Reports where OpCapability `i` is this one and comes without one of these extensions. */
void want_extension(Checker *c, const SpvInst *i, uint32_t capability, uint32_t any);
/* A layout's field of dimension `dim`, where it is always the same constant. */
typedef enum CheckField { LAYOUT_BLOCK_SIZE, LAYOUT_DIMENSION, LAYOUT_SPAN } CheckField;
bool layout_field(Checker *c, SpvId layout, CheckField field, uint32_t dim, uint64_t *value);
uint32_t tensor_dims(Checker *c, const SpvType *t); /* of a layout or view; 0: not known */

/* Whether a pointer is not known to be one to a variable, or to a member of a structure. */
bool may_be_in_array(Checker *c, SpvId pointer);

/* Scalar, or what a vector or cooperative matrix consists of; the type itself else. Never NULL for
 * a type that is not. */
const SpvType *component(const SpvType *t);
uint32_t components(const SpvType *t);        /* 1 for scalars, 0 for what is neither */
bool is_numeric(const SpvType *t);            /* int or float, scalar or vector */
bool of_kind(const SpvType *t, SpvKind kind); /* scalar or vector of that kind */
bool is_matrix(const SpvType *t);             /* a cooperative one */
/* As many components of as many bits and the same kind; signedness aside. For cooperative matrices
 * the same shape, scope and use. */
bool alike(const SpvType *a, const SpvType *b);
bool same_shape(const SpvType *a,
                const SpvType *b); /* the same number of components, matrices in all */
/* An accumulator and an A or B of its shape (SPV_NV_cooperative_matrix2). */
bool changes_use(const SpvType *from, const SpvType *to);
/* Whether the type, or a part of it as deep as types nest, `is` so; each is asked once (types may
 * share parts over and over). */
bool holds(Checker *c, const SpvType *t, uint8_t **asked, bool (*is)(const SpvType *t));
const char *type_name(Checker *c, const SpvType *t); /* "f32", "a vector of 4 s32" */
const char *use_name(uint32_t use);                  /* of a cooperative matrix: "A" */
/* Whether values of one may stand for the other without a conversion (types that are equal but for
 * layout decorations count as equal only where `logical`). */
bool same_type(const SpvType *a, const SpvType *b);

#endif
