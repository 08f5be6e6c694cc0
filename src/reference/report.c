/* SPDX-License-Identifier: MIT
 *
 * Findings: each kind is kept once per instruction, with a count and the place where it was first
 * seen, and reported when the dispatch is over.
 */
#include "reference/machine.h"

#include <stdio.h>

enum { MAX_FINDINGS = 1000 };

static const char *const names[REF_N_FINDINGS] = {
    [REF_OUT_OF_BOUNDS] = "out-of-bounds",
    [REF_UNDEFINED] = "undefined-value",
    [REF_RACE] = "data-race",
    [REF_DIVERGENT] = "divergent",
    [REF_NOT_UNIFORM] = "not-uniform",
    [REF_MISALIGNED] = "misaligned",
    [REF_RANGE] = "out-of-range",
    [REF_ENDLESS] = "endless-loop",
    [REF_DEADLOCK] = "deadlock",
    [REF_STOPPED] = "stopped",
    [REF_UNSUPPORTED] = "unsupported",
    [REF_PORTABILITY] = "portability",
    [REF_NOT_FINITE] = "not-finite",
};

const char *ref_finding_name(RefFindingKind kind)
{
    return kind < REF_N_FINDINGS ? names[kind] : "unknown";
}

const char *name_of(RMachine *m, SpvId id)
{
    const char *n = id ? spv_name(m->module, id) : NULL;
    const SpvInst *def = id ? spv_def(m->module, id) : NULL;
    /* A block without an instance name: the block's own. */
    if ((!n || !*n) && def && def->op == SpvOpVariable && def->type) {
        const RType *p = m->types[def->type];
        n = p && p->kind == SPV_POINTER ? spv_name(m->module, p->pointee) : NULL;
    }
    if (!n || !*n)
        return arena_printf(m->arena, "%%%u", id);
    /* Of OpenCL's workgroup memory the variable's own name, behind the kernel's. */
    const char *kernel = m->entry.name;
    size_t length = kernel ? strlen(kernel) : 0;
    return length && !strncmp(n, kernel, length) && n[length] == '.' ? n + length + 1 : n;
}

static void report(RMachine *m, const RFinding *f)
{
    char where[160] = "", times[48] = "";
    if (f->count > 1)
        snprintf(times, sizeof(times), "; %llu times, first", (unsigned long long)f->count);
    if (!f->no_place)
        snprintf(where, sizeof(where), "%s in workgroup (%u, %u, %u), invocation (%u, %u, %u)",
                 f->count > 1 ? times : ";", f->group[0], f->group[1], f->group[2], f->local[0],
                 f->local[1], f->local[2]);
    DiagLoc loc = spv_loc(m->arena, m->module, f->inst);
    diag(m->sink, f->kind == REF_NOT_FINITE ? DIAG_WARNING : DIAG_ERROR, &loc, names[f->kind],
         "%s%s", f->message, f->no_place ? times : where);
}

/* What has been reported already, now that all of them are counted. */
static void report_count(RMachine *m, const RFinding *f)
{
    if (f->count < 2)
        return;
    DiagLoc loc = spv_loc(m->arena, m->module, f->inst);
    diag(m->sink, DIAG_NOTE, &loc, names[f->kind], "that was so %llu times",
         (unsigned long long)f->count);
}

bool checking(const RMachine *m, RefFindingKind kind)
{
    return (m->check >> kind & 1) || kind == REF_ENDLESS || kind == REF_DEADLOCK ||
           kind == REF_STOPPED || kind == REF_UNSUPPORTED;
}

void found(RMachine *m, const RInv *v, const RInst *i, RefFindingKind kind, const char *fmt, ...)
{
    if (!checking(m, kind) || (v && v == &m->const_inv))
        return;
    uint64_t key = (uint64_t)(i ? i->number + 1 : 0) << 8 | kind, at;
    if (map_get(&m->finding_index, key, &at)) {
        m->findings.data[at].count++;
        return;
    }
    if (m->findings.len >= MAX_FINDINGS)
        return;
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    RFinding f = { .kind = kind, .inst = i ? i->src : NULL, .count = 1, .no_place = !v };
    f.message = arena_strdup(m->arena, text);
    memcpy(f.group, m->group, sizeof(f.group));
    if (v)
        memcpy(f.local, v->local, sizeof(f.local));
    map_put(m->arena, &m->finding_index, key, m->findings.len);
    vec_push(m->arena, &m->findings, f);
    if (m->d->live)
        report(m, &f);
}

bool found_again(RMachine *m, const RInst *i, RefFindingKind kind)
{
    uint64_t at;
    if (!map_get(&m->finding_index, (uint64_t)(i->number + 1) << 8 | kind, &at))
        return false;
    m->findings.data[at].count++;
    return true;
}

void refuse(RMachine *m, const SpvInst *i, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (!m->failed)
        spv_error(m->module, i, m->sink, NULL, "%s", text);
    m->failed = true;
}

const char *undefined_name(uint8_t unset)
{
    return unset & UNSET_LANE ? "what a lane past the matrix extracted from it, an undefined value,"
                              : "a value that was never written";
}

void matters(RMachine *m, RInv *v, const RInst *i, Ref r, uint32_t n, const char *what)
{
    uint8_t *u = unset(v, r);
    uint8_t any = 0;
    for (uint32_t k = 0; k < n; k++)
        any |= u[k];
    if (!any)
        return;
    found(m, v, i, REF_UNDEFINED, "%s %s", undefined_name(any), what);
    if (!(r & REF_CONST))
        memset(u, 0, n);
}

void report_all(RMachine *m, Arena *a, RefResult *r)
{
    if (r) {
        RefFinding *out = NEW_ARRAY(a, RefFinding, m->findings.len + 1);
        for (uint32_t k = 0; k < m->findings.len; k++) {
            RFinding *f = &m->findings.data[k];
            out[k] = (RefFinding){ .kind = f->kind, .inst = f->inst, .count = f->count };
            memcpy(out[k].group, f->group, sizeof(f->group));
            memcpy(out[k].local, f->local, sizeof(f->local));
            out[k].message = arena_strdup(a, f->message);
        }
        r->findings = out;
        r->n_findings = m->findings.len;
    }
    for (uint32_t k = 0; k < m->findings.len; k++) {
        if (m->d->live)
            report_count(m, &m->findings.data[k]);
        else
            report(m, &m->findings.data[k]);
    }
}
