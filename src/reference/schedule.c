/* SPDX-License-Identifier: MIT
 *
 * Runs workgroups one after another. Within a workgroup a random invocation that can proceed runs
 * until a shared memory operation offers a chance to switch, a collective operation has to wait for
 * the others, or it ends. When no invocation can proceed, the collective operation that comes first
 * in program order (flow.c) is carried out for all that wait for it.
 */
#include "reference/machine.h"

enum {
    SLICE = 1 << 16, /* instructions between two looks at what waits */
    LONG = 1 << 20   /* instructions that are many for one invocation */
};

RStep collective_wait(RMachine *m, RInv *v, const RInst *i)
{
    (void)m;
    (void)v;
    (void)i;
    return STEP_WAIT;
}

/* ---- invocations ----------------------------------------------------------------------------- */

static void builtin_mask(uint32_t lane, uint32_t width, uint32_t builtin, uint64_t out[4])
{
    for (uint32_t k = 0; k < width && k < 128; k++) {
        bool in = builtin == SpvBuiltInSubgroupEqMask   ? k == lane
                  : builtin == SpvBuiltInSubgroupGeMask ? k >= lane
                  : builtin == SpvBuiltInSubgroupGtMask ? k > lane
                  : builtin == SpvBuiltInSubgroupLeMask ? k <= lane
                                                        : k < lane;
        out[k / 32] |= (uint64_t)in << k % 32;
    }
}

/* Invocations of a workgroup that is not cut off at the edge of the dispatch. */
static uint64_t n_enqueued(const RMachine *m)
{
    uint64_t n = 1;
    for (uint32_t k = 0; k < 3; k++)
        n *= m->d->enqueued_size[k] ? m->d->enqueued_size[k] : m->local_size[k];
    return n;
}

/* False for a builtin that a compute kernel does not have. */
static bool builtin_value(const RMachine *m, const RInv *v, uint32_t builtin, uint64_t out[4])
{
    const RefDispatch *d = m->d;
    for (uint32_t k = 0; k < 3; k++) {
        uint64_t size = m->local_size[k];
        uint64_t enqueued = d->enqueued_size[k] ? d->enqueued_size[k] : size;
        switch (builtin) {
        case SpvBuiltInNumWorkgroups:
            out[k] = d->n_groups[k] ? d->n_groups[k] : d->groups[k];
            break;
        case SpvBuiltInWorkgroupSize: out[k] = size; break;
        case SpvBuiltInEnqueuedWorkgroupSize: out[k] = enqueued; break;
        case SpvBuiltInWorkgroupId: out[k] = m->group[k]; break;
        case SpvBuiltInLocalInvocationId: out[k] = v->local[k]; break;
        case SpvBuiltInGlobalInvocationId:
            out[k] = m->group[k] * enqueued + v->local[k] + d->global_offset[k];
            break;
        case SpvBuiltInGlobalSize:
            out[k] = d->global_size[k] ? d->global_size[k] : d->groups[k] * size;
            break;
        case SpvBuiltInGlobalOffset: out[k] = d->global_offset[k]; break;
        default: break;
        }
    }
    switch (builtin) {
    case SpvBuiltInNumWorkgroups:
    case SpvBuiltInWorkgroupSize:
    case SpvBuiltInEnqueuedWorkgroupSize:
    case SpvBuiltInWorkgroupId:
    case SpvBuiltInLocalInvocationId:
    case SpvBuiltInGlobalInvocationId:
    case SpvBuiltInGlobalSize:
    case SpvBuiltInGlobalOffset: return true;
    case SpvBuiltInLocalInvocationIndex:
        out[0] = (v->local[2] * m->local_size[1] + v->local[1]) * m->local_size[0] + v->local[0];
        return true;
    case SpvBuiltInSubgroupSize: /* in OpenCL those that there are */
        out[0] = m->model != SpvExecutionModelKernel
                     ? m->width
                     : MIN(m->width, m->n_inv - v->subgroup * m->width);
        return true;
    case SpvBuiltInSubgroupMaxSize: out[0] = m->width; return true;
    case SpvBuiltInNumSubgroups: out[0] = m->n_subgroups; return true;
    case SpvBuiltInNumEnqueuedSubgroups:
        out[0] = (n_enqueued(m) + m->width - 1) / m->width;
        return true;
    case SpvBuiltInSubgroupId: out[0] = v->subgroup; return true;
    case SpvBuiltInSubgroupLocalInvocationId: out[0] = v->lane; return true;
    case SpvBuiltInSubgroupEqMask:
    case SpvBuiltInSubgroupGeMask:
    case SpvBuiltInSubgroupGtMask:
    case SpvBuiltInSubgroupLeMask:
    case SpvBuiltInSubgroupLtMask: builtin_mask(v->lane, m->width, builtin, out); return true;
    case SpvBuiltInWorkDim: out[0] = d->work_dim ? d->work_dim : 3; return true;
    case SpvBuiltInGlobalLinearId: {
        uint64_t x = 0;
        for (int k = 2; k >= 0; k--) {
            uint64_t size = d->enqueued_size[k] ? d->enqueued_size[k] : m->local_size[k];
            uint64_t all = d->global_size[k] ? d->global_size[k] : d->groups[k] * size;
            x = x * all + m->group[k] * size + v->local[k];
        }
        out[0] = x;
        return true;
    }
    case SpvBuiltInDeviceIndex:
    case SpvBuiltInViewIndex: return true;
    default: return false;
    }
}

