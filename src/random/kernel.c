/* SPDX-License-Identifier: MIT
 *
 * The module around a random kernel: what it declares, its functions, its memory.
 */
#include "random/internal.h"

static const GenMatrices matrix_kinds[] = {
    { 16, 16, 16, S8, S32 },  { 16, 8, 16, U8, U32 },  { 8, 16, 16, F16, F32 },
    { 16, 16, 16, F16, F32 }, { 16, 16, 8, F32, F32 }, { 16, 16, 32, S8, S32 },
    { 32, 16, 16, F32, F32 }, { 16, 16, 16, U8, S32 }, { 16, 32, 16, S32, S32 },
};

/* Lines of the preamble, and what the target must have for them (of GenHas; 0: nothing). */
typedef struct Line {
    uint32_t needs;
    const char *text;
} Line;

static const Line capabilities[] = {
    { 0, "; SPIR-V\n; Version: 1.6\n"
         "OpCapability Shader\nOpCapability Int8\nOpCapability Int16\n" },
    { GEN_INT64, "OpCapability Int64\n" },
    { 0, "OpCapability Float16\n" },
    { GEN_FLOAT64, "OpCapability Float64\n" },
    { 0, "OpCapability StorageBuffer8BitAccess\nOpCapability StorageBuffer16BitAccess\n" },
    { GEN_SUBGROUPS, "OpCapability GroupNonUniform\n"
                     "OpCapability GroupNonUniformVote\nOpCapability GroupNonUniformBallot\n"
                     "OpCapability GroupNonUniformArithmetic\n"
                     "OpCapability GroupNonUniformShuffle\n"
                     "OpCapability GroupNonUniformShuffleRelative\n"
                     "OpCapability GroupNonUniformClustered\n" },
    { GEN_ROTATES, "OpCapability GroupNonUniformRotateKHR\n" },
    { GEN_SUBGROUPS, "OpCapability GroupNonUniformQuad\n" },
    { GEN_FLOAT_MODES, "OpCapability SignedZeroInfNanPreserve\nOpCapability DenormPreserve\n"
                       "OpCapability RoundingModeRTE\n" },
    { GEN_DOTS, "OpCapability DotProduct\nOpCapability DotProductInput4x8Bit\n" },
};

static const Line extensions[] = {
    { GEN_RECONVERGES, "OpExtension \"SPV_KHR_maximal_reconvergence\"\n" },
    { GEN_ROTATES, "OpExtension \"SPV_KHR_subgroup_rotate\"\n" },
};

static const Line modes[] = {
    { GEN_FLOAT_MODES, "OpExecutionMode %main SignedZeroInfNanPreserve 16\n"
                       "OpExecutionMode %main SignedZeroInfNanPreserve 32\n" },
    { GEN_FLOAT_MODES | GEN_FLOAT64, "OpExecutionMode %main SignedZeroInfNanPreserve 64\n" },
    { GEN_FLOAT_MODES, "OpExecutionMode %main DenormPreserve 16\n"
                       "OpExecutionMode %main DenormPreserve 32\n" },
    { GEN_FLOAT_MODES | GEN_FLOAT64, "OpExecutionMode %main DenormPreserve 64\n" },
    { GEN_FLOAT_MODES, "OpExecutionMode %main RoundingModeRTE 16\n"
                       "OpExecutionMode %main RoundingModeRTE 32\n" },
    { GEN_FLOAT_MODES | GEN_FLOAT64, "OpExecutionMode %main RoundingModeRTE 64\n" },
    { GEN_RECONVERGES, "OpExecutionMode %main MaximallyReconvergesKHR\n" },
};

/* Structures of the same size stand for the numbers that the target lacks: nothing but the layout
 * of `own` names these. */
static const Line decorations_of_pairs[] = {
    { GEN_INT64, "OpMemberDecorate %u64 0 Offset 0\nOpMemberDecorate %u64 1 Offset 4\n" },
    { GEN_FLOAT64, "OpMemberDecorate %f64 0 Offset 0\nOpMemberDecorate %f64 1 Offset 4\n" },
};

static void add_lines(const Gen *g, Str *text, const Line *lines, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if ((g->has & lines[k].needs) == lines[k].needs)
            str_add(g->arena, text, lines[k].text);
}

static const char decorations_of_subgroups[] =
    "OpDecorate %sg_count BuiltIn NumSubgroups\nOpDecorate %sg_size BuiltIn SubgroupSize\n"
    "OpDecorate %sg_id BuiltIn SubgroupId\n"
    "OpDecorate %sg_lane BuiltIn SubgroupLocalInvocationId\n";

