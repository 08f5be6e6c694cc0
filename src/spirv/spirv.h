/* SPDX-License-Identifier: MIT
 *
 * spirv: a SPIR-V module in memory, heddle's only intermediate form.
 *
 * Every instruction keeps its words, so that writing a module that was only read gives back the
 * same bytes. Instructions are in doubly linked lists (module preamble, function headers, blocks),
 * and every id leads to its defining instruction. ops.def, with one row per opcode, drives the
 * reader, the writer, the assembler, the disassembler and the checks.
 */
#ifndef HEDDLE_SPIRV_H
#define HEDDLE_SPIRV_H

#include "base/base.h"
#include "spirv/spirv_enums.h" /* SpvOp*, SpvDecoration*, ...: generated beside ops.def */

typedef uint32_t SpvId; /* 0 is no id */

typedef struct SpvInst SpvInst;
typedef struct SpvBlock SpvBlock;
typedef struct SpvFunction SpvFunction;
typedef struct SpvModule SpvModule;
typedef struct SpvType SpvType;

typedef struct SpvInstList {
    SpvInst *first, *last;
} SpvInstList;

/* The call whose inlined body an instruction is from. */
typedef struct SpvCallSite SpvCallSite;
struct SpvCallSite {
    const char *function;        /* its name in the source */
    uint32_t file, line, column; /* where it was called, as in SpvInst */
    const SpvCallSite *outer;    /* the call that this one was inlined with; or NULL */
};

struct SpvInst {
    SpvInst *prev, *next; /* in its list */
    SpvInstList *list;    /* the list that it is linked in, or NULL */
    SpvBlock *block;      /* NULL outside blocks */
    uint32_t *words;      /* the whole instruction: words[0] = n_words << 16 | op */
    uint16_t op, n_words;
    uint16_t first_operand;      /* index in words of the first operand after type and result */
    uint8_t literal_words;       /* OpSwitch: words of a literal, by the selector's type; else 0 */
    uint8_t ext_set;             /* OpExtInst: SPV_SET_*, from the import it names; else 0 */
    SpvId type, id;              /* result type and result, 0 where the opcode has none */
    uint32_t index;              /* place in the module as it was read; clones keep theirs */
    uint32_t file, line, column; /* from OpLine or debug information; file: id of an OpString */
    const SpvCallSite *call;     /* NULL: it was in its function from the start */
};

/* A block's list starts with OpLabel and ends with its terminator. */
struct SpvBlock {
    SpvInstList insts;
    SpvInstList before;    /* lines between the last terminator and the label; mostly empty */
    SpvBlock *prev, *next; /* in the function, in module order */
    SpvFunction *function;
    SpvId id;       /* of the OpLabel */
    uint32_t index; /* 0..n_blocks-1 in module order; spv_number_blocks renews it */
};

struct SpvFunction {
    SpvInst *def;           /* OpFunction */
    SpvInstList before;     /* lines and non-semantic instructions before OpFunction */
    SpvInstList head;       /* OpFunction, OpFunctionParameter..., lines between */
    SpvBlock *first, *last; /* NULL: a declaration (import linkage) */
    SpvInstList before_end; /* lines between the last terminator and OpFunctionEnd */
    SpvInst *end;           /* OpFunctionEnd */
    SpvFunction *next;
    SpvModule *module;
    uint32_t n_blocks;
};

struct SpvModule {
    Arena *arena;     /* owns all of it */
    uint32_t version; /* 0x00010600 = 1.6 */
    uint32_t generator, bound, schema;
    bool swapped;   /* read from the other byte order; written back in it */
    SpvInst **defs; /* by id, bound entries: NULL for ids never defined */
    uint32_t defs_cap;
    SpvInstList globals;  /* all before the first function, in order */
    SpvInstList trailing; /* lines and non-semantic instructions after the last function */
    SpvFunction *functions, *last_function;
    SpvType **types;                    /* by id, filled by spv_type on demand */
    bool types_complete;                /* all that were declared are in `types` */
    struct SpvDecorations *decorations; /* index by target, built on demand */
    struct SpvInterned *interned;       /* types and constants by content, built on demand */
    const char *name; /* what diagnostics call the module: the file it came from */
};

/* ---- ops.c: the opcode table ----------------------------------------------------------------- */

enum { SPV_ONE, SPV_OPTIONAL, SPV_ANY };