static void start(RMachine *m, RInv *v, RFunc *entry)
{
    memcpy(v->memory, m->local_image, m->local_bytes);
    memcpy(v->memory_undef, m->local_undef, m->local_bytes);
    for (uint32_t k = 0; k < m->builtins.len; k++) {
        const struct RBuiltin *b = &m->builtins.data[k];
        const RType *s = type_scalar(b->type);
        uint64_t x[4] = { 0 };
        builtin_value(m, v, b->builtin, x);
        for (uint32_t c = 0; c < b->type->leaves && c < 4; c++)
            mem_write(v->memory + b->offset + c * s->size, (uint32_t)MIN(s->size, 8), x[c]);
    }
    if (m->local_objects.len)
        memcpy(v->objects, m->local_objects.data, m->local_objects.len * sizeof(*v->objects));
    v->base[0] = v->slots;
    v->ubase[0] = v->undef;
    v->n_frames = 0;
    v->steps = v->turns = v->circles = 0;
    v->left = random_below(m, 24);
    v->state = INV_READY;
    v->arrived = 0;
    inv_enter(m, v, entry, 0, REF_NONE, 0);
    for (uint32_t k = 0; k < entry->n_params; k++) {
        uint32_t n = entry->param_types[k]->leaves;
        memcpy(leaf(v, entry->params[k]), leaf(v, m->args[k]), n * sizeof(uint64_t));
        memcpy(unset(v, entry->params[k]), unset(v, m->args[k]), n);
    }
}

/* LocalInvocationId of invocation `n` of a workgroup, in the order that subgroups are made in: by
 * rows, or by quads, which are by rows (Vulkan 1.4, Quad scope). */
static void local_id(const RMachine *m, uint32_t n, uint32_t id[3])
{
    uint32_t x = m->local_size[0], y = m->local_size[1];
    if (m->entry.quads != SPV_QUADS_SQUARE) {
        id[0] = n % x;
        id[1] = n / x % y;
        id[2] = n / x / y;
        return;
    }
    uint32_t quad = n / 4, across = x / 2, down = y / 2;
    id[0] = quad % across * 2 + n % 2;
    id[1] = quad / across % down * 2 + n / 2 % 2;
    id[2] = quad / across / down;
}

static void make_invocations(RMachine *m, const RFunc *f)
{
    m->inv = NEW_ARRAY(m->arena, RInv, m->n_inv);
    m->ready = NEW_ARRAY(m->arena, uint32_t, m->n_inv);
    m->subgroups = NEW_ARRAY(m->arena, RSubgroup, m->n_subgroups);
    uint64_t memory = m->local_bytes + f->total_memory;
    for (uint32_t k = 0; k < m->n_inv; k++) {
        RInv *v = &m->inv[k];
        RSubgroup *s = &m->subgroups[k / m->width];
        v->index = k;
        v->lane = k % m->width;
        v->subgroup = k / m->width;
        local_id(m, k, v->local);
        v->slots = NEW_ARRAY(m->arena, uint64_t, f->total_slots + 1);
        v->undef = NEW_ARRAY(m->arena, uint8_t, f->total_slots + 1);
        v->frames = NEW_ARRAY(m->arena, RFrame, f->total_frames + 1);
        v->iters = NEW_ARRAY(m->arena, uint32_t, f->total_depth + 1);
        v->memory = NEW_ARRAY(m->arena, uint8_t, memory + 16);
        v->memory_undef = NEW_ARRAY(m->arena, uint8_t, memory + 16);
        v->objects =
            NEW_ARRAY(m->arena, RLocalObject, m->local_objects.len + f->total_variables + 1);
        v->base[1] = m->cv;
        v->ubase[1] = m->cu;
        if (!s->n++) {
            s->first = v;
            s->index = v->subgroup;
        }
    }
}

