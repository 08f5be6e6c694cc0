/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_multiple_wait_queues: the loop control that asks for deeper data pipelines. The
 * registry's final text gives it the bit 0x10000000; modules with the draft's are refused by the
 * reader, which names the final one. That its literal is there, and in the order of the bits among
 * those of other loop controls, the reader has seen to.
 */
#include "check/internal.h"

enum { GLSLANG = 8 }; /* the generator's number: version 16.6 forgets the declarations */

static const char undeclared[] =
    "the loop asks for wait queues, but MultipleWaitQueuesQCOM is not declared";

static void check_extension(Checker *c, SpvInst *i)
{
    want_extension(c, i, SpvCapabilityMultipleWaitQueuesQCOM, EXTENSION_WAIT_QUEUES);
}

static bool asks(const SpvInst *i)
{
    return spv_operand(i, 2) & SpvLoopControlMultipleWaitQueuesQCOMMask;
}

static void check_hint(Checker *c, SpvInst *i)
{
    if (!asks(i) || has_capability(c, SpvCapabilityMultipleWaitQueuesQCOM))
        return;
    DiagLoc loc = spv_loc(c->arena, c->m, i);
    if (c->m->generator >> 16 == GLSLANG)
        diag(c->sink, DIAG_WARNING, &loc, c->row->rule.id, "%s", undeclared);
    else
        broken(c, i, "%s", undeclared);
}

static void check_count(Checker *c, SpvInst *i)
{
    SpvOperand o;
    uint32_t last = 0;
    for (SpvWalk w = spv_walk(i); spv_walk_next(&w, &o);)
        last = i->words[o.word]; /* no loop control has a higher bit */
    if (asks(i) && last > SPV_WAIT_QUEUES_MOST)
        broken(c, i, "the loop asks for %u wait queues; there are %d, and 0 asks for all of them",
               last, SPV_WAIT_QUEUES_MOST);
}

static const CheckRow rows[] = {
    { { "wait-queues-extension", "SPV_QCOM_multiple_wait_queues",
        "The capability MultipleWaitQueuesQCOM comes with its extension." },
      { SpvOpCapability },
      NULL,
      check_extension },
    { { "wait-queues-capability", "SPV_QCOM_multiple_wait_queues, Loop Control",
        "A loop that asks for wait queues needs the capability MultipleWaitQueuesQCOM." },
      { SpvOpLoopMerge },
      NULL,
      check_hint },
    { { "wait-queues-count",
        "SPV_QCOM_multiple_wait_queues, Loop Control; VUID-RuntimeSpirv-maxShaderWaitQueues-12426",
        "A loop asks for no more wait queues than there are." },
      { SpvOpLoopMerge },
      NULL,
      check_count },
};
const CheckFamily check_qcom_wait_queues = { rows, COUNT_OF(rows) };
