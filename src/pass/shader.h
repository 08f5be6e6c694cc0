/* SPDX-License-Identifier: MIT
 *
 * What the files of pass_shader tell each other. A kernel is rewritten in place, in the order of
 * its graph: replacements of an instruction are emitted before it, and `with` tells what replaces
 * its result.
 */
#ifndef HEDDLE_PASS_SHADER_H
#define HEDDLE_PASS_SHADER_H

#include "pass/edit.h"

/* ---- where pointers lead --------------------------------------------------------------------- */

/* What a buffer, or a variable, is accessed through. */
typedef struct ShaderView {
    SpvId variable, type;
    uint32_t bits, count;
} ShaderView;

/* What pointers point into; the first root of a kernel is null. */
typedef struct ShaderRoot {
    const SpvInst *def;      /* the parameter or variable */
    uint32_t index;          /* among the kernel's */
    uint32_t storage;        /* of what it becomes */
    uint32_t number, member; /* of the argument: binding; place among push constants */
    uint64_t size;           /* bytes; 0: the caller's choice */
    uint32_t unit;           /* bits of the smallest piece accessed */
    SpvId unit_type;
    bool written, by_atomics;
    VEC(ShaderView) views;
} ShaderRoot;

typedef struct ShaderTerm {
    SpvId index;
    uint32_t scale;
} ShaderTerm;

enum { MAX_TERMS = 8 };

typedef struct ShaderAddress {
    uint64_t *set;    /* bits: roots that it may lead into */
    uint32_t grain;   /* a power of two that divides the distance */
    ShaderRoot *root; /* the only one but for null, else NULL */
    uint32_t n_roots; /* but for null */
    bool varies;      /* one or another, or null */
    /* known when it is rewritten: */
    SpvId which;          /* where it varies, the root's index */
    uint32_t constant, n; /* the distance: constant + sum of index * scale */
    ShaderTerm terms[MAX_TERMS];
} ShaderAddress;

/* A phi of pointers, and what it becomes. */
typedef struct ShaderPointerPhi {
    SpvInst *old, *distance, *which;
    uint32_t scale;
} ShaderPointerPhi;

struct ShaderMemory {
    ShaderAddress **address; /* by id, n of them */
    uint32_t n, n_words;     /* words: of sets */
    SpvArguments arguments;
    VEC(ShaderRoot *) roots;
    ShaderAddress *null, *escaped; /* escaped: all that pointers in memory may lead into */
    VEC(ShaderPointerPhi) phis;
};

/* ---- the pass -------------------------------------------------------------------------------- */

typedef struct Shader {
    PassContext *c;
    SpvModule *m;
    Arena *a; /* lives as long as the pass */
    SpvFunction *f;
    SpvInst *entry; /* OpEntryPoint */
    Cfg *g;
    SpvInst *at;            /* what is emitted stands before it */
    SpvId *with;            /* by id, n_with of them */
    uint32_t n_with, bound; /* bound: of the module that was given */
    SpvId u32, bool_, void_, function_type, glsl, debug_printf;
    SpvId local_size[3]; /* constants */
    SpvId group_size;    /* their product, once it was asked for */
    SpvId push, work_dim;
    SpvId subgroup_size; /* of this one, where the kernel asks for it */
    Map specs, inputs;   /* constants by SpecId; variables by built-in */
    VEC(SpvId) interface;
    bool exact;           /* the kernel's ContractionOff */
    bool matrices;        /* Vulkan's memory model, which they require */
    VEC(SpvId) exact_ids; /* results to be decorated NoContraction */
    Map group_arrays;     /* by type: variables of one element an invocation */
    PassIdWords *ids;
    struct ShaderMemory *memory;
} Shader;

/* ---- shader.c: emitting ---------------------------------------------------------------------- */