/* ---- running one ----------------------------------------------------------------------------- */

bool inv_may_step(RMachine *m, RInv *v, const RInst *i, uint64_t budget)
{
    if (++v->steps <= budget)
        return true;
    found(m, v, i, REF_ENDLESS, "still running after %llu instructions: an endless loop?",
          (unsigned long long)budget);
    m->stop = true;
    return false;
}

void inv_account(RMachine *m, const RInv *v, uint64_t began)
{
    m->instructions += v->steps - began;
    if (m->d->total_budget && m->instructions > m->d->total_budget && !m->stop) {
        found(m, v, &m->code.data[v->pc], REF_ENDLESS,
              "the dispatch is still running after %llu instructions",
              (unsigned long long)m->instructions);
        m->stop = true;
    }
    if (m->d->stop && *m->d->stop && !m->stop) {
        found(m, v, &m->code.data[v->pc], REF_STOPPED, "stopped here");
        m->stop = true;
    }
}

static void run_invocation(RMachine *m, RInv *v, uint64_t budget)
{
    uint64_t began = v->steps, until = MIN(budget, began + SLICE);
    const RInst *code = m->code.data;
    for (;;) {
        const RInst *i = &code[v->pc];
        if (!inv_may_step(m, v, i, budget) || v->steps > until)
            break;
        RStep s = i->run(m, v, i);
        if (s == STEP_NEXT) {
            v->pc++;
            continue;
        }
        if (s == STEP_JUMP)
            continue;
        if (s == STEP_SWITCH)
            v->pc++;
        else
            v->state = s == STEP_WAIT ? INV_WAITING : INV_DONE;
        break;
    }
    inv_account(m, v, began);
}

/* ---- collective operations ------------------------------------------------------------------- */

static void wake(RMachine *m, RInv **set, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        set[k]->pc++;
        set[k]->steps++;
        set[k]->state = INV_READY;
        m->ready[m->n_ready++] = set[k]->index;
    }
}

static void carry_out(RMachine *m, RInv **set, uint32_t n, const RInst *i, uint32_t all)
{
    if (i->whole && n < all)
        found(m, set[0], i, REF_DIVERGENT, "%s is reached by %u of the %u invocations of its %s",
              spv_op_name(i->op), n, all, i->scope == SpvScopeWorkgroup ? "workgroup" : "subgroup");
    m->changes++;
    i->together(m, set, n, i);
    wake(m, set, n);
}

/* Collects the invocations from `first` on that are where `at` is; 0 if one of them is still on its
 * way. */
static uint32_t gather_waiting(RMachine *m, RInv *first, uint32_t count, const RInv *at, RInv **set)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < count; k++) {
        RInv *v = &first[k];
        if (v->state == INV_DONE || flow_compare(m, v, at))
            continue;
        if (v->state != INV_WAITING)
            return 0;
        set[n++] = v;
    }
    return n;
}

static RInv *earliest(RMachine *m, RInv *first, uint32_t count)
{
    RInv *least = NULL;
    for (uint32_t k = 0; k < count; k++)
        if (first[k].state != INV_DONE && (!least || flow_compare(m, &first[k], least) < 0))
            least = &first[k];
    return least;
}

static bool resolve_subgroups(RMachine *m, RInv **set)
{
    bool progress = false;
    for (uint32_t s = 0; s < m->n_subgroups; s++) {
        RSubgroup *g = &m->subgroups[s];
        RInv *least = earliest(m, g->first, g->n);
        if (!least || least->state != INV_WAITING)
            continue;
        const RInst *i = &m->code.data[least->pc];
        uint32_t n =
            i->scope == SpvScopeWorkgroup ? 0 : gather_waiting(m, g->first, g->n, least, set);
        if (n) {
            carry_out(m, set, n, i, g->n);
            progress = true;
        }
    }
    return progress;
}

