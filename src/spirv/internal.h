/* SPDX-License-Identifier: MIT
 *
 * What the files of spirv/ share among themselves.
 */
#ifndef HEDDLE_SPIRV_INTERNAL_H
#define HEDDLE_SPIRV_INTERNAL_H

#include "spirv/spirv.h"

enum {
    SPV_MAX_BOUND = 0x400000,        /* 2.17, Universal Limits: ids up to 4,194,303 */
    SPV_MAX_TYPE_DEPTH = 255,        /* 2.17: structure nesting; here of any type or composite */
    SPV_MAX_EXPRESSION_DEPTH = 1024, /* OpSpecConstantOp on OpSpecConstantOp */
};

/* module.c */
void spv_list_append(SpvInstList *l, SpvInst *i);
SpvModule *spv_module(Arena *arena, uint32_t bound);
void spv_set_context(const SpvModule *m, SpvInst *i); /* literal_words and ext_set */

/* walk.c: what is wrong with a mask's bit, or bits, by number. */
enum { SPV_WHY_LENGTH = 128 };
void spv_unknown_bit(char why[SPV_WHY_LENGTH], uint8_t kind, uint32_t bits);

/* read.c: words in host order, header included. `lines`: the text's line of each instruction, or
 * NULL. */
SpvModule *spv_read_words(Arena *arena, uint32_t *words, size_t n, const char *name,
                          const uint32_t *lines, DiagSink *sink);

/* number.c: literals as text. */
typedef struct SpvNumber {
    bool is_float, is_signed;
    uint32_t bits;
    SpvFloatFormat format; /* of a float */
} SpvNumber;
/* From the operands of an OpTypeInt or OpTypeFloat; bits 0 where nothing is known of the format. */
SpvNumber spv_number(uint16_t op, const uint32_t *operands, uint32_t n);
/* What a literal of that type is; false where the type is no number. */
bool spv_number_of(const SpvModule *m, SpvId type, SpvNumber *n);
/* Text that spv_parse_number takes back to the same words. */
void spv_print_number(Arena *arena, Str *out, SpvNumber n, const uint32_t *words, uint32_t n_words);
/* The words of the literal `text`; returns how many, 0 when it is none or does not fit. */
uint32_t spv_parse_number(SpvNumber n, const char *text, uint32_t words[2]);

/* names.c: a name for each id, by id, all different and good for the assembler; NULL: its number.
 */
const char **spv_friendly_names(Arena *arena, const SpvModule *m);

/* layout.c */
enum { SPV_ANY_SECTION = 0, SPV_ANNOTATION_SECTION = 10, SPV_LAST_SECTION = 11 };
/* 2.4's sections, from 1; SPV_ANY_SECTION for what may stand in several; -1 for what is of a body.
 */
int spv_section(const SpvInst *i);
/* Puts the instructions into their lists; false after reporting one that does not fit. */
bool spv_lay_out(SpvModule *m, SpvInst *insts, uint32_t n, DiagSink *sink);

/* decorate.c: the annotations of an id, those of its groups included, in order. */
typedef struct SpvAnnotation {
    const SpvInst *inst;    /* OpDecorate..., OpMemberDecorate... */
    int32_t member;         /* -1: the id itself */
    uint32_t decoration, n; /* n literals */
    const uint32_t *literals;
} SpvAnnotation;
void spv_each_annotation(SpvModule *m, SpvId id, void (*visit)(void *user, const SpvAnnotation *a),
                         void *user);

/* declare.c: types name types, constants constants, all of them declared before. */
bool spv_check_declarations(SpvModule *m, DiagSink *sink);

/* dominate.c: definitions dominate uses. */
bool spv_check_dominance(SpvModule *m, SpvFunction *f, const SpvEdges *edges, DiagSink *sink);

/* flow.c: blocks, terminators, branch targets, calls and entry points. */
bool spv_check_flow(SpvModule *m, DiagSink *sink);

#endif
