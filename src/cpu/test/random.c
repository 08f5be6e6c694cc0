/* SPDX-License-Identifier: MIT
 *
 * Random structured kernels: nested divergent and uniform branches, loops with break and continue,
 * switches, early returns, private arrays. Each is a tree that is printed as GLSL and also
 * interpreted here, invocation by invocation. A seed as HEDDLE_SEED runs that one only, and prints
 * it; HEDDLE_COUNT tells how many to run.
 */
#include "run.h"

enum { N = 256, VARS = 4, TABLE = 5, MAX_DEPTH = 5 };

typedef enum Kind {
    /* expressions */
    K_CONST, K_INDEX, K_VAR, K_COUNTER, K_UNIFORM, K_GATHER, K_TABLE, K_BINARY,
    S_LIST, S_ASSIGN, S_SET_TABLE, S_IF, S_LOOP, S_SWITCH, S_BREAK, S_CONTINUE, S_RETURN
} Kind;

typedef struct Tree {
    Kind kind;
    uint32_t x;                 /* number, variable, operator, flags */
    struct Tree *kid[6];
    uint32_t n;
} Tree;

typedef struct Gen { Rng rng; Arena *a; uint32_t loops, depth, in_switch; } Gen;
typedef struct Print { Arena *a; Str s; } Print;

static uint32_t pick(Gen *g, uint32_t n)
{
    return (uint32_t)(rng_u64(&g->rng) >> 33) % n;
}

static Tree *make(Gen *g, Kind kind, uint32_t x)
{
    Tree *t = NEW(g->a, Tree);
    t->kind = kind;
    t->x = x;
    return t;
}

static void add(Tree *t, Tree *kid)
{
    if (t->n < COUNT_OF(t->kid))
        t->kid[t->n++] = kid;
}

/* ---- making ---------------------------------------------------------------------------------- */

static const char *const operators[] = { "+", "-", "*", "^", "&", "|", "%", "<", "==", ">>" };

static Tree *expression(Gen *g, uint32_t depth)
{
    uint32_t what = pick(g, depth ? 10 : 4);
    Tree *t;
    switch (what) {
    case 0: return make(g, K_CONST, pick(g, 20));
    case 1: return make(g, K_INDEX, 0);
    case 2: return make(g, K_VAR, pick(g, VARS));
    case 3: return g->loops ? make(g, K_COUNTER, pick(g, g->loops)) :
        make(g, K_UNIFORM, pick(g, N));
    case 4: return make(g, K_UNIFORM, pick(g, N));
    case 5:
    case 6:
        t = make(g, what == 5 ? K_GATHER : K_TABLE, 0);
        add(t, expression(g, depth - 1));
        return t;
    default:
        t = make(g, K_BINARY, pick(g, COUNT_OF(operators)));
        add(t, expression(g, depth - 1));
        add(t, expression(g, depth - 1));
        return t;
    }
}

static Tree *statements(Gen *g);

static Tree *jump(Gen *g)
{
    Tree *t = make(g, S_IF, 0), *body = make(g, S_LIST, 0);
    uint32_t what = pick(g, 3);
    Kind kind = what == 0 || !g->loops ? S_RETURN : what == 1 ? S_CONTINUE : S_BREAK;
    Tree *j = make(g, kind, 0);
    if (kind == S_RETURN)
        add(j, expression(g, 1));
    add(body, j);
    add(t, expression(g, 2));
    add(t, body);
    return t;
}

static Tree *statement(Gen *g)
{
    Tree *t;
    switch (pick(g, g->depth < MAX_DEPTH ? 8 : 3)) {
    case 3: case 4:
        t = make(g, S_IF, 0);
        add(t, expression(g, 2));
        add(t, statements(g));
        if (pick(g, 2))
            add(t, statements(g));
        return t;
    case 5: case 6:
        if (g->loops >= 3)
            break;
        t = make(g, S_LOOP, g->loops);
        add(t, pick(g, 2) ? make(g, K_CONST, 1 + pick(g, 6)) : expression(g, 1));
        g->loops++;
        add(t, statements(g));
        g->loops--;
        return t;
    case 7:
        t = make(g, S_SWITCH, pick(g, 16));
        add(t, expression(g, 2));
        for (uint32_t k = 0, n = 2 + pick(g, 3); k < n; k++)
            add(t, statements(g));
        return t;
    case 2:
        if (g->depth > 1)
            return jump(g);
        break;
    case 1:
        t = make(g, S_SET_TABLE, 0);
        add(t, expression(g, 1));
        add(t, expression(g, 2));
        return t;
    default:
        break;
    }
    t = make(g, S_ASSIGN, pick(g, VARS));
    add(t, expression(g, 2));
    return t;
}