/* A workgroup's operation goes ahead when all invocations that have not ended wait at it. */
static bool resolve_workgroup(RMachine *m, RInv **set, bool force)
{
    uint32_t alive = 0, n;
    RInv *least = earliest(m, m->inv, m->n_inv);
    if (!least || least->state != INV_WAITING)
        return false;
    const RInst *i = &m->code.data[least->pc];
    for (uint32_t k = 0; k < m->n_inv; k++)
        alive += m->inv[k].state != INV_DONE;
    n = gather_waiting(m, m->inv, m->n_inv, least, set);
    if (!n || (n != alive && !force))
        return false;
    if (n != alive) {
        uint32_t k = 0;
        while (m->inv[k].state == INV_DONE || !flow_compare(m, &m->inv[k], least))
            k++;
        m->deadlocked = true;
        found(m, least, i, REF_DEADLOCK,
              "deadlock: %u of %u invocations wait here, others at %s (instruction %u)", n,
              m->n_inv, spv_op_name(m->code.data[m->inv[k].pc].op),
              m->code.data[m->inv[k].pc].src->index);
    }
    if (i->scope == SpvScopeWorkgroup) {
        if (!i->whole && n < m->n_inv && n == alive && !m->deadlocked)
            found(m, least, i, REF_DIVERGENT,
                  "a barrier that only %u of %u invocations reach: the others have ended", n,
                  m->n_inv);
        carry_out(m, set, n, i, m->n_inv);
    } else {
        n = gather_waiting(m, m->subgroups[least->subgroup].first, m->subgroups[least->subgroup].n,
                           least, set);
        carry_out(m, set, n, i, m->subgroups[least->subgroup].n);
    }
    return true;
}

static bool any_alive(const RMachine *m)
{
    for (uint32_t k = 0; k < m->n_inv; k++)
        if (m->inv[k].state != INV_DONE)
            return true;
    return false;
}

/* Whether all invocations that still run only repeat their states. */
static bool all_circle(const RMachine *m)
{
    for (uint32_t k = 0; k < m->n_ready; k++)
        if (!endless_circles(m, &m->inv[m->ready[k]]))
            return false;
    return m->n_ready > 0;
}

/* Chooses which of `ready` runs next: a random one, alternating with one that has run for long
 * without looking at what others do, so that an endless loop in many invocations uses up the budget
 * of one rather than of all. */
static uint32_t choose_invocation(RMachine *m)
{
    uint32_t at = random_below(m, m->n_ready), k = 0;
    const RInv *v = m->ahead;
    if (!v || v->looked || !(m->rng & 1))
        return at;
    while (k < m->n_ready && &m->inv[m->ready[k]] != v)
        k++;
    return k < m->n_ready ? k : at;
}

static void run_group(RMachine *m, RFunc *entry, RInv **set, uint64_t budget)
{
    uint64_t looked = m->instructions;
    mem_new_group(m);
    race_new_group(m);
    m->n_ready = 0;
    m->deadlocked = false;
    m->ahead = NULL;
    for (uint32_t k = 0; k < m->n_inv; k++) {
        start(m, &m->inv[k], entry);
        m->ready[m->n_ready++] = k;
    }
    while (!m->stop) {
        if (!m->n_ready) {
            if (!any_alive(m))
                break;
            if (!resolve_subgroups(m, set) && !resolve_workgroup(m, set, false))
                resolve_workgroup(m, set, true);
            continue;
        }
        uint32_t at = choose_invocation(m);
        RInv *v = &m->inv[m->ready[at]];
        run_invocation(m, v, budget);
        if (v->steps > LONG && !v->looked && (!m->ahead || m->ahead->steps < v->steps))
            m->ahead = v;
        if (v->state != INV_READY)
            m->ready[at] = m->ready[--m->n_ready];
        if (endless_circles(m, v) && all_circle(m) && !resolve_subgroups(m, set) && !m->stop)
            endless_found(m, v, "nobody of its workgroup will change what it waits for");
        /* An invocation that spins on memory may be waiting for a consequence of a collective
         * operation. */
        if (m->instructions - looked > 16 * SLICE && m->n_ready) {
            looked = m->instructions;
            resolve_subgroups(m, set);
        }
    }
}

bool run_groups(RMachine *m)
{
    RFunc *entry = decode_find(m, m->entry.function->def->id);
    RInv **set = NEW_ARRAY(m->arena, RInv *, m->n_inv);
    uint64_t budget = m->d->budget ? m->d->budget : REF_BUDGET;
    uint64_t total = (uint64_t)m->d->groups[0] * m->d->groups[1] * m->d->groups[2];
    make_invocations(m, entry);
    accesses_begin(m);
    for (uint32_t z = 0; z < m->d->groups[2] && !m->stop; z++)
        for (uint32_t y = 0; y < m->d->groups[1] && !m->stop; y++)
            for (uint32_t x = 0; x < m->d->groups[0] && !m->stop; x++) {
                m->group[0] = m->d->base_group[0] + x;
                m->group[1] = m->d->base_group[1] + y;
                m->group[2] = m->d->base_group[2] + z;
                run_group(m, entry, set, budget);
                accesses_end_group(m);
                m->group_number++;
                if (m->d->progress)
                    m->d->progress(m->d->progress_user, m->group_number, total);
            }
    return !m->stop;
}
