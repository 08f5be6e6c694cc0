/* SPDX-License-Identifier: MIT
 *
 * What the files of pass_shader tell each other. A kernel is rewritten in place, in the order of
 * its graph: what an instruction becomes is emitted before it, and `with` says by what its result
 * is replaced.
 */
#ifndef HEDDLE_PASS_SHADER_H
#define HEDDLE_PASS_SHADER_H

#include "pass/edit.h"

typedef struct Root Root;
typedef struct Address Address;

typedef struct Shader {
    PassContext *c;
    SpvModule *m;
    Arena *a;                   /* lives as long as the pass */
    SpvFunction *f;
    SpvInst *entry;             /* OpEntryPoint */
    Cfg *g;
    SpvInst *at;                /* what is emitted stands before it */
    SpvId *with;                /* by id, n_with of them */
    uint32_t n_with, bound;     /* bound: of the module that was given */
    SpvId u32, bool_, function_type, glsl;
    SpvId local_size[3];        /* constants */
    SpvId push, work_dim;
    Map specs, inputs;          /* constants by SpecId; variables by built-in */
    VEC(SpvId) interface;
    bool exact;                 /* the kernel's ContractionOff */
    bool matrices;              /* Vulkan's memory model, which they require */
    VEC(SpvId) exact_ids;       /* results to be decorated NoContraction */
    struct Memory *memory;
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
typedef enum Fate {
    FATE_STAYS,
    FATE_GONE,                  /* its result, if it has one, is replaced by *to */
    FATE_ERROR                  /* which was reported */
} Fate;

/* ---- shader_wide.c --------------------------------------------------------------------------- */

bool shader_narrow(Shader *s);

/* ---- shader_flow.c --------------------------------------------------------------------------- */

bool shader_structure(Shader *s);

/* ---- shader_memory.c ------------------------------------------------------------------------- */

/* Where each pointer leads, and what accesses there are. */
bool shader_find_memory(Shader *s);
Fate shader_memory(Shader *s, SpvInst *i, SpvId *to);
void shader_open_memory(Shader *s);                 /* the arguments' values */
void shader_close_memory(Shader *s);                /* phis of pointers */
bool shader_store(Shader *s, const SpvInst *i, SpvId pointer, SpvId value);
/* A pointer for atomics and matrices to a scalar type; *pieces: how many of what it leads to make
 * one, which is 1 and the type itself where it must be exact. 0 after reporting. */
SpvId shader_pointer(Shader *s, const SpvInst *i, SpvId pointer, const SpvType *t, bool exact,
                     uint32_t *pieces);

/* ---- shader_ops.c ---------------------------------------------------------------------------- */

Fate shader_operation(Shader *s, SpvInst *i, SpvId *to);

/* ---- shader_math.c --------------------------------------------------------------------------- */

/* An instruction of OpenCL.std. */
Fate shader_function(Shader *s, SpvInst *i, SpvId *to);
/* The value of an expression (shader_math.c) of the operands x, y, z. */
SpvId shader_evaluate(Shader *s, const char *expression, SpvId type, const SpvId *operands);

/* ---- shader_needs.c -------------------------------------------------------------------------- */

bool shader_capabilities(Shader *s);

#endif
