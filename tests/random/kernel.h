/* SPDX-License-Identifier: MIT
 *
 * random_kernel: a whole module from a seed. Its memory, all in set 0:
 *
 *     0  u32 in[INPUTS]            read only
 *     1  u32 out[][SLOTS]          an invocation's own: its variables at the end, values on the way
 *     2  u32 counters[COUNTERS]    atomics of all
 *     3  Own own[]                 an invocation's own, of all types (OWN_BYTES each)
 *     4  matrices A and B, read    5  matrices C, read       6  matrices C, written by subgroups
 */
#ifndef RANDOM_KERNEL_H
#define RANDOM_KERNEL_H

#include "statements.h"

enum { OWN_BYTES = 96, MATRIX_INPUTS = 2048, MATRIX_OUTPUTS = 2048 /* a subgroup */ };

static const Matrices matrix_kinds[] = {
    { 16, 16, 16, S8, S32 }, { 16, 8, 16, U8, U32 },  { 8, 16, 16, F16, F32 },
    { 16, 16, 16, F16, F32 }, { 16, 16, 8, F32, F32 }, { 16, 16, 32, S8, S32 },
    { 32, 16, 16, F32, F32 }, { 16, 16, 16, U8, S32 }, { 16, 32, 16, S32, S32 },
};

static const char header[] =
    "; SPIR-V\n; Version: 1.6\n"
    "OpCapability Shader\nOpCapability Int8\nOpCapability Int16\nOpCapability Int64\n"
    "OpCapability Float16\nOpCapability Float64\nOpCapability StorageBuffer8BitAccess\n"
    "OpCapability StorageBuffer16BitAccess\nOpCapability GroupNonUniform\n"
    "OpCapability GroupNonUniformVote\nOpCapability GroupNonUniformBallot\n"
    "OpCapability GroupNonUniformArithmetic\nOpCapability GroupNonUniformShuffle\n"
    "OpCapability GroupNonUniformShuffleRelative\nOpCapability GroupNonUniformClustered\n"
    "OpCapability GroupNonUniformRotateKHR\nOpCapability GroupNonUniformQuad\n"
    "OpCapability SignedZeroInfNanPreserve\nOpCapability DenormPreserve\n"
    "OpCapability RoundingModeRTE\nOpCapability DotProduct\nOpCapability DotProductInput4x8Bit\n";

static const char modes[] =
    "OpExecutionMode %main SignedZeroInfNanPreserve 16\n"
    "OpExecutionMode %main SignedZeroInfNanPreserve 32\n"
    "OpExecutionMode %main SignedZeroInfNanPreserve 64\n"
    "OpExecutionMode %main DenormPreserve 16\nOpExecutionMode %main DenormPreserve 32\n"
    "OpExecutionMode %main DenormPreserve 64\nOpExecutionMode %main RoundingModeRTE 16\n"
    "OpExecutionMode %main RoundingModeRTE 32\nOpExecutionMode %main RoundingModeRTE 64\n"
    "OpExecutionMode %main MaximallyReconvergesKHR\n";

static const char decorations[] =
    "OpDecorate %wg_id BuiltIn WorkgroupId\nOpDecorate %wg_count BuiltIn NumWorkgroups\n"
    "OpDecorate %local_id BuiltIn LocalInvocationId\n"
    "OpDecorate %global_id BuiltIn GlobalInvocationId\n"
    "OpDecorate %local_index BuiltIn LocalInvocationIndex\n"
    "OpDecorate %sg_count BuiltIn NumSubgroups\nOpDecorate %sg_size BuiltIn SubgroupSize\n"
    "OpDecorate %sg_id BuiltIn SubgroupId\n"
    "OpDecorate %sg_lane BuiltIn SubgroupLocalInvocationId\n"
    "OpDecorate %In Block\nOpMemberDecorate %In 0 Offset 0\n"
    "OpDecorate %words ArrayStride 4\nOpDecorate %owns ArrayStride 96\n"
    "OpDecorate %s32x4 ArrayStride 4\n"
    "OpDecorate %Owns Block\nOpMemberDecorate %Owns 0 Offset 0\n"
    "OpMemberDecorate %Own 0 Offset 0\nOpMemberDecorate %Own 1 Offset 4\n"
    "OpMemberDecorate %Own 2 Offset 8\nOpMemberDecorate %Own 3 Offset 16\n"
    "OpMemberDecorate %Own 4 Offset 32\nOpMemberDecorate %Own 5 Offset 48\n"
    "OpMemberDecorate %Own 6 Offset 49\nOpMemberDecorate %Own 7 Offset 50\n"
    "OpMemberDecorate %Own 8 Offset 52\nOpMemberDecorate %Own 9 Offset 56\n"
    "OpMemberDecorate %Own 10 Offset 64\nOpMemberDecorate %Own 11 Offset 72\n"
    "OpMemberDecorate %Own 12 Offset 80\n"
    "OpDecorate %in DescriptorSet 0\nOpDecorate %in Binding 0\n"
    "OpDecorate %out DescriptorSet 0\nOpDecorate %out Binding 1\n"
    "OpDecorate %counters DescriptorSet 0\nOpDecorate %counters Binding 2\n"
    "OpDecorate %own DescriptorSet 0\nOpDecorate %own Binding 3\n";

