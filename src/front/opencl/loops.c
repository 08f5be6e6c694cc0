/* SPDX-License-Identifier: MIT
 *
 * In: LLVM IR whose loops have metadata that tell how to unroll them. Out: the name of each loop's
 * first block tells it instead, because LLVM's SPIR-V target and the passes that structure control
 * flow preserve names but not metadata: "unroll.all.for.body", "unroll.4.for.body", "unroll.1....".
 */
#include "front/opencl/spirv_target.h"

#include <llvm-c/Core.h>
#include <stdio.h>

enum { ALL = 0, NOT = 1 };

/* What one operand of llvm.loop's node says; false: something else. */
static bool says(LLVMValueRef node, unsigned *times)
{
    static const struct {
        const char *name;
        unsigned times;
    } table[] = {
        { "llvm.loop.unroll.enable", ALL },
        { "llvm.loop.unroll.full", ALL },
        { "llvm.loop.unroll.disable", NOT },
        { "llvm.loop.unroll.count", 0 },
    };
    LLVMValueRef part[2] = { NULL };
    unsigned n = LLVMIsAMDNode(node) ? (unsigned)LLVMGetMDNodeNumOperands(node) : 0, length;
    if (!n || n > COUNT_OF(part))
        return false;
    LLVMGetMDNodeOperands(node, part);
    const char *name = part[0] ? LLVMGetMDString(part[0], &length) : NULL;
    for (size_t k = 0; name && k < COUNT_OF(table); k++) {
        if (strlen(table[k].name) != length || strncmp(table[k].name, name, length))
            continue;
        bool counted = n == 2 && part[1] && LLVMIsAConstantInt(part[1]);
        *times = counted ? (unsigned)LLVMConstIntGetZExtValue(part[1]) : table[k].times;
        return true;
    }
    return false;
}

static bool is_hinted(LLVMValueRef branch, unsigned kind, unsigned *times)
{
    LLVMValueRef loop = LLVMGetMetadata(branch, kind), list[8];
    unsigned n = loop ? (unsigned)LLVMGetMDNodeNumOperands(loop) : 0;
    if (!n || n > COUNT_OF(list))
        return false;
    LLVMGetMDNodeOperands(loop, list);
    for (unsigned k = 1; k < n; k++) /* the first is the node itself */
        if (list[k] && says(list[k], times))
            return true;
    return false;
}

static void name_loop(LLVMBasicBlockRef first, unsigned times)
{
    LLVMValueRef block = LLVMBasicBlockAsValue(first);
    char name[128];
    if (times == ALL)
        snprintf(name, sizeof name, "unroll.all.%.80s", LLVMGetBasicBlockName(first));
    else
        snprintf(name, sizeof name, "unroll.%u.%.80s", times, LLVMGetBasicBlockName(first));
    LLVMSetValueName2(block, name, strlen(name));
}

/* A loop's last block comes behind its first, or is it. */
static void name_loops_of(LLVMValueRef f, unsigned kind)
{
    unsigned times;
    for (LLVMBasicBlockRef b = LLVMGetLastBasicBlock(f); b; b = LLVMGetPreviousBasicBlock(b)) {
        LLVMValueRef branch = LLVMGetBasicBlockTerminator(b);
        if (!branch || !is_hinted(branch, kind, &times))
            continue;
        unsigned n = LLVMGetNumSuccessors(branch);
        for (LLVMBasicBlockRef p = b; p && n; p = LLVMGetPreviousBasicBlock(p))
            for (unsigned k = 0; k < n; k++)
                if (LLVMGetSuccessor(branch, k) == p) {
                    name_loop(p, times);
                    n = 0;
                }
    }
}

void ocl_name_loops(LLVMModuleRef m)
{
    unsigned kind = LLVMGetMDKindIDInContext(LLVMGetModuleContext(m), "llvm.loop", 9);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        name_loops_of(f, kind);
}