/* How an operand is read. ANY, which only ends a list, repeats it as long as words remain. */
typedef struct SpvOperandInfo {
    uint8_t kind;     /* SPV_OPERAND_* */
    uint8_t times;    /* SPV_ONE, SPV_OPTIONAL, SPV_ANY */
    const char *name; /* "Memory Operands", or "" */
} SpvOperandInfo;

typedef struct SpvOpInfo {
    const char *name; /* "OpIAdd" */
    uint16_t op;
    bool has_type, has_result;
    uint8_t n_operands; /* after type and result */
    const SpvOperandInfo *operands;
    const uint16_t *capabilities;
    uint8_t n_capabilities; /* any one of them enables it */
    uint32_t flags;         /* SPV_OPF_* */
} SpvOpInfo;

enum {
    SPV_OPF_TERMINATOR = 1,
    SPV_OPF_TYPE = 2,     /* OpType* */
    SPV_OPF_CONSTANT = 4, /* OpSpecConstant*, OpUndef too */
    SPV_OPF_PURE = 8,     /* no memory, effect, cross-lane meaning: may be moved or removed */
    SPV_OPF_MEMORY = 16,  /* reads or writes memory */
    SPV_OPF_BARRIER = 32,
    SPV_OPF_GROUP = 64, /* subgroup operation: depends on which lanes are active */
    SPV_OPF_ATOMIC = 128,
    SPV_OPF_DEBUG = 256, /* names, lines, non-semantic */
    SPV_OPF_ANNOTATION = 512,
    SPV_OPF_MATRICES = 1024, /* works on cooperative matrices too, by component */
};

const SpvOpInfo *spv_op_info(uint16_t op);                    /* NULL if unknown */
const char *spv_op_name(uint16_t op);                         /* "Op<number>" if unknown */
const char *spv_enum_name(uint8_t enum_kind, uint32_t value); /* NULL if unknown */

/* A value of an enumeration or a bit of a mask. */
typedef struct SpvEnumerant {
    const char *name;
    uint32_t value;
    const SpvOperandInfo *params;
    uint8_t n_params; /* operands that it brings along */
    const uint16_t *capabilities;
    uint8_t n_capabilities; /* any one of them enables it */
} SpvEnumerant;

typedef struct SpvExtInst {
    const char *name; /* "FMin" */
    uint32_t number;
    const SpvOperandInfo *operands;
    uint8_t n_operands;
} SpvExtInst;

const SpvEnumerant *spv_enumerant(uint8_t kind, uint32_t value); /* NULL if unknown */
const SpvEnumerant *spv_enumerants(uint8_t kind, uint32_t *n);   /* all of a kind, by value */
bool spv_kind_is_mask(uint8_t kind);
bool spv_kind_is_id(uint8_t kind);
const char *spv_kind_name(uint8_t kind);                         /* "MemoryAccess" */
const SpvOpInfo *spv_all_ops(uint32_t *n);                       /* by number */
bool spv_op_alias(uint32_t n, const char **alias, uint16_t *op); /* n-th other name */
bool spv_enum_alias(uint32_t n, uint8_t *kind, const char **alias, uint32_t *value);
uint8_t spv_set_by_name(const char *name);                    /* SPV_SET_* */
const char *spv_set_name(uint8_t set);                        /* NULL if unknown */
const SpvExtInst *spv_ext_inst(uint8_t set, uint32_t number); /* NULL if unknown */
const SpvExtInst *spv_ext_insts(uint8_t set, uint32_t *n);
/* As SPV_OPF_PURE, and knows the extended instructions that are pure too. */
bool spv_is_pure(const SpvInst *i);
bool spv_is_chain(const SpvInst *i);       /* OpAccessChain or one of its kin; NULL is none */
bool spv_is_nonsemantic(const SpvInst *i); /* OpExtInst of such a set */

/* ---- walk.c: the operands of one instruction ------------------------------------------------- */

/* One operand after type and result. Pairs come as two operands. */
typedef struct SpvOperand {
    uint16_t word, n_words; /* where in inst->words */
    uint8_t kind;           /* SPV_OPERAND_* */
    bool is_id;
    const char *name; /* as the grammar calls it, or "" */
} SpvOperand;

typedef struct SpvWalk {
    const SpvInst *inst;
    char error[128]; /* why spv_walk_next ended early; "" at a sound end */
    const SpvOperandInfo *list, *params;
    uint32_t word, mask;
    uint8_t n_list, n_params, mask_kind, pair_kind;
} SpvWalk;

/* for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) ... */
SpvWalk spv_walk(const SpvInst *i);
bool spv_walk_next(SpvWalk *w, SpvOperand *o);