static const char types[] =
    "%void = OpTypeVoid\n%bool = OpTypeBool\n%u8 = OpTypeInt 8 0\n%s8 = OpTypeInt 8 1\n"
    "%u16 = OpTypeInt 16 0\n%s16 = OpTypeInt 16 1\n%u32 = OpTypeInt 32 0\n%s32 = OpTypeInt 32 1\n"
    "%u64 = OpTypeInt 64 0\n%s64 = OpTypeInt 64 1\n%f16 = OpTypeFloat 16\n%f32 = OpTypeFloat 32\n"
    "%f64 = OpTypeFloat 64\n%true = OpConstantTrue %bool\n%false = OpConstantFalse %bool\n"
    "%pair_u32 = OpTypeStruct %u32 %u32\n%pair_s32 = OpTypeStruct %s32 %s32\n"
    "%main_type = OpTypeFunction %void\n"
    "%words = OpTypeRuntimeArray %u32\n%In = OpTypeStruct %words\n"
    "%ptr_In = OpTypePointer StorageBuffer %In\n"
    "%in = OpVariable %ptr_In StorageBuffer\n%out = OpVariable %ptr_In StorageBuffer\n"
    "%counters = OpVariable %ptr_In StorageBuffer\n";

static void declare_own(Gen *g)
{
    type_name(g, (Type){ U32, 3 });
    type_name(g, (Type){ U32, 4 });
    type_name(g, (Type){ F16, 4 });
    type_name(g, (Type){ S16, 2 });
    Id four = u32(g, 4);
    str_printf(g->arena, &g->types, "%%s32x4 = OpTypeArray %%s32 %s\n", four);
    str_add(g->arena, &g->types,
            "%Own = OpTypeStruct %u32 %s32 %f32 %v3u32 %s32x4 %u8 %s8 %u16 %f16 %u64 %f64 %v4f16 "
            "%v2s16\n%owns = OpTypeRuntimeArray %Own\n%Owns = OpTypeStruct %owns\n"
            "%ptr_Owns = OpTypePointer StorageBuffer %Owns\n"
            "%own = OpVariable %ptr_Owns StorageBuffer\n");
}

/* Inputs, and workgroup memory; adds their names to the entry point's list. */
static void declare_interface(Gen *g, Str *list)
{
    static const struct { const char *name; uint32_t n; } inputs[] = {
        { "wg_id", 3 }, { "wg_count", 3 }, { "local_id", 3 }, { "global_id", 3 },
        { "local_index", 1 }, { "sg_count", 1 }, { "sg_size", 1 }, { "sg_id", 1 }, { "sg_lane", 1 },
    };
    str_add(g->arena, list, "%in %out %counters %own");
    for (uint32_t i = 0; i < COUNT_OF(inputs); i++) {
        Id type = pointer_type(g, "Input", type_name(g, (Type){ U32, inputs[i].n }));
        str_printf(g->arena, &g->types, "%%%s = OpVariable %s Input\n", inputs[i].name, type);
        str_printf(g->arena, list, " %%%s", inputs[i].name);
    }
    if (g->features & SHARED) {
        Id n = u32(g, g->n_local);
        str_printf(g->arena, &g->types, "%%shared_type = OpTypeArray %%u32 %s\n", n);
        str_printf(g->arena, &g->types, "%%shared = OpVariable %s Workgroup\n",
                   pointer_type(g, "Workgroup", "%shared_type"));
        pointer_type(g, "Workgroup", "%u32");
        str_add(g->arena, list, " %shared");
    }
    pointer_type(g, "StorageBuffer", "%u32");
}

