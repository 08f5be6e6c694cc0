/* SPDX-License-Identifier: MIT
 *
 * Operands of OpenCL.std's instructions. The list below says what each takes and gives, for which
 * types; two modules are made of it: one of instructions that must all be accepted, and one where
 * each has one operand or the result replaced by what does not belong there: each must be refused.
 *
 * A value is called after its type: h f d are floats, c s i l integers of 8 to 64 bits, b booleans,
 * with the number of components; a pointer has its storage class before it (F Function, W
 * Workgroup, G CrossWorkgroup, E Generic, K UniformConstant).
 */
#include "base/test.h"
#include "check/check.h"

#include <stdlib.h>

/* In a signature T is the generic type, e its component, i, j and k as many integers of 32 bits,
 * of its width, of half of it; z is size_t, u a 32-bit integer, Y a vector of any power of two of
 * its components, P a pointer that is written through, R one that is read through, G one to global
 * memory, K a constant text, # the number of components, ~ a rounding mode, v nothing; L is T where
 * only its number of components matters, A where any number or pointer may stand. */
typedef struct Row {
    const char *signature, *kinds, *counts, *names;
} Row;

#define FLOATS "hfd"
#define INTS "csil"
#define ALL "1 2 3 4 8 16"
#define VECTORS "2 3 4 8 16"

static const Row list[] = {
    { "T T", FLOATS, ALL,
      "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi erfc erf exp "
      "exp2 exp10 expm1 fabs floor lgamma log log2 log10 log1p logb rint round rsqrt sin sinh "
      "sinpi sqrt tan tanh tanpi tgamma trunc half_cos half_exp half_exp2 half_exp10 half_log "
      "half_log2 half_log10 half_recip half_rsqrt half_sin half_sqrt half_tan native_cos "
      "native_exp native_exp2 native_exp10 native_log native_log2 native_log10 native_recip "
      "native_rsqrt native_sin native_sqrt native_tan degrees radians sign" },
    { "T T T", FLOATS, ALL,
      "atan2 atan2pi copysign fdim fmax fmin fmod hypot maxmag minmag nextafter pow powr remainder "
      "half_divide half_powr native_divide native_powr fmax_common fmin_common step" },
    { "T T T T", FLOATS, ALL, "fma mad fclamp mix smoothstep" },
    { "T T PT", FLOATS, ALL, "fract modf sincos" },
    { "T T Pi", FLOATS, ALL, "frexp lgamma_r" },
    { "T T T Pi", FLOATS, ALL, "remquo" },
    { "i T", FLOATS, ALL, "ilogb" },
    { "T j", FLOATS, ALL, "nan" },
    { "T T i", FLOATS, ALL, "ldexp pown rootn" },
    { "T T T", FLOATS, "3 4", "cross" },
    { "e T T", FLOATS, "1 2 3 4", "distance fast_distance" },
    { "e T", FLOATS, "1 2 3 4", "length fast_length" },
    { "T T", FLOATS, "1 2 3 4", "normalize fast_normalize" },
    { "T T", INTS, ALL, "s_abs u_abs clz ctz popcount" },
    { "T T T", INTS, ALL,
      "s_abs_diff u_abs_diff s_add_sat u_add_sat s_hadd u_hadd s_rhadd u_rhadd s_max u_max s_min "
      "u_min s_mul_hi u_mul_hi rotate s_sub_sat u_sub_sat" },
    { "T T T T", INTS, ALL, "s_clamp u_clamp s_mad_hi u_mad_hi s_mad_sat u_mad_sat" },
    { "T T T T", "i", ALL, "s_mad24 u_mad24" },
    { "T T T", "i", ALL, "s_mul24 u_mul24" },
    { "T k k", "sil", ALL, "u_upsample s_upsample" },
    { "T z Re #", FLOATS INTS, VECTORS, "vloadn" },
    { "v T z Pe", FLOATS INTS, VECTORS, "vstoren" },
    { "L z Rh", FLOATS, "1", "vload_half" },
    { "L z Rh #", FLOATS, VECTORS, "vload_halfn vloada_halfn" },
    { "v T z Ph", "fd", "1", "vstore_half" },
    { "v T z Ph ~", "fd", "1", "vstore_half_r" },
    { "v T z Ph", "fd", VECTORS, "vstore_halfn vstorea_halfn" },
    { "v T z Ph ~", "fd", VECTORS, "vstore_halfn_r vstorea_halfn_r" },
    { "T Y j", FLOATS INTS, "2 4 8 16", "shuffle" },
    { "T Y Y j", FLOATS INTS, "2 4 8 16", "shuffle2" },
    { "u K", "f", "1", "printf" },
    { "u K A", FLOATS INTS, ALL, "printf" },
    { "v GT z", FLOATS INTS, ALL, "prefetch" },
    { "T T T T", FLOATS INTS, ALL, "bitselect" },
    { "T T T j", FLOATS INTS, ALL, "select" },
};

