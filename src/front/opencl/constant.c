/* SPDX-License-Identifier: MIT
 *
 * Constant evaluation: integers wrap in their type's width, floating-point values are rounded to it
 * after each operation, vectors go lane by lane. Operations that are undefined at run time
 * (division by zero) are not constant.
 */
#include "front/opencl/internal.h"

#include <math.h>

uint64_t ocl_wrap(const OclType *t, uint64_t v)
{
    if (t->kind == TY_BOOL)
        return v != 0;
    unsigned bits = (unsigned)t->size * 8;
    if (bits >= 64 || !bits)
        return v;
    v &= (UINT64_C(1) << bits) - 1;
    if (is_signed(t) && v >> (bits - 1))
        v |= UINT64_MAX << bits;
    return v;
}

double ocl_round(const OclType *t, double v)
{
    return t->kind == TY_FLOAT  ? (double)(float)v
           : t->kind == TY_HALF ? f16_to_double(f16_from_double(v))
                                : v;
}

/* ---- casts ----------------------------------------------------------------------------------- */

static bool cast_lane(const OclType *from, const OclType *to, uint64_t *u, double *f)
{
    if (is_float(to)) {
        double v = is_float(from) ? *f : is_signed(from) ? (double)(int64_t)*u : (double)*u;
        if (to->kind == TY_FLOAT && !is_float(from)) /* round once */
            v = is_signed(from) ? (double)(float)(int64_t)*u : (double)(float)*u;
        *f = ocl_round(to, v);
        return true;
    }
    if (is_float(from)) {
        double v = *f;
        if (to->kind == TY_BOOL)
            *u = v != 0;
        else if (v >= -9223372036854775808.0 && v < 9223372036854775808.0)
            *u = ocl_wrap(to, (uint64_t)(int64_t)v);
        else if (v >= 0 && v < 18446744073709551616.0)
            *u = ocl_wrap(to, (uint64_t)v);
        else
            return false;
        return true;
    }
    *u = ocl_wrap(to, *u);
    return true;
}

static uint64_t lane_bits(const OclType *t, uint64_t u, double f)
{
    float single = (float)f;
    uint32_t word;
    if (!is_float(t))
        return u;
    if (t->kind == TY_HALF)
        return f16_from_double(f);
    if (t->kind == TY_FLOAT) {
        memcpy(&word, &single, 4);
        return word;
    }
    memcpy(&u, &f, 8);
    return u;
}

uint64_t ocl_lane_bits(const OclType *element, const OclValue *v, uint32_t i)
{
    return lane_bits(element, v->lane[i].u, is_float(element) ? v->lane[i].f : 0);
}

/* as_T of a constant */
static bool cast_bits(const OclType *from, const OclType *to, OclValue *v)
{
    uint8_t bytes[128] = { 0 };
    const OclType *fe = is_vector(from) ? from->base : from, *te = is_vector(to) ? to->base : to;
    if (!is_scalar(fe) || !is_scalar(te) || fe->size * v->n > sizeof bytes)
        return false;
    for (uint32_t i = 0; i < v->n; i++) {
        uint64_t u = lane_bits(fe, v->lane[i].u, is_float(fe) ? v->lane[i].f : 0);
        memcpy(bytes + i * fe->size, &u, fe->size);
    }
    v->n = (uint32_t)lanes_of(to);
    for (uint32_t i = 0; i < v->n; i++) {
        uint64_t u = 0;
        memcpy(&u, bytes + i * te->size, te->size);
        if (te->kind == TY_HALF) {
            v->lane[i].f = f16_to_double((uint16_t)u);
        } else if (te->kind == TY_FLOAT) {
            float f;
            uint32_t word = (uint32_t)u;
            memcpy(&f, &word, 4);
            v->lane[i].f = f;
        } else {
            v->lane[i].u = is_float(te) ? u : ocl_wrap(te, u);
        }
    }
    return true;
}

