#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes src/spirv/{ops,enumerants,ext_insts}.def from the machine-readable SPIR-V grammar.

    tools/spirv_tables.py GRAMMAR_FOLDER [--supplement FILE] [--out src/spirv]
    tools/spirv_tables.py GRAMMAR_FOLDER --check   says which opcodes the committed tables lack

GRAMMAR_FOLDER is spirv-headers' include/spirv/unified1. A supplement is a grammar of the same form
(tools/spirv_supplement.json where one is needed): its instructions and enumerants are added where the
grammar has none of that name.
"""
import argparse
import json
import os
import re
import sys

# set token, how OpExtInstImport spells it (a trailing '*': any suffix), file
SETS = [
    ("GLSLstd450", "GLSL.std.450", "glsl.std.450"),
    ("OpenCLstd_", "OpenCL.std", "opencl.std.100"),
    ("NonSemanticShaderDebugInfo100", "NonSemantic.Shader.DebugInfo.100",
     "nonsemantic.shader.debuginfo.100"),
    ("NonSemanticShaderDebugInfo", "NonSemantic.Shader.DebugInfo*", "nonsemantic.shader.debuginfo"),
    ("NonSemanticDebugPrintf", "NonSemantic.DebugPrintf*", "nonsemantic.debugprintf"),
    ("NonSemanticDebugBreak", "NonSemantic.DebugBreak*", "nonsemantic.debugbreak"),
    ("NonSemanticClspvReflection", "NonSemantic.ClspvReflection.*", "nonsemantic.clspvreflection"),
    ("NonSemanticVkspReflection", "NonSemantic.VkspReflection.*", "nonsemantic.vkspreflection"),
    ("NonSemanticGraphDebugInfo", "NonSemantic.Graph.DebugInfo.*", "nonsemantic.graph.debuginfo"),
    ("OpenCLDebugInfo100", "OpenCL.DebugInfo.100", "opencl.debuginfo.100"),
    ("DebugInfo", "DebugInfo", "debuginfo"),
    ("GcnShaderAMD", "SPV_AMD_gcn_shader", "spv-amd-gcn-shader"),
    ("ShaderBallotAMD", "SPV_AMD_shader_ballot", "spv-amd-shader-ballot"),
    ("ShaderExplicitVertexParameterAMD", "SPV_AMD_shader_explicit_vertex_parameter",
     "spv-amd-shader-explicit-vertex-parameter"),
    ("ShaderTrinaryMinMaxAMD", "SPV_AMD_shader_trinary_minmax", "spv-amd-shader-trinary-minmax"),
    ("TOSA", "TOSA.001000.1", "tosa.001000.1"),
    ("ArmMotionEngine100", "Arm.MotionEngine.100", "arm.motion-engine.100"),
    ("ArmExperimentalMLOperations", "Arm.ExperimentalMLOperations.*",
     "arm.experimental-ml-operations"),
]

TERMINATORS = set("""Branch BranchConditional Switch Return ReturnValue Kill Unreachable
    TerminateInvocation AbortKHR IgnoreIntersectionKHR TerminateRayKHR EmitMeshTasksEXT""".split())
BARRIERS = set("""ControlBarrier MemoryBarrier NamedBarrierInitialize MemoryNamedBarrier
    ControlBarrierArriveEXT ControlBarrierWaitEXT""".split())
PURE_CLASSES = {"Arithmetic", "Bit", "Relational_and_Logical", "Conversion", "Composite"}
PURE = set("""AccessChain InBoundsAccessChain PtrAccessChain InBoundsPtrAccessChain
    UntypedAccessChainKHR UntypedInBoundsAccessChainKHR UntypedPtrAccessChainKHR
    UntypedInBoundsPtrAccessChainKHR RawAccessChainNV PtrEqual PtrNotEqual PtrDiff ArrayLength
    UntypedArrayLengthKHR BufferPointerEXT ImageTexelPointer UntypedImageTexelPointerEXT SizeOf
    CooperativeMatrixLengthKHR CooperativeMatrixLengthNV CooperativeMatrixGetCoordinateEXT FreezeKHR
    ExpectKHR ArithmeticFenceEXT CreateTensorLayoutNV TensorLayoutSetDimensionNV
    TensorLayoutSetStrideNV TensorLayoutSliceNV TensorLayoutSetClampValueNV
    TensorLayoutSetBlockSizeNV CreateTensorViewNV TensorViewSetDimensionNV TensorViewSetStrideNV
    TensorViewSetClipNV IAddSatINTEL UAddSatINTEL ISubSatINTEL USubSatINTEL AbsISubINTEL
    AbsUSubINTEL IAverageINTEL UAverageINTEL IAverageRoundedINTEL UAverageRoundedINTEL
    IMul32x16INTEL UMul32x16INTEL UCountLeadingZerosINTEL UCountTrailingZerosINTEL
    FDot2MixAcc32VALVE FDot2MixAcc16VALVE FDot4MixAcc32VALVE SampledImage Image
    ConvertUToImageNV ConvertUToSamplerNV ConvertImageToUNV ConvertSamplerToUNV
    ConvertUToSampledImageNV ConvertSampledImageToUNV ConvertUToAccelerationStructureKHR BitCastArrayQCOM
    ExtractSubArrayQCOM CopyObject CopyLogical""".split())
GROUP = set("""CooperativeMatrixMulAddKHR CooperativeMatrixMulAddNV CooperativeMatrixReduceEXT
    CooperativeMatrixReduceNV CooperativeMatrixPerElementOpEXT CooperativeMatrixPerElementOpNV
    CooperativeMatrixConvertEXT CooperativeMatrixConvertNV CooperativeMatrixTransposeEXT
    CooperativeMatrixTransposeNV CompositeConstructCoopMatQCOM
    CompositeExtractCoopMatQCOM""".split())
MEMORY_GROUP = set("""CooperativeMatrixLoadKHR CooperativeMatrixStoreKHR CooperativeMatrixLoadNV
    CooperativeMatrixStoreNV CooperativeMatrixLoadTensorNV CooperativeMatrixStoreTensorNV
    GroupAsyncCopy GroupWaitEvents UntypedGroupAsyncCopyKHR SubgroupBlockReadINTEL
    SubgroupBlockWriteINTEL SubgroupImageBlockReadINTEL SubgroupImageBlockWriteINTEL
    SubgroupImageMediaBlockReadINTEL SubgroupImageMediaBlockWriteINTEL SubgroupBlockPrefetchINTEL
    Subgroup2DBlockLoadINTEL Subgroup2DBlockLoadTransformINTEL Subgroup2DBlockLoadTransposeINTEL
    Subgroup2DBlockPrefetchINTEL Subgroup2DBlockStoreINTEL""".split())
# What works on cooperative matrices by component (SPV_KHR_cooperative_matrix, 3.42).
MATRICES = set("""ConvertFToU ConvertFToS ConvertSToF ConvertUToF UConvert SConvert FConvert Bitcast
    SNegate FNegate IAdd FAdd ISub FSub IMul FMul UDiv SDiv FDiv MatrixTimesScalar""".split())
NO_FLAGS = set("""Nop Phi Label LoopMerge SelectionMerge LoopControlINTEL Function FunctionParameter
    FunctionEnd ExtInstImport Extension MemoryModel EntryPoint ExecutionMode ExecutionModeId
    Capability ExtInst ExtInstWithForwardRefsKHR ConditionalExtensionINTEL
    ConditionalEntryPointINTEL ConditionalCapabilityINTEL TypeForwardPointer
    TypeStructContinuedINTEL ConstantCompositeContinuedINTEL SpecConstantCompositeContinuedINTEL
    CompositeConstructContinuedINTEL Variable UntypedVariableKHR GraphARM GraphEndARM GraphInputARM
    GraphSetOutputARM GraphEntryPointARM AssumeTrueKHR AsmTargetINTEL AsmINTEL AliasDomainDeclINTEL
    AliasScopeDeclINTEL AliasScopeListDeclINTEL""".split())


def flags_of(name, inst, result):
    """The SPV_OPF_* of an opcode. What is not known to be harmless is said to touch memory."""
    cls = inst["class"]
    names = {name} | {a[2:] for a in inst.get("aliases", [])}
    if name in TERMINATORS:
        return ["TERMINATOR"]
    if cls == "Debug":
        return ["DEBUG"]
    if cls == "Annotation":
        return ["ANNOTATION"]
    if name in NO_FLAGS:
        return []
    if name.startswith("Type") and result:
        return ["TYPE"]
    if result and (re.match(r"(Spec)?Constant|Undef$|PoisonKHR$|GraphConstantARM$", name)):
        return ["CONSTANT", "PURE"]
    if name in BARRIERS:
        return ["BARRIER"] + (["GROUP"] if "Control" in name else [])
    if names & GROUP:
        return ["GROUP"]
    if names & MEMORY_GROUP:
        return ["MEMORY", "GROUP"]
    if name.startswith("Atomic"):
        return ["MEMORY", "ATOMIC"]
    if cls in ("Group", "Non-Uniform", "Derivative"):
        return ["GROUP"]
    if name in MATRICES:
        return ["PURE", "MATRICES"]
    if cls in PURE_CLASSES or name in PURE:
        return ["PURE"]
    return ["MEMORY"]


def operand(o, rename):
    kind = rename.get(o["kind"], o["kind"])
    form = {None: "ONE", "?": "OPT", "*": "ANY"}[o.get("quantifier")]
    name = o.get("name", "").split("\n")[0].split(",")[0].replace("'", "").strip()
    name = re.sub(r"[^A-Za-z0-9_ .<>+]", "", name)
    if name.endswith(" ...") or "+" in name:
        name = name.rstrip(". +")
    return '%s(%s, "%s")' % (form, kind, name)


def caps(e):
    return " ".join("CAP(%s)" % c for c in e.get("capabilities", []))


def row(macro, *columns):
    """One row, folded at 100 columns between columns and operands."""
    pieces = []
    for n, c in enumerate(columns):
        words = re.findall(r'\w+\([^)]*\)|[^ ]+', c) or [""]
        words[-1] += ")" if n + 1 == len(columns) else ","
        pieces += words
    lines, line = [], macro + "("
    for n, word in enumerate(pieces):
        glue = "" if n == 0 or word in ("|",) and not line.strip() else " "
        if len(line) + len(glue) + len(word) > 100:
            lines.append(line.rstrip())
            line, glue = "   ", " "
        line += glue + word
    return "\n".join(lines + [line]) + "\n"


HEAD = """/* SPDX-License-Identifier: MIT
 *
 * %s
 * Written by tools/spirv_tables.py from the SPIR-V grammar %s; do not edit.
 *
 * %s
 */