/* What is put where it does not belong. */
static const char *const strangers[] = { "f1",  "f4",  "f3",  "d1",  "h2",  "i1",  "i4",
                                         "l1",  "c1",  "s4",  "b1",  "b4",  "Ff1", "Ff4",
                                         "Fi4", "Gf1", "Kf1", "Fh1", "Ei1", "Kc1" };

/* ---- types by name --------------------------------------------------------------------------- */

static uint32_t bits_of(char kind)
{
    return strchr("h" "s", kind) ? 16 : strchr("fi", kind) ? 32 : strchr("dl", kind) ? 64 : 8;
}

static char int_of(uint32_t bits)
{
    return bits == 8 ? 'c' : bits == 16 ? 's' : bits == 32 ? 'i' : 'l';
}

typedef struct Name {
    char text[8];
} Name;

/* What a word of a signature is for the generic type of that kind and count. */
static Name expand(const char *word, char kind, int count)
{
    Name n = { "" }, inner;
    char k = kind;
    switch (*word) {
    case 'e': count = 1; break;
    case 'i': k = 'i'; break;
    case 'j': k = int_of(bits_of(kind)); break;
    case 'k': k = int_of(bits_of(kind) / 2); break;
    case 'h': k = 'h', count = 1; break;
    case 'z': k = 'l', count = 1; break;
    case 'u': k = 'i', count = 1; break;
    case 'Y': count = count == 2 ? 8 : 2; break;
    case 'K': return (Name){ "Kc1" };
    case 'v': return (Name){ "void" };
    case 'P': case 'R': case 'G':
        inner = expand(word + 1, kind, count);
        snprintf(n.text, sizeof n.text, "%c%.6s", *word == 'G' ? 'G' : 'F', inner.text);
        return n;
    default: break;
    }
    snprintf(n.text, sizeof n.text, "%c%d", k, count);
    return n;
}

static bool in_list(const char *words, int n)
{
    char text[8];
    const char *at = words;
    size_t length = (size_t)snprintf(text, sizeof text, "%d", n);
    while ((at = strstr(at, text)) && ((at > words && at[-1] != ' ') || (at[length] & ~' ')))
        at++;
    return at != NULL;
}

static bool in_class(const Row *row, const char *value)
{
    return strchr(row->kinds, *value) && in_list(row->counts, atoi(value + 1));
}

/* Whether `value` may stand where `right` does, by that word of the signature. */
static bool may_stand(const Row *row, const char *word, const char *right, const char *value)
{
    bool pointers = strchr("PRG", *word) != NULL;
    if (!strcmp(right, value))
        return true;
    if (*word == 'A')
        return *value != 'b';
    if (*word == 'L')
        return in_class(row, value) && !strcmp(right + 1, value + 1);
    if (*word == 'T')
        return *row->signature != 'T' && in_class(row, value);
    if (*word == 'Y')
        return *value == *right && strcmp(value + 1, "1") && strcmp(value + 1, "3");
    if (*word == 'G')
        return *value == 'G' && in_class(row, value + 1);
    return pointers && !strcmp(right + 1, value + 1) && (*value != 'K' || *word == 'R');
}

/* ---- modules --------------------------------------------------------------------------------- */