SpvId shader_emit(Shader *s, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n);
/* EMIT(s, SpvOpIAdd, s->u32, a, b) */
#define EMIT(s, op, type, ...)                                                                     \
    shader_emit((s), (op), (type), (uint32_t[]){ __VA_ARGS__ },                                    \
                sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
SpvId shader_u32(Shader *s, uint32_t value);
/* An Input variable with the built-in's value, loaded. */
SpvId shader_input(Shader *s, uint32_t builtin, SpvId type);
SpvId shader_global(Shader *s, uint16_t op, SpvId type, const uint32_t *operands, uint32_t n);
void shader_decorate(Shader *s, SpvId id, uint32_t decoration, uint32_t value, uint32_t n);
SpvId shader_spec(Shader *s, uint32_t id, uint32_t value);
bool shader_refuse(Shader *s, const SpvInst *i, const char *what);
/* Not one that specialisation may change. */
bool shader_constant(const Shader *s, SpvId id, uint64_t *value);

/* What becomes of an instruction. */
typedef enum ShaderFate {
    FATE_STAYS,
    FATE_GONE, /* its result, if it has one, is replaced by *to */
    FATE_ERROR /* which was reported */
} ShaderFate;

/* ---- shader_wide.c --------------------------------------------------------------------------- */

bool shader_narrow(Shader *s);

ShaderFate shader_lower(Shader *s, SpvInst *i, SpvId *to);

/* ---- shader_flow.c --------------------------------------------------------------------------- */

bool shader_structure(Shader *s);

/* ---- shader_roots.c -------------------------------------------------------------------------- */

/* Where each pointer leads, and what accesses there are. */
bool shader_find_memory(Shader *s);
ShaderAddress *shader_address(const Shader *s, SpvId id);       /* of a pointer, else NULL */
const ShaderAddress *shader_pointed(const Shader *s, SpvId id); /* of null, too */
bool shader_may_be(const ShaderAddress *a, const ShaderRoot *r);
bool shader_in_class(const ShaderRoot *r, uint32_t storage); /* one of OpenCL's */
bool shader_accesses(const SpvInst *i, uint32_t operand);    /* memory through that pointer */
const SpvType *shader_scalar(const SpvType *t);
uint32_t shader_grain(uint64_t x); /* the largest power of two up to 16 in it */
/* Bytes that both sides of OpCopyMemorySized can be copied by. */
uint32_t shader_copy_piece(const Shader *s, const SpvInst *i, uint64_t size);

/* What the indices of a chain count, one after the other. */
typedef struct ShaderChain {
    Shader *s;
    const SpvInst *inst;
    const SpvType *type; /* that the address so far leads to */
    uint32_t next;       /* operand */
} ShaderChain;

ShaderChain shader_chain(Shader *s, const SpvInst *i);
/* The next index and its scale, or a constant number of bytes and index 0. False at the end. */
bool shader_chain_step(ShaderChain *c, SpvId *index, uint64_t *scale);

/* ---- shader_pointers.c ----------------------------------------------------------------------- */

void shader_pointers_in_memory(Shader *s); /* before all else */
ShaderFate shader_pointer(Shader *s, SpvInst *i, SpvId *to);
/* The pointer of one or another root that an instruction accesses memory through; or 0. */
SpvId shader_ambiguous(const Shader *s, const SpvInst *i);
/* The instruction once for each of these roots. */
ShaderFate shader_by_cases(Shader *s, SpvInst *i, SpvId pointer, SpvId *to);
void shader_close_pointers(Shader *s); /* phis of pointers */
/* The distance in units of so many bytes. */
SpvId shader_distance(Shader *s, const ShaderAddress *a, uint32_t extra, uint32_t unit);
void shader_add_index(Shader *s, ShaderAddress *a, SpvId index, uint32_t scale);
SpvId shader_narrow_integer(Shader *s, SpvId id); /* modulo 2^32 */
/* A pointer as two words, and the other way round. */
SpvId shader_pack(Shader *s, SpvId pointer);
void shader_unpack(Shader *s, ShaderAddress *a, SpvId words);

/* ---- shader_memory.c ------------------------------------------------------------------------- */

ShaderFate shader_memory(Shader *s, SpvInst *i, SpvId *to);
void shader_open_memory(Shader *s);  /* the arguments' values */
void shader_close_memory(Shader *s); /* buffers of several views */
bool shader_store(Shader *s, const SpvInst *i, SpvId pointer, SpvId value);
/* OpGroupAsyncCopy's element `index`, both in elements. */
bool shader_copy_element(Shader *s, const SpvInst *i, SpvId to, SpvId from);
/* A pointer for atomics and matrices to a scalar type; *pieces: how many of what it leads to make
 * one, which is 1 and the type itself where it must be exact. 0 after reporting. */
SpvId shader_access_chain(Shader *s, const SpvInst *i, SpvId pointer, const SpvType *t, bool exact,
                          uint32_t *pieces);
/* An array of one element an invocation in workgroup memory. */
SpvId shader_workgroup_array(Shader *s, SpvId element, SpvId length);

/* What a pointer to a constant string leads to; NULL: that is not known. */
const char *shader_text(Shader *s, SpvId pointer);

/* ---- shader_print.c -------------------------------------------------------------------------- */

ShaderFate shader_print(Shader *s, SpvInst *i, SpvId *to);

/* ---- shader_group.c -------------------------------------------------------------------------- */

/* Functions of whole work-groups, and their copies. */
ShaderFate shader_group(Shader *s, SpvInst *i, SpvId *to);

/* ---- shader_ops.c ---------------------------------------------------------------------------- */

ShaderFate shader_operation(Shader *s, SpvInst *i, SpvId *to);
/* A conversion to floating point, rounded in one of OpenCL's modes (SpvFPRoundingMode*). */
SpvId shader_round(Shader *s, uint16_t op, SpvId type, SpvId x, uint32_t mode);
/* A barrier of the work-group, with that memory (SpvMemorySemantics*). */
void shader_barrier(Shader *s, uint32_t memory);

/* ---- shader_math.c --------------------------------------------------------------------------- */

/* An instruction of OpenCL.std. */
ShaderFate shader_function(Shader *s, SpvInst *i, SpvId *to);
/* The value of an expression (shader_math.c) of the operands x, y, z. */
/* Of a floating-point number of 16, 32 or 64 bits. */
uint64_t shader_float_bits(double value, uint32_t bits);
SpvId shader_evaluate(Shader *s, const char *expression, SpvId type, const SpvId *operands);

/* ---- shader_needs.c -------------------------------------------------------------------------- */

bool shader_capabilities(Shader *s);

#endif
