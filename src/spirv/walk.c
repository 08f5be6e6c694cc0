/* SPDX-License-Identifier: MIT
 *
 * The operands of one instruction, one after the other, by the lists of ops.def. A mask's bits and
 * an enumeration's values bring parameters along (2.8 and 3 of the specification: lowest bit
 * first); OpSpecConstantOp and OpExtInst go on with the list of the instruction that they name.
 * This is the only place that knows where an operand ends; reader, writers and spv_each_id all rely
 * on it. It never reads past n_words, whatever the words are.
 */
#include <stdio.h>

#include "spirv/internal.h"

void spv_unknown_bit(char why[SPV_WHY_LENGTH], uint8_t kind, uint32_t bits)
{
    const SpvEnumerant *e = spv_enumerant(kind, bits);
    if (e)
        snprintf(why, SPV_WHY_LENGTH, "0x%x is written %s", bits, e->name);
    else if (kind == SPV_OPERAND_LoopControl && bits == 0x4000000)
        snprintf(why, SPV_WHY_LENGTH,
                 "loop control 0x4000000 is that of a draft: MultipleWaitQueuesQCOM is 0x%x",
                 SpvLoopControlMultipleWaitQueuesQCOMMask);
    else
        snprintf(why, SPV_WHY_LENGTH, "unknown bit 0x%x in the %s", bits, spv_kind_name(kind));
}

SpvWalk spv_walk(const SpvInst *i)
{
    SpvWalk w = { .inst = i, .word = i->first_operand };
    const SpvOpInfo *info = spv_op_info(i->op);
    if (info) {
        w.list = info->operands;
        w.n_list = info->n_operands;
    } else {
        snprintf(w.error, sizeof w.error, "unknown opcode %u", i->op);
    }
    return w;
}