static const char head[] =
    "OpCapability Kernel\nOpCapability Addresses\nOpCapability Linkage\nOpCapability Int64\n"
    "OpCapability Int16\nOpCapability Int8\nOpCapability Float16\nOpCapability Float64\n"
    "OpCapability Vector16\nOpCapability GenericPointer\n"
    "%s = OpExtInstImport \"OpenCL.std\"\nOpMemoryModel Physical64 OpenCL\n%t_void = OpTypeVoid\n"
    "%t_b1 = OpTypeBool\n%b1 = OpUndef %t_b1\n%fn = OpTypeFunction %t_void\n";

static void declare(Arena *a, Str *s)
{
    static const struct { char letter; const char *name; } classes[] = {
        { 'F', "Function" }, { 'W', "Workgroup" }, { 'G', "CrossWorkgroup" }, { 'E', "Generic" },
        { 'K', "UniformConstant" }
    };
    static const int counts[] = { 1, 2, 3, 4, 8, 16 };
    str_add(a, s, head);
    for (const char *k = FLOATS INTS "b"; *k; k++)
        for (uint32_t n = 0; n < COUNT_OF(counts); n++) {
            bool is_float = strchr(FLOATS, *k);
            if (counts[n] > 1)
                str_printf(a, s, "%%t_%c%d = OpTypeVector %%t_%c1 %d\n", *k, counts[n], *k,
                           counts[n]);
            else if (*k != 'b')
                str_printf(a, s, "%%t_%c1 = OpType%s %u%s\n", *k, is_float ? "Float" : "Int",
                           bits_of(*k), is_float ? "" : " 0");
            if (counts[n] > 1 || *k != 'b')
                str_printf(a, s, "%%%c%d = OpUndef %%t_%c%d\n", *k, counts[n], *k, counts[n]);
            for (uint32_t c = 0; c < COUNT_OF(classes); c++)
                str_printf(a, s, "%%t_%c%c%d = OpTypePointer %s %%t_%c%d\n"
                           "%%%c%c%d = OpUndef %%t_%c%c%d\n", classes[c].letter, *k, counts[n],
                           classes[c].name, *k, counts[n], classes[c].letter, *k, counts[n],
                           classes[c].letter, *k, counts[n]);
        }
    str_add(a, s, "%main = OpFunction %t_void None %fn\n%entry = OpLabel\n");
}

/* One instruction; in place of word `wrong` (0: the result) of its signature is `value`. */
static void instruct(Arena *a, Str *s, const Row *row, const char *name, char kind, int count,
                     int wrong, const char *value)
{
    char words[64], *next = words, *word;
    snprintf(words, sizeof words, "%s", row->signature);
    for (int k = 0; (word = strsep(&next, " ")); k++) {
        Name right = expand(word, kind, count);
        const char *given = k == wrong ? value : right.text;
        if (!k)
            str_printf(a, s, "%%_ = OpExtInst %%t_%s %%s %.*s", given, (int)strcspn(name, " "),
                       name);
        else if (*word == '#')
            str_printf(a, s, " %d", count);
        else
            str_printf(a, s, *word == '~' ? " RTZ" : " %%%s", given);
    }
    str_add(a, s, "\n");
}

/* Calls visit for each instruction of the list with each type that it may have. */
typedef struct Walk {
    Arena a;
    Str text;
    uint32_t lines, n;          /* of the text; instructions made */
} Walk;

static void each(Walk *w, void (*visit)(Walk *w, const Row *row, const char *name, char kind,
                                        int count))
{
    static const int counts[] = { 1, 2, 3, 4, 8, 16 };
    declare(&w->a, &w->text);
    for (const char *c = w->text.data; *c; c++)
        w->lines += *c == '\n';
    for (uint32_t r = 0; r < COUNT_OF(list); r++)
        for (const char *name = list[r].names; *name; name += strspn(name, " ")) {
            for (const char *k = list[r].kinds; *k; k++)
                for (uint32_t n = 0; n < COUNT_OF(counts); n++)
                    if (in_list(list[r].counts, counts[n]))
                        visit(w, &list[r], name, *k, counts[n]);
            name += strcspn(name, " ");
        }
    str_add(&w->a, &w->text, "OpReturn\nOpFunctionEnd\n");
}