static const char decorations[] =
    "OpDecorate %wg_id BuiltIn WorkgroupId\nOpDecorate %wg_count BuiltIn NumWorkgroups\n"
    "OpDecorate %local_id BuiltIn LocalInvocationId\n"
    "OpDecorate %global_id BuiltIn GlobalInvocationId\n"
    "OpDecorate %local_index BuiltIn LocalInvocationIndex\n"
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

static void add_types(const Gen *g, Str *text)
{
    static const char pair[] = "OpTypeStruct %u32 %u32\n";
    str_printf(g->arena, text,
               "%%void = OpTypeVoid\n%%bool = OpTypeBool\n%%u8 = OpTypeInt 8 0\n"
               "%%s8 = OpTypeInt 8 1\n%%u16 = OpTypeInt 16 0\n%%s16 = OpTypeInt 16 1\n"
               "%%u32 = OpTypeInt 32 0\n%%s32 = OpTypeInt 32 1\n%%u64 = %s%s"
               "%%f16 = OpTypeFloat 16\n%%f32 = OpTypeFloat 32\n%%f64 = %s",
               g->has & GEN_INT64 ? "OpTypeInt 64 0\n" : pair,
               g->has & GEN_INT64 ? "%s64 = OpTypeInt 64 1\n" : "",
               g->has & GEN_FLOAT64 ? "OpTypeFloat 64\n" : pair);
    str_add(g->arena, text,
            "%true = OpConstantTrue %bool\n%false = OpConstantFalse %bool\n"
            "%pair_u32 = OpTypeStruct %u32 %u32\n%pair_s32 = OpTypeStruct %s32 %s32\n"
            "%main_type = OpTypeFunction %void\n"
            "%words = OpTypeRuntimeArray %u32\n%In = OpTypeStruct %words\n"
            "%ptr_In = OpTypePointer StorageBuffer %In\n"
            "%in = OpVariable %ptr_In StorageBuffer\n%out = OpVariable %ptr_In StorageBuffer\n"
            "%counters = OpVariable %ptr_In StorageBuffer\n");
}

static void declare_own(Gen *g)
{
    gen_type_name(g, (GenType){ U32, 3 });
    gen_type_name(g, (GenType){ U32, 4 });
    gen_type_name(g, (GenType){ F16, 4 });
    gen_type_name(g, (GenType){ S16, 2 });
    GenId four = gen_u32(g, 4);
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
    static const struct {
        const char *name;
        uint32_t n;
    } inputs[] = {
        { "wg_id", 3 },     { "wg_count", 3 },    { "local_id", 3 },
        { "global_id", 3 }, { "local_index", 1 }, { "sg_count", 1 },
        { "sg_size", 1 },   { "sg_id", 1 },       { "sg_lane", 1 },
    };
    str_add(g->arena, list, "%in %out %counters %own");
    for (uint32_t i = 0; i < COUNT_OF(inputs); i++) {
        if (!strncmp(inputs[i].name, "sg_", 3) && !(g->has & GEN_SUBGROUPS))
            continue;
        GenId type = gen_pointer_type(g, "Input", gen_type_name(g, (GenType){ U32, inputs[i].n }));
        str_printf(g->arena, &g->types, "%%%s = OpVariable %s Input\n", inputs[i].name, type);
        str_printf(g->arena, list, " %%%s", inputs[i].name);
    }
    if (g->features & SHARED) {
        GenId n = gen_u32(g, g->n_local);
        str_printf(g->arena, &g->types, "%%shared_type = OpTypeArray %%u32 %s\n", n);
        str_printf(g->arena, &g->types, "%%shared = OpVariable %s Workgroup\n",
                   gen_pointer_type(g, "Workgroup", "%shared_type"));
        gen_pointer_type(g, "Workgroup", "%u32");
        str_add(g->arena, list, " %shared");
    }
    gen_pointer_type(g, "StorageBuffer", "%u32");
}