static Tree *statements(Gen *g)
{
    Tree *t = make(g, S_LIST, 0);
    g->depth++;
    for (uint32_t k = 0, n = 1 + pick(g, g->depth < 3 ? 5 : 3); k < n; k++)
        add(t, statement(g));
    g->depth--;
    return t;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print(Print *p, const Tree *t)
{
    Arena *a = p->a;
    Str *s = &p->s;
    switch (t->kind) {
    case K_CONST: str_printf(a, s, "%uu", t->x); break;
    case K_INDEX: str_add(a, s, "i"); break;
    case K_VAR: str_printf(a, s, "v%u", t->x); break;
    case K_COUNTER: str_printf(a, s, "k%u", t->x); break;
    case K_UNIFORM: str_printf(a, s, "a[%u]", t->x); break;
    case K_GATHER: str_add(a, s, "a[("); print(p, t->kid[0]); str_printf(a, s, ") %% %uu]", N);
    break;
    case K_TABLE: str_add(a, s, "t[("); print(p, t->kid[0]); str_printf(a, s, ") %% %uu]", TABLE);
    break;
    case K_BINARY: {
        const char *op = operators[t->x];
        bool compare = *op == '<' || *op == '=', modulo = *op == '%', shift = *op == '>';
        str_add(a, s, compare ? "uint(" : "(");
        print(p, t->kid[0]);
        str_printf(a, s, " %s ", op);
        str_add(a, s, modulo || shift ? "((" : "(");
        print(p, t->kid[1]);
        str_add(a, s, modulo ? ") | 1u)" : shift ? ") & 31u)" : ")");
        str_add(a, s, ")");
        break;
    }
    case S_LIST:
        str_add(a, s, "{\n");
        for (uint32_t k = 0; k < t->n; k++)
            print(p, t->kid[k]);
        str_add(a, s, "}\n");
        break;
    case S_ASSIGN: str_printf(a, s, "v%u = ", t->x); print(p, t->kid[0]); str_add(a, s, ";\n");
    break;
    case S_SET_TABLE:
        str_add(a, s, "t[(");
        print(p, t->kid[0]);
        str_printf(a, s, ") %% %uu] = ", TABLE);
        print(p, t->kid[1]);
        str_add(a, s, ";\n");
        break;
    case S_IF:
        str_add(a, s, "if (((");
        print(p, t->kid[0]);
        str_add(a, s, ") & 3u) != 0u)\n");
        print(p, t->kid[1]);
        if (t->n > 2) {
            str_add(a, s, "else\n");
            print(p, t->kid[2]);
        }
        break;
    case S_LOOP:
        str_printf(a, s, "for (uint k%u = 0u, e%u = (", t->x, t->x);
        print(p, t->kid[0]);
        str_printf(a, s, ") & 7u; k%u < e%u; k%u++)\n", t->x, t->x, t->x);
        print(p, t->kid[1]);
        break;
    case S_SWITCH:
        str_add(a, s, "switch ((");
        print(p, t->kid[0]);
        str_add(a, s, ") & 3u) {\n");
        for (uint32_t k = 1; k < t->n; k++) {
            str_printf(a, s, k + 1 < t->n ? "case %uu:\n" : "default:\n", k - 1);
            print(p, t->kid[k]);
            if (t->x >> k & 1 || k + 1 == t->n)
                str_add(a, s, "break;\n");
        }
        str_add(a, s, "}\n");
        break;
    case S_BREAK: str_add(a, s, "break;\n"); break;
    case S_CONTINUE: str_add(a, s, "continue;\n"); break;
    case S_RETURN: str_add(a, s, "return "); print(p, t->kid[0]); str_add(a, s, ";\n"); break;
    }
}

/* ---- interpreting ---------------------------------------------------------------------------- */

typedef struct State { uint32_t i, v[VARS], t[TABLE], k[8], result; const uint32_t *a; } State;
typedef enum Flow { GO_ON, BREAK, CONTINUE, RETURN } Flow;

static uint32_t evaluate(const State *s, const Tree *t)
{
    switch (t->kind) {
    case K_CONST: return t->x;
    case K_INDEX: return s->i;
    case K_VAR: return s->v[t->x];
    case K_COUNTER: return s->k[t->x];
    case K_UNIFORM: return s->a[t->x];
    case K_GATHER: return s->a[evaluate(s, t->kid[0]) % N];
    case K_TABLE: return s->t[evaluate(s, t->kid[0]) % TABLE];
    default:
        break;
    }
    uint32_t x = evaluate(s, t->kid[0]), y = evaluate(s, t->kid[1]);
    switch (*operators[t->x]) {
    case '+': return x + y;
    case '-': return x - y;
    case '*': return x * y;
    case '^': return x ^ y;
    case '&': return x & y;
    case '|': return x | y;
    case '%': return x % (y | 1);
    case '<': return x < y;
    case '=': return x == y;
    default: return x >> (y & 31);
    }
}

static Flow execute(State *s, const Tree *t)
{
    Flow f = GO_ON;
    uint32_t x;
    switch (t->kind) {
    case S_LIST:
        for (uint32_t k = 0; k < t->n && f == GO_ON; k++)
            f = execute(s, t->kid[k]);
        return f;
    case S_ASSIGN: s->v[t->x] = evaluate(s, t->kid[0]); return GO_ON;
    case S_SET_TABLE:
        x = evaluate(s, t->kid[1]);
        s->t[evaluate(s, t->kid[0]) % TABLE] = x;
        return GO_ON;
    case S_IF:
        if (evaluate(s, t->kid[0]) & 3)
            return execute(s, t->kid[1]);
        return t->n > 2 ? execute(s, t->kid[2]) : GO_ON;
    case S_LOOP:
        s->k[t->x] = 0;
        x = evaluate(s, t->kid[0]) & 7;
        for (; s->k[t->x] < x; s->k[t->x]++) {
            f = execute(s, t->kid[1]);
            if (f == BREAK || f == RETURN)
                break;
        }
        return f == RETURN ? f : GO_ON;
    case S_SWITCH:
        x = (evaluate(s, t->kid[0]) & 3) + 1;
        for (uint32_t k = MIN(x, t->n - 1); k < t->n && f == GO_ON; k++) {
            f = execute(s, t->kid[k]);
            if (t->x >> k & 1)
                break;
        }
        return f == BREAK ? GO_ON : f;
    case S_BREAK: return BREAK;
    case S_CONTINUE: return CONTINUE;
    default:
        s->result = evaluate(s, t->kid[0]);
        return RETURN;
    }
}

static uint32_t interpret(const Tree *t, uint32_t i, const uint32_t *a)
{
    State s = { .i = i, .a = a, .v = { 1, i, a[i % N], 7 } };
    for (uint32_t k = 0; k < TABLE; k++)
        s.t[k] = k * i;
    if (execute(&s, t) == RETURN)
        return s.result;
    uint32_t r = 0;
    for (uint32_t k = 0; k < VARS; k++)
        r = r * 31 + s.v[k];
    for (uint32_t k = 0; k < TABLE; k++)
        r = r * 31 + s.t[k];
    return r;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static char *glsl(Arena *a, const Tree *t, uint32_t local)
{
    Print p = { a, { 0 } };
    str_printf(a, &p.s, "#version 460\nlayout(local_size_x = %u) in;\n"
               "layout(std430, binding = 0) buffer A { uint a[]; };\n"
               "layout(std430, binding = 1) buffer B { uint b[]; };\n"
               "uint f(uint i) {\nuint v0 = 1u, v1 = i, v2 = a[i %% %uu], v3 = 7u;\nuint t[%u];\n"
               "for (uint k = 0u; k < %uu; k++) t[k] = k * i;\n", local, N, TABLE, TABLE);
    print(&p, t);
    str_add(a, &p.s, "uint r = 0u;\n");
    for (uint32_t k = 0; k < VARS; k++)
        str_printf(a, &p.s, "r = r * 31u + v%u;\n", k);
    str_printf(a, &p.s, "for (uint k = 0u; k < %uu; k++) r = r * 31u + t[k];\nreturn r;\n}\n"
               "void main() { uint i = gl_GlobalInvocationID.x; if (i < %uu) b[i] = f(i); }\n",
                   TABLE, N);
    return p.s.data;
}

static bool compare_seed(uint64_t seed, bool show)
{
    static const uint32_t locals[] = { 64, 32, 24, 100 };
    Arena arena = { 0 };
    DiagSink sink = { 0 };
    Gen g = { { seed * 0x9e3779b97f4a7c15u + 1 }, &arena, 0, 0, 0 };
    uint32_t local = locals[pick(&g, 4)], w = 8u << pick(&g, 5);
    Tree *t = statements(&g);
    char *source = glsl(&arena, t, local);
    if (show)
        printf("%s\n", source);
    SpvModule *m = glsl_module(&arena, source, &sink);
    uint32_t a[N], b[N];
    for (uint32_t k = 0; k < N; k++)
        a[k] = (uint32_t)rng_u64(&g.rng) >> (k % 3 ? 20 : 0);
    bool ok = m != NULL;
    for (uint32_t mode = 0; ok && mode < 3; mode++) {
        memset(b, 0xee, sizeof b);
        Run r = { .subgroup_size = w, .groups = { (N + local - 1) / local, 1, 1 },
                  .robust = (seed ^ mode) & 1,
                  .plain = mode == 1, .fast = mode == 2, .dump = show && !mode,
                      .buffers = { { a, sizeof a }, { b, sizeof b } } };
        ok = run_module(m, &r);
        for (uint32_t i = 0; ok && i < N; i++) {
            uint32_t expected = interpret(t, i, a);
            if (b[i] != expected)
                ok = test_fail(__FILE__, __LINE__,
                               "HEDDLE_SEED=%llu W=%u mode=%u: b[%u] = %u, not %u",
                               (unsigned long long)seed, w, mode, i, b[i], expected);
        }
    }
    arena_free(&arena);
    CHECK(ok);
    return ok;
}

TEST(random_kernels)
{
    if (!have_glslang())
        return;
    const char *one = getenv("HEDDLE_SEED"), *count = getenv("HEDDLE_COUNT");
    if (one) {
        compare_seed(strtoull(one, NULL, 0), true);
        return;
    }
    for (uint64_t seed = 0, n = count ? strtoull(count, NULL, 0) : 12; seed < n; seed++)
        compare_seed(seed, false);
}
