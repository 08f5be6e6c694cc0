/* SPDX-License-Identifier: MIT
 *
 * SPV_QCOM_multiple_wait_queues: its rules, and what the reader says of broken loop controls. A
 * case is the lines before the memory model and the loop controls.
 */
#include "base/test.h"
#include "check/check.h"

#include <stdio.h>

#define CAPABILITY "OpCapability MultipleWaitQueuesQCOM\n"
#define BOTH CAPABILITY "OpExtension \"SPV_QCOM_multiple_wait_queues\"\n"

static const char module_form[] =
    "OpCapability Shader\n%sOpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %%main \"main\"\n"
    "OpExecutionMode %%main LocalSize 32 1 1\n"
    "%%void = OpTypeVoid\n%%bool = OpTypeBool\n%%t = OpConstantTrue %%bool\n"
    "%%fn = OpTypeFunction %%void\n%%main = OpFunction %%void None %%fn\n%%entry = OpLabel\n"
    "OpBranch %%head\n%%head = OpLabel\nOpLoopMerge %%done %%next %s\n"
    "OpBranchConditional %%t %%next %%done\n%%next = OpLabel\nOpBranch %%head\n%%done = OpLabel\n"
    "OpReturn\nOpFunctionEnd\n";

/* Whether the module is accepted; its words' loop control `from` is `to` before it is read. */
static bool accepts(const char *preamble, const char *control, uint32_t from, uint32_t to,
                    TestDiags *d)
{
    Arena a = { 0 };
    jmp_buf out_of_memory;
    volatile bool ok = false;
    if (setjmp(out_of_memory))
        return false;
    a.on_failure = &out_of_memory;
    char *text = arena_printf(&a, module_form, preamble, control);
    SpvModule *m = spv_assemble(&a, text, strlen(text), "m.spvasm", &d->sink);
    size_t size = 0;
    uint32_t *words = m ? spv_write(&a, m, &size) : NULL;
    for (size_t k = 0; k < size / 4; k++)
        if (from && words[k] == from)
            words[k] = to;
    m = words ? spv_read(&a, words, size, "m.spv", &d->sink) : NULL;
    ok = m && check_module(m, &d->sink);
    arena_free(&a);
    return ok;
}

TEST(hints)
{
    static const struct {
        const char *preamble, *control, *says; /* NULL: accepted without a word */
        bool accepted;
        uint32_t from, to;
    } cases[] = {
        { BOTH, "MultipleWaitQueuesQCOM 2", NULL, true, 0, 0 },
        { BOTH, "MultipleWaitQueuesQCOM 0", NULL, true, 0, 0 },
        { BOTH, "Unroll|PeelCount|MultipleWaitQueuesQCOM 9 3", NULL, true, 0, 0 },
        { BOTH, "MultipleWaitQueuesQCOM 8", NULL, true, 0, 0 },
        { BOTH, "MultipleWaitQueuesQCOM 9", "maxShaderWaitQueues-12426", false, 0, 0 },
        { BOTH, "MultipleWaitQueuesQCOM 4294967295", "4294967295 wait queues; there are 8", false,
          0, 0 },
        { BOTH, "MultipleWaitQueuesQCOM -1", "'-1' is negative", false, 0, 0 },
        { BOTH, "0x4000000 2", "MultipleWaitQueuesQCOM is 0x10000000", false, 0, 0 },
        { BOTH, "0x10000000 2", "0x10000000 is written MultipleWaitQueuesQCOM", false, 0, 0 },
        { BOTH, "Unroll|0x8000000 2", "unknown bit 0x8000000 in the LoopControl", false, 0, 0 },
        { "", "MultipleWaitQueuesQCOM 2", "[wait-queues-capability (", false, 0, 0 },
        { CAPABILITY, "MultipleWaitQueuesQCOM 2", "[wait-queues-extension (", false, 0, 0 },
        { BOTH, "MultipleWaitQueuesQCOM 2", "MultipleWaitQueuesQCOM is 0x10000000", false,
          0x10000000, 0x4000000 },
        /* no literal of its own */
        { BOTH, "PeelCount 3", "operand LiteralInteger is missing", false, 0x80, 0x10000080 },
    };
    for (uint32_t k = 0; k < COUNT_OF(cases); k++) {
        TestDiags d = TEST_DIAGS(d);
        bool ok = accepts(cases[k].preamble, cases[k].control, cases[k].from, cases[k].to, &d);
        if (ok != cases[k].accepted || (cases[k].says ? !strstr(d.text, cases[k].says) : d.text[0]))
            test_fail(__FILE__, __LINE__, "%s: accepted %d: %.500s", cases[k].control, ok, d.text);
    }
}