static bool fold_cast(Ocl *o, const OclNode *n, OclValue *v)
{
    OclType *from = n->a->type, *to = n->type;
    if (!from || !ocl_fold(o, n->a, v))
        return false;
    switch (n->op) {
    case CAST_NUMBER:
    case CAST_TO_BOOL:
        if (is_pointer(from))
            return false;
        for (uint32_t i = 0; i < v->n; i++) {
            if (!cast_lane(element_of(from), element_of(to), &v->lane[i].u, &v->lane[i].f))
                return false;
        }
        return true;
    case CAST_SPLAT:
        v->n = (uint32_t)lanes_of(to);
        for (uint32_t i = 1; i < v->n; i++)
            v->lane[i] = v->lane[0];
        return true;
    case CAST_BITS: return !is_pointer(from) && cast_bits(from, to, v);
    default: return false;
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

static bool fold_int(const OclType *t, OclTok op, uint64_t a, uint64_t b, uint64_t *out)
{
    bool s = is_signed(t);
    uint64_t mask = t->size * 8 - 1;
    switch (op) {
    case P_PLUS: *out = a + b; break;
    case P_MINUS: *out = a - b; break;
    case P_STAR: *out = a * b; break;
    case P_BITAND: *out = a & b; break;
    case P_BITOR: *out = a | b; break;
    case P_XOR: *out = a ^ b; break;
    case P_SHL: *out = a << (b & mask); break;
    case P_SHR: *out = s ? (uint64_t)((int64_t)a >> (b & mask)) : a >> (b & mask); break;
    case P_SLASH:
    case P_PERCENT:
        if (!b)
            return false;
        if (s && b == UINT64_MAX)
            *out = op == P_SLASH ? 0 - a : 0;
        else if (s)
            *out = (uint64_t)(op == P_SLASH ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b);
        else
            *out = op == P_SLASH ? a / b : a % b;
        break;
    default: return false;
    }
    *out = ocl_wrap(t, *out);
    return true;
}

static bool fold_float(const OclType *t, OclTok op, double a, double b, double *out)
{
    switch (op) {
    case P_PLUS: *out = a + b; break;
    case P_MINUS: *out = a - b; break;
    case P_STAR: *out = a * b; break;
    case P_SLASH: *out = a / b; break;
    default: return false;
    }
    *out = ocl_round(t, *out);
    return true;
}

static bool compare_values(const OclType *t, OclTok op, const OclValue *a, const OclValue *b,
                           uint32_t i, bool *out)
{
    int less, equal;
    uint64_t x = a->lane[i].u, y = b->lane[i].u;
    if (is_float(t)) {
        double p = a->lane[i].f, q = b->lane[i].f;
        less = p < q;
        equal = p == q;
        if (isnan(p) || isnan(q)) {
            *out = op == P_NE;
            return true;
        }
    } else {
        less = is_signed(t) ? (int64_t)x < (int64_t)y : x < y;
        equal = x == y;
    }
    switch (op) {
    case P_LT: *out = less; return true;
    case P_LE: *out = less || equal; return true;
    case P_GT: *out = !less && !equal; return true;
    case P_GE: *out = !less; return true;
    case P_EQ: *out = equal; return true;
    case P_NE: *out = !equal; return true;
    default: return false;
    }
}

static bool is_true(const OclType *t, const OclValue *v, uint32_t i)
{
    return is_float(t) ? v->lane[i].f != 0 : v->lane[i].u != 0;
}

static bool fold_logic(Ocl *o, const OclNode *n, OclValue *out)
{
    OclValue a, b;
    if (!is_arithmetic(n->a->type) || !ocl_fold(o, n->a, &a))
        return false;
    OclType *t = element_of(n->a->type);
    bool is_and = n->op == P_AND, scalar = !is_vector(n->type);
    if (scalar && is_true(t, &a, 0) != is_and) {
        *out = (OclValue){ .n = 1, .lane[0].u = !is_and };
        return true;
    }
    if (!is_arithmetic(n->b->type) || !ocl_fold(o, n->b, &b))
        return false;
    OclType *u = element_of(n->b->type);
    out->n = a.n;
    for (uint32_t i = 0; i < a.n; i++) {
        bool x = is_true(t, &a, i), y = is_true(u, &b, i), r = is_and ? x && y : x || y;
        out->lane[i].u = scalar ? r : r ? UINT64_MAX : 0;
    }
    return true;
}

static bool fold_binary(Ocl *o, const OclNode *n, OclValue *out)
{
    OclValue a, b;
    if (n->op == P_AND || n->op == P_OR)
        return fold_logic(o, n, out);
    if (!is_arithmetic(n->a->type) || !is_arithmetic(n->b->type) || !ocl_fold(o, n->a, &a) ||
        !ocl_fold(o, n->b, &b))
        return false;
    OclType *t = element_of(n->a->type);
    out->n = a.n;
    for (uint32_t i = 0; i < a.n; i++) {
        bool r;
        if (compare_values(t, n->op, &a, &b, i, &r))
            out->lane[i].u = is_vector(n->type) ? (r ? UINT64_MAX : 0) : r;
        else if (is_float(t) ? !fold_float(t, n->op, a.lane[i].f, b.lane[i].f, &out->lane[i].f)
                             : !fold_int(t, n->op, a.lane[i].u, b.lane[i].u, &out->lane[i].u))
            return false;
    }
    return true;
}

static bool fold_unary(Ocl *o, const OclNode *n, OclValue *v)
{
    if (!is_arithmetic(n->a->type) || !ocl_fold(o, n->a, v))
        return false;
    OclType *t = element_of(n->a->type);
    for (uint32_t i = 0; i < v->n; i++) {
        if (n->op == P_NOT)
            v->lane[i].u = is_true(t, v, i) ? 0 : is_vector(n->type) ? UINT64_MAX : 1;
        else if (is_float(t) && n->op == P_MINUS)
            v->lane[i].f = -v->lane[i].f;
        else if (!is_float(t) && n->op == P_MINUS)
            v->lane[i].u = ocl_wrap(t, 0 - v->lane[i].u);
        else if (!is_float(t) && n->op == P_TILDE)
            v->lane[i].u = ocl_wrap(t, ~v->lane[i].u);
        else if (n->op != P_PLUS)
            return false;
    }
    return true;
}

static bool fold_conditional(Ocl *o, const OclNode *n, OclValue *out)
{
    OclValue c;
    if (is_vector(n->a->type) || !is_arithmetic(n->a->type) || !ocl_fold(o, n->a, &c))
        return false;
    return ocl_fold(o, is_true(n->a->type, &c, 0) ? n->b : n->c, out);
}

static bool fold_vector(Ocl *o, const OclNode *n, OclValue *out)
{
    out->n = 0;
    for (uint32_t i = 0; i < n->n; i++) {
        OclValue part;
        if (!ocl_fold(o, n->list[i], &part) || out->n + part.n > 16)
            return false;
        memcpy(&out->lane[out->n], part.lane, part.n * sizeof part.lane[0]);
        out->n += part.n;
    }
    return out->n == lanes_of(n->type);
}

/* The address of a member of the object at a null pointer, which is how offsetof is written. */
static bool fold_offset(Ocl *o, const OclNode *n, uint64_t *offset)
{
    OclValue v;
    switch (n->kind) {
    case N_MEMBER: {
        const OclMember *m = &n->a->type->record->members.data[n->member];
        if (m->bit_field || !fold_offset(o, n->a, offset))
            return false;
        *offset += m->offset;
        return true;
    }
    case N_INDEX:
        if (!is_pointer(n->a->type) || n->a->kind != N_CAST || n->a->op != CAST_DECAY ||
            !fold_offset(o, n->a->a, offset) || !ocl_fold(o, n->b, &v))
            return false;
        *offset += v.lane[0].u * n->type->size;
        return true;
    case N_DEREF: {
        const OclNode *p = n->a;
        while (p->kind == N_CAST && (p->op == CAST_BITS || p->op == CAST_SPACE))
            p = p->a;
        *offset = 0;
        return p->kind == N_CAST && p->op == CAST_NULL;
    }
    default: return false;
    }
}

bool ocl_fold(Ocl *o, const OclNode *n, OclValue *out)
{
    out->n = 1;
    if (n->type && lanes_of(n->type) > 16)
        return false;
    switch (n->kind) {
    case N_INT: out->lane[0].u = n->u; return true;
    case N_FLOAT: out->lane[0].f = n->f; return true;
    case N_UNARY: return fold_unary(o, n, out);
    case N_BINARY: return fold_binary(o, n, out);
    case N_CONDITIONAL: return fold_conditional(o, n, out);
    case N_VECTOR: return fold_vector(o, n, out);
    case N_CAST:
        if (n->op == CAST_FROM_POINTER && n->a->kind == N_ADDRESS)
            return fold_offset(o, n->a->a, &out->lane[0].u);
        return fold_cast(o, n, out);
    case N_SWIZZLE: {
        OclValue v;
        if (!ocl_fold(o, n->a, &v))
            return false;
        out->n = (uint32_t)lanes_of(n->type);
        for (uint32_t i = 0; i < out->n; i++)
            out->lane[i] = v.lane[n->lanes[i] & 15];
        return true;
    }
    default: return false;
    }
}

/* ---- addresses and lists --------------------------------------------------------------------- */

static bool lasting(Ocl *o, const OclNode *n)
{
    OclValue v;
    switch (n->kind) {
    case N_SYMBOL: return n->symbol->kind == S_VARIABLE && n->symbol->global;
    case N_STRING: return true;
    case N_MEMBER: return lasting(o, n->a);
    case N_INDEX: return ocl_fold(o, n->b, &v) && ocl_is_constant(o, n->a);
    case N_DEREF: return ocl_is_constant(o, n->a);
    default: return false;
    }
}

bool ocl_is_constant(Ocl *o, const OclNode *n)
{
    OclValue v;
    if (ocl_fold(o, n, &v))
        return true;
    switch (n->kind) {
    case N_INIT:
        for (uint32_t i = 0; i < n->n; i++) {
            if (n->list[i] && !ocl_is_constant(o, n->list[i]))
                return false;
        }
        return !n->a;
    case N_COMPOUND: return ocl_is_constant(o, n->a);
    case N_ADDRESS: return lasting(o, n->a);
    case N_BINARY:
        return is_pointer(n->type) && ((ocl_is_constant(o, n->a) && ocl_fold(o, n->b, &v)));
    case N_CAST:
        if (n->op == CAST_DECAY)
            return lasting(o, n->a);
        return n->op == CAST_NULL ||
               (is_pointer(n->type) && is_pointer(n->a->type) && ocl_is_constant(o, n->a));
    default: return false;
    }
}