static void declare_matrices(Gen *g, Str *list, Str *decorate)
{
    const char *a = gen_kind_names[g->matrix.a], *c = gen_kind_names[g->matrix.c];
    GenId three = gen_u32(g, 3), two = gen_u32(g, 2);
    for (uint32_t use = 0; use < 3; use++) {
        uint32_t rows, columns;
        gen_matrix_shape(g, use, &rows, &columns);
        GenId m = gen_u32(g, rows), n = gen_u32(g, columns), as = gen_u32(g, use);
        GenId name = arena_printf(g->arena, "%%%s", gen_matrix_types[use]);
        str_printf(g->arena, &g->types, "%s = OpTypeCooperativeMatrixKHR %%%s %s %s %s %s\n", name,
                   use == 2 ? c : a, three, m, n, as);
        str_printf(g->arena, &g->types, "%s_2 = OpTypeArray %s %s\n", name, name, two);
        gen_pointer_type(g, "Function", name);
        gen_pointer_type(g, "Function", arena_printf(g->arena, "%s_2", name));
    }
    gen_pointer_type(g, "Function", arena_printf(g->arena, "%%%s", a));
    gen_pointer_type(g, "Function", arena_printf(g->arena, "%%%s", c));
    static const char *const names[] = { "matrix_ab", "matrix_c", "matrix_out" };
    for (uint32_t i = 0; i < 3; i++) {
        const char *name = names[i], *kind = i ? c : a;
        str_printf(g->arena, &g->types, "%%%s_array = OpTypeRuntimeArray %%%s\n", name, kind);
        str_printf(g->arena, &g->types, "%%%s_block = OpTypeStruct %%%s_array\n", name, name);
        str_printf(
            g->arena, &g->types, "%%%s = OpVariable %s StorageBuffer\n", name,
            gen_pointer_type(g, "StorageBuffer", arena_printf(g->arena, "%%%s_block", name)));
        gen_pointer_type(g, "StorageBuffer", arena_printf(g->arena, "%%%s", kind));
        str_printf(g->arena, decorate,
                   "OpDecorate %%%s_array ArrayStride %u\nOpDecorate %%%s_block Block\n"
                   "OpMemberDecorate %%%s_block 0 Offset 0\nOpDecorate %%%s DescriptorSet 0\n"
                   "OpDecorate %%%s Binding %u\n",
                   name, gen_kind_bits[i ? g->matrix.c : g->matrix.a] / 8, name, name, name, name,
                   4 + i);
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
    g->label = gen_new_id(g, "b");
    g->local = gen_op(g, "OpLoad %%u32 %%local_index");
    GenId group = gen_op(g, "OpLoad %%v3u32 %%wg_id");
    group = gen_op(g, "OpCompositeExtract %%u32 %s 0", group);
    group = gen_op(g, "OpIMul %%u32 %s %s", group, gen_u32(g, g->n_local));
    g->invocation = gen_op(g, "OpIAdd %%u32 %s %s", group, g->local);
}

static void end_function(Gen *g, GenId entry)
{
    str_printf(g->arena, &g->functions, "%s = OpLabel\n%s%sOpFunctionEnd\n", entry,
               g->variables.data ? g->variables.data : "", g->out.data);
}

/* Functions of one signature have one type. */
static void declare_signature(Gen *g, GenFunction *f, GenId signature)
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
    GenFunction f = { .id = gen_new_id(g, "fn"), .n_out = 1 + gen_pick(g, 2) };
    Str parameters = { 0 }, list = { 0 };
    f.result = gen_any_type(g);
    begin_function(g);
    GenId entry = g->label;
    g->is_main = false;
    g->flow = IN_INVOCATION;
    g->result = f.result;
    str_add(g->arena, &list, "%u32");
    gen_add_value(g, "%x", gen_scalar(U32), IN_INVOCATION);
    g->value[0].id = gen_new_id(g, "x");
    str_printf(g->arena, &parameters, "%s = OpFunctionParameter %%u32\n", g->value[0].id);
    for (uint32_t i = 0; i < f.n_out; i++) {
        f.out[i] = gen_any_type(g);
        GenId type = gen_pointer_type(g, "Function", gen_type_name(g, f.out[i])),
              p = gen_new_id(g, "p");
        str_printf(g->arena, &list, " %s", type);
        str_printf(g->arena, &parameters, "%s = OpFunctionParameter %s\n", p, type);
        gen_add_variable(
            g, (GenVariable){ .type = f.out[i], .storage = "Function", .base = p, .chain = "" });
    }
    for (uint32_t i = 0; i < 2; i++)
        gen_declare_variable(g);
    GenId result = gen_type_name(g, f.result);
    declare_signature(g, &f, arena_printf(g->arena, "%s %s", result, list.data));
    str_printf(g->arena, &g->functions, "%s = OpFunction %s None %s\n%s", f.id, result, f.type,
               parameters.data);
    g->budget = 6;
    gen_block(g, 6);
    bool dead = g->dead;
    GenMark mark = gen_begin_node(g);
    GenId x = gen_expression(g, f.result, 2);
    gen_say(g, "OpReturnValue %s", x);
    if (dead)
        gen_take_back(g, mark);
    end_function(g, entry);
    g->function[g->n_functions++] = f;
}

