/* SPDX-License-Identifier: MIT
 *
 * lines: turns positions into instructions again. In: a module after the passes, which keep
 * positions in instructions and drop OpLine. Out: OpLine wherever the position changes, for the
 * module's readers: drivers, debuggers, profilers. A line holds until its block ends (SPIR-V 2.4).
 */
#include "pass/pass.h"

typedef struct Position {
    uint32_t file, line, column;
} Position;

static Position position_of(const SpvModule *m, const SpvInst *i)
{
    const SpvInst *file = i->file ? spv_def(m, i->file) : NULL;
    return file && file->op == SpvOpString ? (Position){ i->file, i->line, i->column }
                                           : (Position){ 0 };
}

/* Labels, phis and variables come first in a block, and nothing between a merge and its branch. */
static bool may_have_line(const SpvInst *i)
{
    bool merged = i->prev && (i->prev->op == SpvOpSelectionMerge || i->prev->op == SpvOpLoopMerge);
    return i->op != SpvOpLabel && i->op != SpvOpPhi && i->op != SpvOpVariable && !merged;
}

static void put_lines(SpvModule *m, SpvBlock *b)
{
    Position now = { 0 };
    for (SpvInst *i = b->insts.first; i; i = i->next) {
        Position p = position_of(m, i);
        bool same = p.file == now.file && p.line == now.line && p.column == now.column;
        if (!may_have_line(i) || same)
            continue;
        uint32_t words[] = { p.file, p.line, p.column };
        SpvInst *line = p.file ? spv_make(m, SpvOpLine, 0, 0, words, COUNT_OF(words))
                               : spv_make(m, SpvOpNoLine, 0, 0, NULL, 0);
        spv_insert_before(i, line);
        now = p;
    }
}

void pass_lines(SpvModule *m)
{
    for (SpvFunction *f = m->functions; f; f = f->next)
        for (SpvBlock *b = f->first; b; b = b->next)
            put_lines(m, b);
}