/* clang-format off */
"""


def write_ops(grammar, path, version):
    with open(path, "w") as f:
        f.write(HEAD % ("The SPIR-V instructions, by number.", version,
                        "OP(name, number, has type, has result, operands, capabilities, flags)\n"
                        " * operands: ONE, OPT (may be left out) or ANY (any number) of (kind, name)\n"
                        " * ALIAS(other name, name)"))
        f.write("#ifndef ALIAS\n#define ALIAS(other, name)\n#endif\n\n")
        for i in sorted(grammar["instructions"], key=lambda i: i["opcode"]):
            name = i["opname"][2:]
            ops = i.get("operands", [])
            kinds = [o["kind"] for o in ops]
            has_type = "IdResultType" in kinds
            result = "IdResult" in kinds
            assert kinds[:has_type + result] == ["IdResultType"] * has_type + ["IdResult"] * result
            rest = " ".join(operand(o, {}) for o in ops[has_type + result:])
            flags = " | ".join("SPV_OPF_" + x for x in flags_of(name, i, result)) or "0"
            f.write(row("OP", name, str(i["opcode"]), "%d" % has_type, "%d" % result, rest, caps(i),
                        flags))
            for a in i.get("aliases", []):
                f.write("ALIAS(%s, %s)\n" % (a[2:], name))
        f.write("\n#undef OP\n#undef ALIAS\n")


def value_of(e):
    return e["value"] if isinstance(e["value"], int) else int(e["value"], 0)


def check_depth(kinds):
    """Parameters must have no parameters of their own: the walk over operands keeps one level."""
    with_params = {k["kind"] for k in kinds if any(e.get("parameters") for e in k.get("enumerants", []))}
    for k in kinds:
        for e in k.get("enumerants", []):
            assert not with_params & {p["kind"] for p in e.get("parameters", [])}, e


def write_kinds(f, kinds, rename):
    check_depth(kinds)
    for k in kinds:
        if k["category"] not in ("BitEnum", "ValueEnum"):
            continue
        name = rename.get(k["kind"], k["kind"])
        f.write("\n%s(%s)\n" % ("MASK_KIND" if k["category"] == "BitEnum" else "VALUE_KIND", name))
        for e in sorted(k["enumerants"], key=value_of):
            value = value_of(e)
            mask = k["category"] == "BitEnum"
            form = "MASK" if mask and value else "NONE" if mask else "VALUE"
            text = "0x%X" % value if mask else "%d" % value
            params = " ".join(operand(p, rename) for p in e.get("parameters", []))
            f.write(row(form, name, e["enumerant"], text, params, caps(e)))
            for a in e.get("aliases", []):
                f.write("%s_ALIAS(%s, %s, %s)\n" % (form, name, a, e["enumerant"]))
        f.write("END_KIND(%s)\n" % name)


def write_enumerants(grammar, ext, path, version):
    with open(path, "w") as f:
        f.write(HEAD % ("Operand kinds and their enumerants.", version,
                        "MASK_KIND, VALUE_KIND, PLAIN_KIND(kind)\n"
                        " * MASK, VALUE(kind, name, value, parameters, capabilities); NONE: a mask's 0\n"
                        " * MASK_ALIAS, VALUE_ALIAS(kind, other name, name)\n"
                        " * Parameters as ops.def's operands. A kind's rows, by value, lie between it\n"
                        " * and its END_KIND(kind)."))
        for m in ("MASK_KIND", "VALUE_KIND", "PLAIN_KIND", "END_KIND"):
            f.write("#ifndef %s\n#define %s(kind)\n#endif\n" % (m, m))
        for m in ("MASK", "VALUE", "NONE"):
            f.write("#ifndef %s\n#define %s(kind, name, value, parameters, capabilities)\n#endif\n"
                    % (m, m))
            f.write("#ifndef %s_ALIAS\n#define %s_ALIAS(kind, other, name)\n#endif\n" % (m, m))
        f.write("\n")
        for k in grammar["operand_kinds"]:
            if k["category"] not in ("BitEnum", "ValueEnum"):
                f.write("PLAIN_KIND(%s)\n" % k["kind"])
        write_kinds(f, grammar["operand_kinds"], {})
        for token, _, g in ext:
            write_kinds(f, g.get("operand_kinds", []), renames(token, g))
        f.write("\n")
        for m in ("MASK_KIND", "VALUE_KIND", "PLAIN_KIND", "END_KIND", "MASK", "VALUE", "NONE", "MASK_ALIAS",
                  "VALUE_ALIAS", "NONE_ALIAS"):
            f.write("#undef %s\n" % m)


def renames(token, g):
    return {k["kind"]: token.rstrip("_") + "_" + k["kind"] for k in g.get("operand_kinds", [])}


def write_ext(ext, path, version):
    with open(path, "w") as f:
        f.write(HEAD % ("The extended instruction sets.", version,
                        "SET(token, name): a trailing * stands for any suffix\n"
                        " * EXT(set, name, number, operands)"))
        f.write("#ifndef SET\n#define SET(token, name)\n#endif\n")
        f.write("#ifndef END_SET\n#define END_SET(token)\n#endif\n")
        f.write("#ifndef EXT\n#define EXT(set, name, number, operands)\n#endif\n")
        for token, name, g in ext:
            f.write('\nSET(%s, "%s")\n' % (token, name))
            seen = set()
            for i in sorted(g["instructions"], key=lambda i: i["opcode"]):
                if i["opcode"] in seen:
                    continue
                seen.add(i["opcode"])
                rest = " ".join(operand(o, renames(token, g)) for o in i.get("operands", []))
                f.write(row("EXT", token, i["opname"], str(i["opcode"]), rest))
            f.write("END_SET(%s)\n" % token)
        f.write("\n#undef SET\n#undef END_SET\n#undef EXT\n")


def add_supplement(grammar, path):
    extra = json.load(open(path))
    names = {i["opname"] for i in grammar["instructions"]}
    for i in grammar["instructions"]:
        names |= set(i.get("aliases", []))
    grammar["instructions"] += [i for i in extra.get("instructions", []) if i["opname"] not in names]
    kinds = {k["kind"]: k for k in grammar["operand_kinds"]}
    for k in extra.get("operand_kinds", []):
        if k["kind"] not in kinds:
            grammar["operand_kinds"].append(k)
            continue
        have = kinds[k["kind"]]["enumerants"]
        known = {e["enumerant"] for e in have} | {a for e in have for a in e.get("aliases", [])}
        have += [e for e in k["enumerants"] if e["enumerant"] not in known]


def check(grammar, out):
    rows = dict((int(n), name) for name, n in
                re.findall(r"^OP\((\w+), (\d+)", open(os.path.join(out, "ops.def")).read(), re.M))
    enumerants = set((kind, name) for kind, name in
                     re.findall(r"^(?:MASK|VALUE|NONE)\((\w+), (\w+),",
                                open(os.path.join(out, "enumerants.def")).read(), re.M))
    missing = [i["opname"] for i in grammar["instructions"] if i["opcode"] not in rows]
    for k in grammar["operand_kinds"]:
        for e in k.get("enumerants", []):
            names = [e["enumerant"]] + e.get("aliases", [])
            if not any((k["kind"], n) in enumerants for n in names):
                missing.append(k["kind"] + " " + e["enumerant"])
    for m in missing:
        print("missing:", m)
    print("%d instructions, %d missing" % (len(grammar["instructions"]), len(missing)))
    return 1 if missing else 0


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("grammar")
    p.add_argument("--supplement")
    p.add_argument("--out", default=os.path.join(here, "..", "src", "spirv"))
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    grammar = json.load(open(os.path.join(a.grammar, "spirv.core.grammar.json")))
    if a.supplement:
        add_supplement(grammar, a.supplement)
    if a.check:
        return check(grammar, a.out)
    version = "%d.%d.%d" % (grammar["major_version"], grammar["minor_version"], grammar["revision"])
    ext = [(t, n, json.load(open(os.path.join(a.grammar, "extinst.%s.grammar.json" % file))))
           for t, n, file in SETS]
    write_ops(grammar, os.path.join(a.out, "ops.def"), version)
    write_enumerants(grammar, ext, os.path.join(a.out, "enumerants.def"), version)
    write_ext(ext, os.path.join(a.out, "ext_insts.def"), version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