/* Every result has an id of its own: "%_" stands for it. */
static char *numbered(Arena *a, const char *text)
{
    Str s = { 0 };
    uint32_t n = 0;
    for (const char *at; (at = strstr(text, "%_ =")); text = at + 2) {
        str_addn(a, &s, text, (size_t)(at - text));
        str_printf(a, &s, "%%r%u", n++);
    }
    str_add(a, &s, text);
    return s.data;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

typedef struct Verdicts {
    DiagSink sink;
    uint8_t *refused;           /* by line */
    uint32_t n_lines;
    char first[300];
} Verdicts;

static void note(void *user, const Diag *d)
{
    Verdicts *v = user;
    if (!v->first[0])
        diag_format(d, v->first, sizeof v->first);
    if (d->loc.line < v->n_lines && d->rule && !strncmp(d->rule, "opencl-std ", 11))
        v->refused[d->loc.line] = 1;
}

static bool judge(Walk *w, Verdicts *v)
{
    v->sink = (DiagSink){ .report = note, .user = v, .max_errors = UINT32_MAX };
    v->n_lines = w->lines + w->n + 3;
    v->refused = NEW_ARRAY(&w->a, uint8_t, v->n_lines);
    const char *text = numbered(&w->a, w->text.data);
    SpvModule *m = spv_assemble(&w->a, text, strlen(text), "m.spvasm", &v->sink);
    return m && check_module(m, &v->sink);
}

static void make_right(Walk *w, const Row *row, const char *name, char kind, int count)
{
    instruct(&w->a, &w->text, row, name, kind, count, -1, NULL);
    w->n++;
}

TEST(right_operands_are_accepted)
{
    Walk w = { 0 };
    Verdicts v = { 0 };
    each(&w, make_right);
    if (!judge(&w, &v))
        test_fail(__FILE__, __LINE__, "%u of %u: %s", v.sink.errors, w.n, v.first);
    arena_free(&w.a);
}

static void make_wrong(Walk *w, const Row *row, const char *name, char kind, int count)
{
    char words[64], *next = words, *word;
    if (count > 4) /* no others than of 4 */
        return;
    snprintf(words, sizeof words, "%s", row->signature);
    for (int k = 0; (word = strsep(&next, " ")); k++) {
        Name right = expand(word, kind, count);
        for (uint32_t s = 0; s < COUNT_OF(strangers) && !strchr("#~", *word); s++) {
            if (may_stand(row, word, right.text, strangers[s]))
                continue;
            instruct(&w->a, &w->text, row, name, kind, count, k, strangers[s]);
            w->n++;
        }
    }
}

TEST(wrong_operands_are_refused)
{
    Walk w = { 0 };
    Verdicts v = { 0 };
    each(&w, make_wrong);
    CHECK(!judge(&w, &v));
    const char *line = w.text.data;
    for (uint32_t k = 1; k <= w.lines + w.n; k++) {
        size_t length = strcspn(line, "\n");
        if (k > w.lines && !v.refused[k])
            test_fail(__FILE__, __LINE__, "accepted: %.*s", (int)length, line);
        line += length + 1;
    }
    CHECK(w.n > 20000);
    arena_free(&w.a);
}

TEST(every_instruction_is_in_the_list)
{
    uint32_t n;
    const SpvExtInst *all = spv_ext_insts(SPV_SET_OpenCLstd_, &n);
    for (uint32_t k = 0; k < n; k++) {
        bool found = false;
        for (uint32_t r = 0; r < COUNT_OF(list) && !found; r++)
            for (const char *name = list[r].names; *name && !found; name += strspn(name, " ")) {
                size_t length = strcspn(name, " ");
                found = length == strlen(all[k].name) && !strncmp(name, all[k].name, length);
                name += length;
            }
        if (!found)
            test_fail(__FILE__, __LINE__, "%s is not in the list", all[k].name);
    }
}