/* The variables of main into the invocation's slots. */
static void dump(Gen *g)
{
    GenId at = gen_op(g, "OpIMul %%u32 %s %s", g->invocation, gen_u32(g, GEN_SLOTS));
    for (uint32_t i = 0; i < g->n_variables && i < GEN_SLOTS - 16; i++) {
        const GenVariable *v = &g->variable[i];
        GenMark mark = gen_begin_node(g);
        GenId sum = NULL;
        for (uint32_t e = 0; e < MAX(v->length, 1); e++) {
            GenId x = gen_op(g, "OpLoad %s %s", gen_type_name(g, v->type),
                             gen_pointer_to(g, v, gen_u32(g, e)));
            x = gen_digest(g, v->type, x);
            if (sum) {
                sum = gen_op(g, "OpIMul %%u32 %s %s", sum, gen_u32(g, 31));
                x = gen_op(g, "OpIAdd %%u32 %s %s", sum, x);
            }
            sum = x;
        }
        GenId slot = gen_op(g, "OpIAdd %%u32 %s %s", at, gen_u32(g, i));
        GenId p =
            gen_op(g, "OpAccessChain %%ptr_StorageBuffer_u32 %%out %s %s", gen_u32(g, 0), slot);
        gen_say(g, "OpStore %s %s", p, sum);
        gen_end_node(g, mark);
    }
    for (uint32_t k = 0; g->features & MATRICES && k < MATRIX_VARIABLES + 2; k++) {
        GenMark mark = gen_begin_node(g);
        gen_store_matrix(g, k, gen_chance(g, 50));
        gen_end_node(g, mark);
    }
}

static void matrix_variables(Gen *g)
{
    for (uint32_t use = 0; use < 3; use++) {
        const char *type = gen_matrix_types[use];
        for (uint32_t i = 0; i < MATRIX_VARIABLES + 2; i++) {
            if (i < MATRIX_VARIABLES)
                str_printf(g->arena, &g->variables,
                           "%%var_%s%u = OpVariable %%ptr_Function_%s Function\n", type, i, type);
            GenId x = gen_load_matrix(g, use), p;
            p = i < MATRIX_VARIABLES ? arena_printf(g->arena, "%%var_%s%u", type, i)
                                     : gen_op(g, "OpAccessChain %%ptr_Function_%s %%array_%s %s",
                                              type, type, gen_u32(g, i - MATRIX_VARIABLES));
            gen_say(g, "OpStore %s %s", p, x);
        }
        str_printf(g->arena, &g->variables,
                   "%%array_%s = OpVariable %%ptr_Function_%s_2 Function\n", type, type);
    }
}