static void declare_matrices(Gen *g, Str *list, Str *decorate)
{
    const char *a = kind_names[g->matrix.a], *c = kind_names[g->matrix.c];
    Id three = u32(g, 3), two = u32(g, 2);
    for (uint32_t use = 0; use < 3; use++) {
        uint32_t rows, columns;
        matrix_shape(g, use, &rows, &columns);
        Id m = u32(g, rows), n = u32(g, columns), as = u32(g, use);
        Id name = arena_printf(g->arena, "%%%s", matrix_types[use]);
        str_printf(g->arena, &g->types, "%s = OpTypeCooperativeMatrixKHR %%%s %s %s %s %s\n", name,
                   use == 2 ? c : a, three, m, n, as);
        str_printf(g->arena, &g->types, "%s_2 = OpTypeArray %s %s\n", name, name, two);
        pointer_type(g, "Function", name);
        pointer_type(g, "Function", arena_printf(g->arena, "%s_2", name));
    }
    pointer_type(g, "Function", arena_printf(g->arena, "%%%s", a));
    pointer_type(g, "Function", arena_printf(g->arena, "%%%s", c));
    static const char *const names[] = { "matrix_ab", "matrix_c", "matrix_out" };
    for (uint32_t i = 0; i < 3; i++) {
        const char *name = names[i], *kind = i ? c : a;
        str_printf(g->arena, &g->types, "%%%s_array = OpTypeRuntimeArray %%%s\n", name, kind);
        str_printf(g->arena, &g->types, "%%%s_block = OpTypeStruct %%%s_array\n", name, name);
        str_printf(g->arena, &g->types, "%%%s = OpVariable %s StorageBuffer\n", name,
                   pointer_type(g, "StorageBuffer",
                                arena_printf(g->arena, "%%%s_block", name)));
        pointer_type(g, "StorageBuffer", arena_printf(g->arena, "%%%s", kind));
        str_printf(g->arena, decorate,
                   "OpDecorate %%%s_array ArrayStride %u\nOpDecorate %%%s_block Block\n"
                   "OpMemberDecorate %%%s_block 0 Offset 0\nOpDecorate %%%s DescriptorSet 0\n"
                   "OpDecorate %%%s Binding %u\n", name,
                   kind_bits[i ? g->matrix.c : g->matrix.a] / 8, name, name, name, name, 4 + i);
        str_printf(g->arena, list, " %%%s", name);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static void begin_function(Gen *g)
{
    g->out = (Str){ 0 };
    g->variables = (Str){ 0 };
    g->n_variables = g->n_values = 0;
    g->loop_merge = g->loop_continue = g->switch_merge = NULL;
    g->depth = 0;
    g->dead = false;
    g->escape = IN_WORKGROUP;
    g->limit = IN_INVOCATION;
    g->label = new_id(g, "b");
    g->local = op(g, "OpLoad %%u32 %%local_index");
    Id group = op(g, "OpLoad %%v3u32 %%wg_id");
    group = op(g, "OpCompositeExtract %%u32 %s 0", group);
    group = op(g, "OpIMul %%u32 %s %s", group, u32(g, g->n_local));
    g->invocation = op(g, "OpIAdd %%u32 %s %s", group, g->local);
}

static void end_function(Gen *g, Id entry)
{
    str_printf(g->arena, &g->functions, "%s = OpLabel\n%s%sOpFunctionEnd\n", entry,
               g->variables.data ? g->variables.data : "", g->out.data);
}

/* Functions of one signature have one type. */
static void declare_signature(Gen *g, Function *f, Id signature)
{
    f->signature = signature;
    for (uint32_t k = 0; k < g->n_functions; k++)
        if (!strcmp(g->function[k].signature, signature)) {
            f->type = g->function[k].type;
            return;
        }
    f->type = arena_printf(g->arena, "%s_type", f->id);
    str_printf(g->arena, &g->types, "%s = OpTypeFunction %s\n", f->type, signature);
}

static void make_function(Gen *g)
{
    Function f = { .id = new_id(g, "fn"), .n_out = 1 + pick(g, 2) };
    Str parameters = { 0 }, list = { 0 };
    f.result = any_type(g);
    begin_function(g);
    Id entry = g->label;
    g->is_main = false;
    g->flow = IN_INVOCATION;
    g->result = f.result;
    str_add(g->arena, &list, "%u32");
    add_value(g, "%x", scalar(U32), IN_INVOCATION);
    g->value[0].id = new_id(g, "x");
    str_printf(g->arena, &parameters, "%s = OpFunctionParameter %%u32\n", g->value[0].id);
    for (uint32_t i = 0; i < f.n_out; i++) {
        f.out[i] = any_type(g);
        Id type = pointer_type(g, "Function", type_name(g, f.out[i])), p = new_id(g, "p");
        str_printf(g->arena, &list, " %s", type);
        str_printf(g->arena, &parameters, "%s = OpFunctionParameter %s\n", p, type);
        add_variable(g, (Variable){ .type = f.out[i], .storage = "Function", .base = p,
                                    .chain = "" });
    }
    for (uint32_t i = 0; i < 2; i++)
        declare_variable(g);
    Id result = type_name(g, f.result);
    declare_signature(g, &f, arena_printf(g->arena, "%s %s", result, list.data));
    str_printf(g->arena, &g->functions, "%s = OpFunction %s None %s\n%s", f.id, result, f.type,
               parameters.data);
    g->budget = 6;
    block(g, 6);
    bool dead = g->dead;
    Mark mark = begin_node(g);
    Id x = expression(g, f.result, 2);
    say(g, "OpReturnValue %s", x);
    if (dead)
        take_back(g, mark);
    end_function(g, entry);
    g->function[g->n_functions++] = f;
}

/* The variables of main into the invocation's slots. */
static void dump(Gen *g)
{
    Id at = op(g, "OpIMul %%u32 %s %s", g->invocation, u32(g, SLOTS));
    for (uint32_t i = 0; i < g->n_variables && i < SLOTS - 16; i++) {
        const Variable *v = &g->variable[i];
        Mark mark = begin_node(g);
        Id sum = NULL;
        for (uint32_t e = 0; e < MAX(v->length, 1); e++) {
            Id x = op(g, "OpLoad %s %s", type_name(g, v->type), pointer_to(g, v, u32(g, e)));
            x = digest(g, v->type, x);
            if (sum) {
                sum = op(g, "OpIMul %%u32 %s %s", sum, u32(g, 31));
                x = op(g, "OpIAdd %%u32 %s %s", sum, x);
            }
            sum = x;
        }
        Id slot = op(g, "OpIAdd %%u32 %s %s", at, u32(g, i));
        Id p = op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%out %s %s", u32(g, 0), slot);
        say(g, "OpStore %s %s", p, sum);
        end_node(g, mark);
    }
    for (uint32_t k = 0; g->features & MATRICES && k < MATRIX_VARIABLES + 2; k++) {
        Mark mark = begin_node(g);
        store_matrix(g, k, chance(g, 50));
        end_node(g, mark);
    }
}

static void matrix_variables(Gen *g)
{
    for (uint32_t use = 0; use < 3; use++) {
        const char *type = matrix_types[use];
        for (uint32_t i = 0; i < MATRIX_VARIABLES + 2; i++) {
            if (i < MATRIX_VARIABLES)
                str_printf(g->arena, &g->variables,
                           "%%var_%s%u = OpVariable %%ptr_Function_%s Function\n", type, i, type);
            Id x = load_matrix(g, use), p;
            p = i < MATRIX_VARIABLES ? arena_printf(g->arena, "%%var_%s%u", type, i)
                : op(g, "OpAccessChain %%ptr_Function_%s %%array_%s %s", type, type,
                     u32(g, i - MATRIX_VARIABLES));
            say(g, "OpStore %s %s", p, x);
        }
        str_printf(g->arena, &g->variables,
                   "%%array_%s = OpVariable %%ptr_Function_%s_2 Function\n", type, type);
    }
}

static void make_main(Gen *g)
{
    begin_function(g);
    Id entry = g->label;
    g->is_main = true;
    g->flow = IN_WORKGROUP;
    own_variables(g);
    for (uint32_t i = 0; i < 3 + pick(g, 6); i++)
        declare_variable(g);
    if (g->features & MATRICES)
        matrix_variables(g);
    g->budget = 6 + pick(g, 20);
    block(g, g->budget);
    bool dead = g->dead;
    Mark mark = begin_node(g);
    dump(g);
    say(g, "OpReturn");
    if (dead)
        take_back(g, mark);
    str_add(g->arena, &g->functions, "%main = OpFunction %void None %main_type\n");
    end_function(g, entry);
}

/* NoContraction for all that a multiply-add could be made of. */
static void no_contraction(Gen *g, Str *decorate)
{
    for (const char *s = g->functions.data; s && *s; s = strchr(s, '\n'), s += s != NULL) {
        const char *end = strchr(s, '\n'), *name = strstr(s, "= Op");
        if (!name || !end || name > end)
            continue;
        if (!strncmp(name, "= OpFAdd ", 9) || !strncmp(name, "= OpFSub ", 9) ||
            !strncmp(name, "= OpFMul ", 9) || !strncmp(name, "= OpVectorTimesScalar ", 22))
            str_printf(g->arena, decorate, "OpDecorate %.*s NoContraction\n",
                       (int)(strchr(s, ' ') - s), s);
    }
}

static void choose_size(Gen *g, Kernel *k)
{
    static const uint8_t sizes[][3] = { { 1, 1, 1 }, { 8, 1, 1 }, { 16, 1, 1 }, { 32, 1, 1 },
                                        { 7, 1, 1 }, { 20, 1, 1 }, { 33, 1, 1 }, { 5, 3, 1 },
                                        { 4, 4, 2 }, { 64, 1, 1 }, { 3, 2, 4 } };
    uint32_t i = pick(g, COUNT_OF(sizes));
    for (uint32_t d = 0; d < 3; d++)
        k->local[d] = g->features & MATRICES ? (d ? 1 : 128) : sizes[i][d];
    k->groups = g->features & MATRICES ? 1 : 1 + pick(g, 2);
    g->n_local = k->local[0] * k->local[1] * k->local[2];
}

/* `skip`: MAX_NODES bytes, or NULL. */
static Kernel random_kernel(Arena *arena, uint64_t seed, const uint8_t *skip)
{
    Gen *g = NEW(arena, Gen);
    Str list = { 0 }, decorate = { 0 }, text = { 0 };
    Kernel k = { 0 };
    g->arena = arena;
    g->rng.state = seed * 0x9e3779b97f4a7c15u + 1;
    g->skip = skip;
    rng_u64(&g->rng);
    g->features = pick(g, 64) | (chance(g, 12) ? MATRICES : 0) | (chance(g, 15) ? OUTSIDE : 0) |
                  (chance(g, 60) ? VECTORS : 0) | (chance(g, 50) ? CALLS : 0);
    g->features |= g->features & OUTSIDE && seed & 1 ? ENDS : 0;
    g->vulkan = g->features & MATRICES || chance(g, 50);
    g->matrix = matrix_kinds[pick(g, COUNT_OF(matrix_kinds))];
    choose_size(g, &k);
    u32(g, 0), u32(g, 1), u32(g, 3);
    declare_own(g);
    declare_interface(g, &list);
    if (g->features & MATRICES)
        declare_matrices(g, &list, &decorate);
    while (g->features & CALLS && g->n_functions < MAX_FUNCTIONS && chance(g, 70))
        make_function(g);
    make_main(g);
    no_contraction(g, &decorate);
    str_add(arena, &text, header);
    if (g->vulkan)
        str_add(arena, &text, "OpCapability VulkanMemoryModel\n"
                              "OpCapability VulkanMemoryModelDeviceScope\n");
    if (g->features & MATRICES)
        str_add(arena, &text, "OpCapability CooperativeMatrixKHR\n"
                              "OpExtension \"SPV_KHR_cooperative_matrix\"\n");
    str_add(arena, &text, "OpExtension \"SPV_KHR_maximal_reconvergence\"\n"
                          "OpExtension \"SPV_KHR_subgroup_rotate\"\n");
    str_printf(arena, &text, "%%glsl = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel Logical %s\n"
               "OpEntryPoint GLCompute %%main \"main\" %s\n"
               "OpExecutionMode %%main LocalSize %u %u %u\n%s%s%s%s%s%s",
               g->vulkan ? "Vulkan" : "GLSL450", list.data, k.local[0], k.local[1], k.local[2],
               modes, decorations, decorate.data ? decorate.data : "", types, g->types.data,
               g->functions.data);
    k.text = text.data;
    k.features = g->features;
    k.a = g->matrix.a;
    k.c = g->matrix.c;
    k.nodes = MIN(g->nodes, MAX_NODES);
    return k;
}

#endif