/* ---- read.c, write.c, asm.c, dis.c ----------------------------------------------------------- */

/* Reads `size` bytes. NULL after an error was reported. Accepts any byte order and versions 1.0 to
 * 1.6. What it returns is structurally sound: every instruction has the operands its opcode asks
 * for, ids are below the bound and defined once, functions and blocks are well formed and every
 * block ends in a terminator, branch targets are labels of the same function, types refer only to
 * types, constants to constants. Types of operands are check/'s business. */
SpvModule *spv_read(Arena *arena, const void *data, size_t size, const char *name, DiagSink *sink);
/* The words, in the module's byte order; *size in bytes. In `arena`. */
void *spv_write(Arena *arena, const SpvModule *m, size_t *size);
/* Text in the notation of spirv-as. Positions of its instructions are lines of the text. */
SpvModule *spv_assemble(Arena *arena, const char *text, size_t size, const char *name,
                        DiagSink *sink);
/* Text that spirv-as and spv_assemble take; friendly names when `names`. */
char *spv_disassemble(Arena *arena, const SpvModule *m, bool names);
SpvModule *spv_clone(Arena *arena, const SpvModule *m);
/* `to` becomes what `from`, which is of no use afterwards, was. */
void spv_move(SpvModule *to, const SpvModule *from);
/* Every instruction of the module in the order it is written. visit returns false to stop. */
void spv_each_inst(const SpvModule *m, bool (*visit)(void *user, SpvInst *i), void *user);

/* ---- module.c: access and change ------------------------------------------------------------- */