static void make_main(Gen *g)
{
    begin_function(g);
    GenId entry = g->label;
    g->is_main = true;
    g->flow = IN_WORKGROUP;
    gen_own_variables(g);
    for (uint32_t i = 0; i < 3 + gen_pick(g, 6); i++)
        gen_declare_variable(g);
    if (g->features & MATRICES)
        matrix_variables(g);
    g->budget = 6 + gen_pick(g, 20);
    gen_block(g, g->budget);
    bool dead = g->dead;
    GenMark mark = gen_begin_node(g);
    dump(g);
    gen_say(g, "OpReturn");
    if (dead)
        gen_take_back(g, mark);
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

static void choose_size(Gen *g, GenKernel *k)
{
    static const uint8_t sizes[][3] = { { 1, 1, 1 }, { 8, 1, 1 },  { 16, 1, 1 }, { 32, 1, 1 },
                                        { 7, 1, 1 }, { 20, 1, 1 }, { 33, 1, 1 }, { 5, 3, 1 },
                                        { 4, 4, 2 }, { 64, 1, 1 }, { 3, 2, 4 } };
    uint32_t i = gen_pick(g, COUNT_OF(sizes));
    for (uint32_t d = 0; d < 3; d++)
        k->local[d] = g->features & MATRICES ? (d ? 1 : 128) : sizes[i][d];
    k->groups = g->features & MATRICES ? 1 : 1 + gen_pick(g, 2);
    g->n_local = k->local[0] * k->local[1] * k->local[2];
}

static const GenTarget own_devices = { .has = GEN_ALL };

/* What the seed chooses, of what the target has. */
static void choose_features(Gen *g, uint64_t seed, const GenTarget *target)
{
    static const struct {
        uint32_t features, needs;
    } table[] = {
        { FLOATS, GEN_FLOAT_MODES },
        { SUBGROUPS, GEN_SUBGROUPS },
        { MATRICES, GEN_MATRICES },
        { OUTSIDE | ENDS, GEN_OUTSIDE },
    };
    const GenMatrices *matrices = target->matrices ? target->matrices : matrix_kinds;
    uint32_t n = target->matrices ? target->n_matrices : COUNT_OF(matrix_kinds);
    g->has = target->has;
    g->features = gen_pick(g, 64);
    g->features |= gen_chance(g, 12) ? MATRICES : 0;
    g->features |= gen_chance(g, 15) ? OUTSIDE : 0;
    g->features |= gen_chance(g, 60) ? VECTORS : 0;
    g->features |= gen_chance(g, 50) ? CALLS : 0;
    g->features |= g->features & OUTSIDE && seed & 1 ? ENDS : 0;
    for (uint32_t k = 0; k < COUNT_OF(table); k++)
        if (!(g->has & table[k].needs))
            g->features &= ~table[k].features;
    g->vulkan = g->features & MATRICES || gen_chance(g, 50);
    g->vulkan &= (g->has & GEN_MEMORY_MODEL) != 0;
    g->matrix = n ? matrices[gen_pick(g, n)] : matrix_kinds[0];
}

static const char *whole_text(Gen *g, const GenKernel *k, const Str *list, const Str *decorate)
{
    Str text = { 0 };
    Arena *a = g->arena;
    add_lines(g, &text, capabilities, COUNT_OF(capabilities));
    if (g->vulkan)
        str_add(a, &text,
                "OpCapability VulkanMemoryModel\n"
                "OpCapability VulkanMemoryModelDeviceScope\n");
    if (g->features & MATRICES)
        str_add(a, &text,
                "OpCapability CooperativeMatrixKHR\n"
                "OpExtension \"SPV_KHR_cooperative_matrix\"\n");
    add_lines(g, &text, extensions, COUNT_OF(extensions));
    str_printf(a, &text,
               "%%glsl = OpExtInstImport \"GLSL.std.450\"\nOpMemoryModel Logical %s\n"
               "OpEntryPoint GLCompute %%main \"main\" %s\n"
               "OpExecutionMode %%main LocalSize %u %u %u\n",
               g->vulkan ? "Vulkan" : "GLSL450", list->data, k->local[0], k->local[1], k->local[2]);
    add_lines(g, &text, modes, COUNT_OF(modes));
    str_add(a, &text, decorations);
    if (g->has & GEN_SUBGROUPS)
        str_add(a, &text, decorations_of_subgroups);
    for (uint32_t n = 0; n < COUNT_OF(decorations_of_pairs); n++)
        if (!(g->has & decorations_of_pairs[n].needs))
            str_add(a, &text, decorations_of_pairs[n].text);
    str_add(a, &text, decorate->data ? decorate->data : "");
    add_types(g, &text);
    str_add(a, &text, g->types.data);
    str_add(a, &text, g->functions.data);
    return text.data;
}

GenKernel gen_kernel(Arena *arena, uint64_t seed, const uint8_t *skip, const GenTarget *target)
{
    Gen *g = NEW(arena, Gen);
    Str list = { 0 }, decorate = { 0 };
    GenKernel k = { 0 };
    g->arena = arena;
    g->rng.state = seed * 0x9e3779b97f4a7c15u + 1;
    g->skip = skip;
    rng_u64(&g->rng);
    choose_features(g, seed, target ? target : &own_devices);
    choose_size(g, &k);
    gen_u32(g, 0), gen_u32(g, 1), gen_u32(g, 3);
    declare_own(g);
    declare_interface(g, &list);
    if (g->features & MATRICES)
        declare_matrices(g, &list, &decorate);
    while (g->features & CALLS && g->n_functions < MAX_FUNCTIONS && gen_chance(g, 70))
        make_function(g);
    make_main(g);
    no_contraction(g, &decorate);
    k.text = whole_text(g, &k, &list, &decorate);
    k.features = g->features;
    k.a = g->matrix.a;
    k.c = g->matrix.c;
    k.nodes = MIN(g->nodes, GEN_MAX_NODES);
    return k;
}