static bool walk_fail(SpvWalk *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool walk_fail(SpvWalk *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(w->error, sizeof w->error, fmt, args);
    va_end(args);
    w->n_list = w->n_params = 0;
    w->mask = 0;
    w->pair_kind = SPV_OPERAND_NONE;
    return false;
}

static uint32_t words_left(const SpvWalk *w)
{
    return w->inst->n_words > w->word ? w->inst->n_words - w->word : 0;
}

/* Words of a NUL-terminated string at w->word; 0 when it does not end inside the instruction. */
static uint32_t string_words(const SpvWalk *w)
{
    for (uint32_t n = 0; n < words_left(w); n++) {
        uint32_t x = w->inst->words[w->word + n];
        if (!(x & 0xff) || !(x & 0xff00) || !(x & 0xff0000) || !(x & 0xff000000))
            return n + 1;
    }
    return 0;
}

static void first_and_second(uint8_t kind, uint8_t *first, uint8_t *second)
{
    *first = *second = SPV_OPERAND_NONE;
    if (kind == SPV_OPERAND_PairIdRefIdRef) {
        *first = *second = SPV_OPERAND_IdRef;
    } else if (kind == SPV_OPERAND_PairIdRefLiteralInteger) {
        *first = SPV_OPERAND_IdRef;
        *second = SPV_OPERAND_LiteralInteger;
    } else if (kind == SPV_OPERAND_PairLiteralIntegerIdRef) {
        /* OpSwitch alone: the literal is as wide as the selector. */
        *first = SPV_OPERAND_LiteralContextDependentNumber;
        *second = SPV_OPERAND_IdRef;
    }
}

/* The kind of the next operand. False at the end of all lists, or when words are wanting. */
static bool next_kind(SpvWalk *w, uint8_t *kind, const char **name)
{
    const SpvOperandInfo **list = NULL;
    uint8_t *left = NULL;
    *name = "";
    if (w->pair_kind) {
        *kind = w->pair_kind;
        w->pair_kind = SPV_OPERAND_NONE;
        return true;
    }
    while (!w->n_params && w->mask) {
        uint32_t bit = w->mask & -w->mask;
        const SpvEnumerant *e = spv_enumerant(w->mask_kind, bit);
        w->mask &= ~bit;
        if (!e) {
            char why[SPV_WHY_LENGTH];
            spv_unknown_bit(why, w->mask_kind, bit);
            return walk_fail(w, "%s", why);
        }
        w->params = e->params;
        w->n_params = e->n_params;
    }
    bool in_params = w->n_params > 0;
    list = in_params ? &w->params : &w->list;
    left = in_params ? &w->n_params : &w->n_list;
    if (!*left)
        return false;
    const SpvOperandInfo *info = *list;
    if (!words_left(w)) {
        if (info->times == SPV_ONE)
            return walk_fail(w, "operand %s is missing",
                             info->name[0] ? info->name : spv_kind_name(info->kind));
        ++*list;
        --*left;
        return next_kind(w, kind, name);
    }
    if (info->times != SPV_ANY) {
        ++*list;
        --*left;
    }
    *name = info->name;
    *kind = info->kind;
    uint8_t first, second;
    first_and_second(info->kind, &first, &second);
    if (first) {
        *kind = first;
        w->pair_kind = second;
    }
    return true;
}

/* After an opcode or extended instruction number: its operands are the ones that follow. */
static bool enter_instruction(SpvWalk *w, uint8_t kind, uint32_t value)
{
    if (kind == SPV_OPERAND_LiteralSpecConstantOpInteger) {
        const SpvOpInfo *info = value <= 0xffff ? spv_op_info((uint16_t)value) : NULL;
        if (!info || !info->has_type || !info->has_result || info->flags & SPV_OPF_CONSTANT)
            return walk_fail(w, "opcode %u cannot be used in OpSpecConstantOp", value);
        w->list = info->operands;
        w->n_list = info->n_operands;
        return true;
    }
    /* All operands of non-semantic instructions are ids, and newer versions add some. */
    if (spv_is_nonsemantic(w->inst) || w->inst->ext_set == SPV_SET_UNKNOWN)
        return true;
    const SpvExtInst *e = spv_ext_inst(w->inst->ext_set, value);
    if (!e)
        return walk_fail(w, "%s has no instruction %u", spv_set_name(w->inst->ext_set), value);
    w->list = e->operands;
    w->n_list = e->n_operands;
    return true;
}

static bool enter_enumerant(SpvWalk *w, uint8_t kind, uint32_t value)
{
    const SpvEnumerant *e = spv_enumerant(kind, value);
    if (!e)
        return walk_fail(w, "unknown %s %u", spv_kind_name(kind), value);
    if (e->n_params) { /* an enumerant that is itself a parameter has none (the generator checks) */
        w->params = e->params;
        w->n_params = e->n_params;
    }
    return true;
}

/* Words that an operand of this kind takes here; 0 after a failure. */
static uint32_t operand_words(SpvWalk *w, uint8_t kind)
{
    if (kind == SPV_OPERAND_LiteralString) {
        uint32_t n = string_words(w);
        if (!n)
            walk_fail(w, "a string is not terminated");
        return n;
    }
    if (kind != SPV_OPERAND_LiteralContextDependentNumber)
        return 1;
    if (w->inst->op == SpvOpSwitch)
        return w->inst->literal_words ? w->inst->literal_words : 1;
    return words_left(w);
}

bool spv_walk_next(SpvWalk *w, SpvOperand *o)
{
    uint8_t kind = 0;
    const char *name = "";
    if (!next_kind(w, &kind, &name)) {
        if (!w->error[0] && words_left(w))
            walk_fail(w, "%u words too many after the last operand", words_left(w));
        return false;
    }
    uint32_t n = operand_words(w, kind);
    if (!n && w->error[0])
        return false;
    if (!n || n > words_left(w))
        return walk_fail(w, "operand %s is cut short", name);
    *o = (SpvOperand){ .word = (uint16_t)w->word,
                       .n_words = (uint16_t)n,
                       .kind = kind,
                       .is_id = spv_kind_is_id(kind),
                       .name = name };
    uint32_t value = w->inst->words[w->word];
    w->word += n;
    if (kind == SPV_OPERAND_LiteralSpecConstantOpInteger ||
        kind == SPV_OPERAND_LiteralExtInstInteger)
        return enter_instruction(w, kind, value);
    if (spv_kind_is_mask(kind)) {
        w->mask = value;
        w->mask_kind = kind;
    } else if (spv_enumerants(kind, &n)) {
        return enter_enumerant(w, kind, value);
    }
    return true;
}

void spv_each_id(SpvInst *i, void (*visit)(void *user, uint32_t *id), void *user)
{
    SpvOperand o;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        if (o.is_id)
            visit(user, &i->words[o.word]);
}

uint32_t spv_id_operands(const SpvInst *i, uint16_t *at, uint32_t cap)
{
    uint32_t n = 0;
    SpvOperand o;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);) {
        if (!o.is_id)
            continue;
        if (n < cap)
            at[n] = o.word;
        n++;
    }
    return n;
}