static inline uint32_t spv_n_operands(const SpvInst *i) { return i->n_words - i->first_operand; }
/* The n-th operand word after type and result. n < spv_n_operands. */
static inline uint32_t spv_operand(const SpvInst *i, uint32_t n)
{
    return i->words[i->first_operand + n];
}
SpvInst *spv_def(const SpvModule *m, SpvId id); /* NULL for undefined or out-of-bound ids */
/* A literal string operand. */
const char *spv_string(const SpvInst *i, uint32_t operand, uint32_t *n_words);
const char *spv_name(const SpvModule *m, SpvId id); /* OpName's, or NULL */
DiagLoc spv_loc(Arena *scratch, const SpvModule *m, const SpvInst *i);
/* Reports against an instruction (or the module when NULL). */
void spv_error(const SpvModule *m, const SpvInst *i, DiagSink *sink, const char *rule,
               const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Calls visit for each word of `i` that is an id operand (not type, result); it may rewrite it. */
void spv_each_id(SpvInst *i, void (*visit)(void *user, uint32_t *id), void *user);
/* The same for callers that prefer a loop: fills at[] with up to cap word indices and returns how
 * many there are. */
uint32_t spv_id_operands(const SpvInst *i, uint16_t *at, uint32_t cap);

SpvFunction *spv_function(const SpvModule *m, SpvId id); /* or NULL */
/* The functions that an instruction calls, itself or for the elements of a matrix: their ids. */
enum { SPV_MAX_CALLEES = 2 };
uint32_t spv_callees(const SpvModule *m, const SpvInst *i, SpvId out[SPV_MAX_CALLEES]);

/* Decorations, group decorations resolved. `member` -1: of the id itself. Returns the decorate
 * instruction's literal words after the decoration, or NULL when absent. */
const uint32_t *spv_decoration(SpvModule *m, SpvId id, int32_t member, uint32_t decoration,
                               uint32_t *n);
bool spv_has_decoration(SpvModule *m, SpvId id, int32_t member, uint32_t decoration);
bool spv_has_capability(const SpvModule *m, uint32_t capability); /* declared, not implied */

SpvId spv_new_id(SpvModule *m);
/* A new instruction, unlinked; `type` and `id` 0 where the opcode has none. Defines the id. */
SpvInst *spv_make(SpvModule *m, uint16_t op, SpvId type, SpvId id, const uint32_t *operands,
                  uint32_t n);
SpvInst *spv_clone_inst(SpvModule *m, const SpvInst *i); /* same ids, unlinked, not in defs */
void spv_insert_before(SpvInst *at, SpvInst *i);         /* at is in a block (or another list) */
void spv_insert_after(SpvInst *at, SpvInst *i);
/* A new one before `at`, with its position in the source; with an id where type is not 0. */
SpvInst *spv_put(SpvModule *m, SpvInst *at, uint16_t op, SpvId type, const uint32_t *operands,
                 uint32_t n);
void spv_append(SpvBlock *b, SpvInst *i);
/* Types and constants: end of the preamble; annotations, names...: end of their section. */
void spv_append_global(SpvModule *m, SpvInst *i);
void spv_unlink(SpvInst *i);                              /* leaves defs alone */
SpvBlock *spv_new_block(SpvFunction *f, SpvBlock *after); /* a fresh label; after NULL: last */
void spv_unlink_block(SpvBlock *b);
void spv_number_blocks(SpvFunction *f);
void spv_replace_uses(SpvModule *m, SpvId from, SpvId to); /* not in debug names, decorations */

/* ---- type.c: types and constants ------------------------------------------------------------- */

typedef enum SpvKind {
    SPV_VOID,
    SPV_BOOL,
    SPV_INT,
    SPV_FLOAT,
    SPV_VECTOR,
    SPV_MATRIX,
    SPV_ARRAY,
    SPV_RUNTIME_ARRAY,
    SPV_STRUCT,
    SPV_POINTER,
    SPV_FUNCTION,
    SPV_COOPMAT,
    SPV_TENSOR_LAYOUT,
    SPV_TENSOR_VIEW,
    SPV_IMAGE,
    SPV_SAMPLER,
    SPV_SAMPLED_IMAGE,
    SPV_EVENT,
    SPV_OPAQUE,
    SPV_OTHER
} SpvKind;

/* SPV_IEEE: no encoding, by its width; the last one: an encoding or a width that is not known. */
typedef enum SpvFloatFormat {
    SPV_IEEE,
    SPV_BF16,
    SPV_E4M3,
    SPV_E5M2,
    SPV_E2M1,
    SPV_E3M2,
    SPV_E2M3,
    SPV_E8M0,
    SPV_MXINT8,
    SPV_NO_FLOAT
} SpvFloatFormat;

/* One that an encoding names: OFP8's are of SPV_EXT_float8, those behind them of
 * SPV_EXT_ocp_microscaling_types. */
typedef struct SpvFloatInfo {
    const char *name;   /* "e4m3" */
    const char *listed; /* in disassembly: "fp8e4m3" */
    uint32_t encoding, bits;
    uint32_t exponent, fraction; /* bits of each; 0 0: no floating point of the usual build */
} SpvFloatInfo;

enum { SPV_MATRIX_MOST = 1024 }; /* rows, and columns, of a cooperative matrix; also the API's */

enum { SPV_WAIT_QUEUES_MOST = 8 }; /* maxShaderWaitQueues */

/* The N and the K that VkCooperativeMatrixPropertiesKHR lists of multiply-adds, a bit each. */
enum { SPV_LISTED_N = 8 | 16 | 32 | 64, SPV_LISTED_K = 8 | 16 | 32 };
static inline bool spv_is_listed(uint32_t size, uint32_t listed)
{
    return (size & listed) && !(size & (size - 1));
}

struct SpvType {
    SpvKind kind;
    SpvId id;
    uint32_t bits;           /* INT, FLOAT */
    bool is_signed;          /* INT: the Signedness operand */
    SpvFloatFormat format;   /* FLOAT */
    const SpvType *element;  /* VECTOR, MATRIX (a column), arrays, POINTER (pointee), COOPMAT */
    uint32_t count;          /* VECTOR, MATRIX (columns), ARRAY, STRUCT, FUNCTION (parameters) */
    bool count_known;        /* ARRAY, COOPMAT: false where a specialisation constant decides */
    const SpvType **members; /* STRUCT, FUNCTION */
    const SpvType *result;   /* FUNCTION */
    uint32_t storage;        /* POINTER: SpvStorageClass* */
    uint32_t scope, rows, cols, use; /* COOPMAT, specialised; 0 while unknown */
    /* explicit layout, where decorated; 0 / NULL else */
    uint32_t array_stride;          /* ARRAY, RUNTIME_ARRAY, POINTER */
    const uint32_t *offsets;        /* STRUCT: by member, UINT32_MAX where undecorated */
    const uint32_t *matrix_strides; /* STRUCT: by member, for (arrays of) matrices */
    const bool *row_major;          /* STRUCT: by member */
    uint64_t size;                  /* what spv_type_size says */
    uint32_t align;  /* of the largest scalar within, in bytes; 1 where there is none */
    uint64_t leaves; /* scalars, pointers, matrices within; UINT64_MAX: too many */
};

const SpvFloatInfo *spv_float_info(SpvFloatFormat f); /* NULL for SPV_IEEE, SPV_NO_FLOAT */
SpvFloatFormat spv_float_format(const uint32_t *operands, uint32_t n); /* of an OpTypeFloat */
/* A type of SPV_EXT_ocp_microscaling_types. */
bool spv_is_microscaling(const SpvType *t);
/* The type with that id, or NULL when the id is no type. Forward pointers may have a NULL element
 * until asked again. */
const SpvType *spv_type(SpvModule *m, SpvId id);
const SpvType *spv_type_of(SpvModule *m, SpvId value); /* type of a value's result */
/* Drop cached types and decorations: after a pass that changed declarations. */
void spv_forget_types(SpvModule *m);
/* Value of an integer or bool constant (spec constants: their current default; OpSpecConstantOp:
 * computed). Sign-extended when the type is signed. */
bool spv_constant(const SpvModule *m, SpvId id, uint64_t *value);
bool spv_is_constant(const SpvModule *m, SpvId id);      /* OpSpecConstant*, OpUndef too */
bool spv_is_spec_constant(const SpvModule *m, SpvId id); /* OpSpecConstant* */
/* Find or make; values in the type's own width. */
SpvId spv_int_constant(SpvModule *m, SpvId type, uint64_t value);
SpvId spv_int_type(SpvModule *m, uint32_t bits, bool is_signed);
SpvId spv_float_type(SpvModule *m, uint32_t bits); /* IEEE's */
SpvId spv_bool_type(SpvModule *m);
SpvId spv_vector_type(SpvModule *m, SpvId element, uint32_t n);
SpvId spv_composite_constant(SpvModule *m, SpvId type, const SpvId *parts, uint32_t n);
/* A number of an integer or floating-point type by its bits. */
SpvId spv_number_constant(SpvModule *m, SpvId type, uint64_t bits);
SpvId spv_pointer_type(SpvModule *m, uint32_t storage, SpvId pointee);
SpvId spv_array_type(SpvModule *m, SpvId element, SpvId length);
SpvId spv_null_constant(SpvModule *m, SpvId type);
SpvId spv_undef(SpvModule *m, SpvId type); /* at module scope */
/* Size in bytes of a type with explicit layout or scalar packing (each scalar aligned to its own
 * size; a bool is 1 byte, a pointer 8); for COOPMAT and runtime arrays 0. */
uint64_t spv_type_size(const SpvType *t);

/* ---- flow.c, dominate.c: graphs of blocks ---------------------------------------------------- */

/* Which operands of a branch or merge instruction are labels: from `from`, every `step` words, to
 * `end`. False for other instructions. */
bool spv_label_operands(const SpvInst *i, uint32_t *from, uint32_t *step, uint32_t *end);

/* Of a graph whose nodes are numbers: their predecessors, or, turned round, their successors. */
typedef struct SpvEdges {
    uint32_t *first; /* by node, in ends; one more at the end */
    uint32_t *ends;  /* nodes; parallel edges each */
} SpvEdges;
SpvEdges spv_turn_edges(Arena *a, const SpvEdges *edges, uint32_t n);

/* The dominator tree of a graph that is entered at node 0. */
typedef struct SpvDominators {
    uint32_t n;
    uint32_t *order, n_order; /* postorder of what can be reached; node 0 is last */
    uint32_t *number;         /* by node: place in `order` plus one, 0: cannot be reached */
    uint32_t *idom;           /* by node */
    uint32_t *enter, *leave;  /* by node: times of a walk over the tree */
} SpvDominators;
SpvDominators *spv_dominators(Arena *a, const SpvEdges *edges, uint32_t n);
bool spv_dominates(const SpvDominators *t, uint32_t a, uint32_t b);

/* ---- image.c: image instructions ------------------------------------------------------------- */

typedef struct SpvImageType {
    const SpvType *sampled_type;
    uint32_t dim;     /* SpvDim* */
    uint32_t n_space; /* coordinates but for the layer; 0: a Dim that kernels have not */
    bool arrayed, multisampled;
    uint32_t sampled; /* 1 with a sampler or fetched, 2 storage */
    uint32_t format;  /* SpvImageFormat* */
} SpvImageType;

typedef enum SpvImageAct {
    SPV_IMAGE_SAMPLE,
    SPV_IMAGE_FETCH, /* OpImageRead too */
    SPV_IMAGE_GATHER,
    SPV_IMAGE_WRITE,
    SPV_IMAGE_POINT, /* OpImageTexelPointer */
    SPV_IMAGE_QUERY_SIZE,
    SPV_IMAGE_QUERY_LOD,
    SPV_IMAGE_QUERY_LEVELS,
    SPV_IMAGE_QUERY_SAMPLES
} SpvImageAct;

/* Ids are 0 where the instruction has no such operand. */
typedef struct SpvImageInst {
    SpvImageAct act;
    SpvImageType type;
    bool has_sampler, projective, sign_extend, zero_extend;
    SpvId image; /* an image or a sampled image; POINT: a pointer to an image */
    SpvId coordinate, dref, component, texel;
    SpvId bias, lod, grad_x, grad_y, offset, offsets, sample, min_lod, scope;
} SpvImageInst;

bool spv_is_image_op(uint16_t op);
/* Of an image or sampled image type: the image's type, or NULL. */
const SpvType *spv_image_type(SpvModule *m, const SpvType *t, SpvImageType *out);
/* False: no such instruction, or its operands are not what it needs. */
bool spv_image_inst(SpvModule *m, const SpvInst *i, SpvImageInst *out);
/* The level of detail comes from derivatives of the coordinate. */
bool spv_image_is_implicit(const SpvImageInst *i);

/* ---- entry points ---------------------------------------------------------------------------- */

/* Which four invocations of a workgroup are a quad that derivatives are taken in
 * (SPV_KHR_compute_shader_derivatives): neighbours in x and y, or four of one index after the
 * other. Quads are four invocations of a subgroup, one after the other, in any case. */
typedef enum SpvQuads { SPV_QUADS_NONE, SPV_QUADS_SQUARE, SPV_QUADS_LINEAR } SpvQuads;
/* Whether a workgroup consists of quads (Vulkan, VUIDs 10151 and 10152), if there are any. */
bool spv_has_whole_quads(SpvQuads q, const uint32_t size[3]);

typedef struct SpvEntryPoint {
    const char *name;
    SpvFunction *function;
    uint32_t model;           /* SpvExecutionModel* */
    uint32_t local_size[3];   /* LocalSize, LocalSizeId, a WorkgroupSize constant; or 0 0 0 */
    SpvId size_ids[3];        /* the constants that it comes from, or 0 */
    bool size_is_specialised; /* specialisation constants may change it */
    uint32_t required_subgroup_size; /* OpenCL's SubgroupSize mode, or 0 */
    SpvQuads quads;
    SpvInst *inst; /* OpEntryPoint */
} SpvEntryPoint;

/* A specialisation constant's SpecId, and the value that it is to have, in its width. */
typedef struct SpvSpecValue {
    uint32_t id;
    uint64_t bits;
} SpvSpecValue;

/* The entry point called `name` (NULL: the only compute kernel, or an error that lists them). */
bool spv_entry_point(SpvModule *m, const char *name, SpvEntryPoint *out, DiagSink *sink);
const uint32_t *spv_execution_mode(SpvModule *m, SpvId function, uint32_t mode, uint32_t *n);

/* ---- kernel.c: arguments of OpenCL kernels --------------------------------------------------- */

typedef enum SpvArgumentKind {
    SPV_ARGUMENT_BUFFER, /* an address */
    SPV_ARGUMENT_LOCAL,  /* an offset into workgroup memory, as large as the caller wants */
    SPV_ARGUMENT_VALUE
} SpvArgumentKind;

typedef struct SpvArgument {
    SpvArgumentKind kind;
    SpvId id;              /* OpFunctionParameter */
    const SpvType *type;   /* of the value; of a buffer the pointer's */
    bool by_reference;     /* the parameter is a pointer to a copy of the value */
    uint64_t offset, size; /* in the block of arguments */
    uint32_t align;
} SpvArgument;

typedef struct SpvArguments {
    SpvArgument *list;
    uint32_t n;
    uint64_t size;
} SpvArguments;

/* The arguments of a kernel, in `arena`. False after reporting one that cannot be given. */
bool spv_kernel_arguments(Arena *arena, SpvModule *m, const SpvFunction *f, SpvArguments *out,
                          DiagSink *sink);
/* Size and alignment of a type in memory as OpenCL C has it; 0: it has none. */
uint64_t spv_opencl_size(SpvModule *m, const SpvType *t, uint32_t *align);
/* Where member k of a structure starts in it; of k == count where the last one ends. */
uint64_t spv_opencl_offset(SpvModule *m, const SpvType *t, uint32_t k);

#endif
