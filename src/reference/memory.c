/* SPDX-License-Identifier: MIT
 *
 * Memory, byte by byte and scalar by scalar: every access names an object (a buffer, workgroup
 * memory, a variable of an invocation) and is checked against its bounds, whether or not findings
 * are asked for. The objects of invocations and workgroups have a second byte for each byte, which
 * is 1 until the first is written.
 */
#include "reference/machine.h"

uint64_t mem_read(const uint8_t *p, uint32_t size)
{
    uint64_t x = 0;
    memcpy(&x, p, size); /* little-endian hosts only, as SPIR-V's memory is on all of them */
    return x;
}

void mem_write(uint8_t *p, uint32_t size, uint64_t x) { memcpy(p, &x, size); }

/* ---- access ---------------------------------------------------------------------------------- */

static const char *describe_object(RMachine *m, const RObject *o)
{
    const SpvInst *def = o->variable ? spv_def(m->module, o->variable) : NULL;
    if (def && def->op == SpvOpFunctionParameter)
        return arena_printf(m->arena, "%s'%s' (argument %u)",
                            o->storage == SpvStorageClassWorkgroup ? "" : "buffer ",
                            name_of(m, o->variable), o->binding);
    if (o->variable && o->storage != SpvStorageClassWorkgroup &&
        o->storage != SpvStorageClassPushConstant)
        return arena_printf(m->arena, "%s '%s' (set %u, binding %u)",
                            o->storage == SpvStorageClassImage ? "image" : "buffer",
                            name_of(m, o->variable), o->set, o->binding);
    return o->variable ? arena_printf(m->arena, "'%s'", name_of(m, o->variable)) : "a buffer";
}

static bool outside(RMachine *m, RInv *v, const RInst *i, const RRequest *r, uint64_t at,
                    const char *what)
{
    bool reads = r->kind == ACCESS_READ || r->kind == ACCESS_ATOMIC_READ;
    found(m, v, i, REF_OUT_OF_BOUNDS, "%s of %u bytes at byte %lld of %s", reads ? "read" : "write",
          r->size, (long long)at, what);
    return false;
}

static bool local_access(RMachine *m, RInv *v, const RInst *i, const RRequest *r, RAccess *out)
{
    uint32_t index = r->at.prov & PTR_INDEX_MASK;
    if (index >= v->n_objects) {
        found(m, v, i, REF_OUT_OF_BOUNDS, "access to a variable that no longer exists");
        return false;
    }
    const RLocalObject *o = &v->objects[index];
    uint64_t at = r->at.va - LOCAL_BASE - o->offset;
    if (at > o->size || r->size > o->size - at)
        return checking(m, REF_OUT_OF_BOUNDS) &&
               outside(m, v, i, r, at,
                       arena_printf(m->arena, "'%s', which has %llu", name_of(m, o->variable),
                                    (unsigned long long)o->size));
    out->data = v->memory + o->offset + at;
    out->undef = v->memory_undef + o->offset + at;
    out->object = NULL;
    return true;
}

const RObject *mem_object(const RMachine *m, uint64_t prov)
{
    uint32_t index = prov & PTR_INDEX_MASK;
    bool there = !(prov & PTR_LOCAL) && index && index < m->objects.len;
    return there ? &m->objects.data[index] : NULL;
}

static bool shared_access(RMachine *m, RInv *v, const RInst *i, const RRequest *r, RAccess *out)
{
    const RObject *o = mem_object(m, r->at.prov);
    bool writes = r->kind == ACCESS_WRITE || r->kind == ACCESS_ATOMIC;
    if (!o) {
        found(m, v, i, REF_OUT_OF_BOUNDS,
              r->at.va ? "pointer %#llx leads to no buffer that is bound"
                       : "access through a null pointer%.0llx",
              (unsigned long long)r->at.va);
        return false;
    }
    uint64_t at = r->at.va - o->va;
    if (at > o->size || r->size > o->size - at)
        return checking(m, REF_OUT_OF_BOUNDS) &&
               outside(m, v, i, r, at,
                       arena_printf(m->arena, "%s, which has %llu", describe_object(m, o),
                                    (unsigned long long)o->size));
    if (!o->writable && writes) {
        found(m, v, i, REF_OUT_OF_BOUNDS, "write to %s, which is read-only", describe_object(m, o));
        return false;
    }
    out->data = o->data + at;
    out->undef = o->undef ? o->undef + at : NULL;
    out->object = o;
    v->looked |= o->writable && r->kind != ACCESS_WRITE;
    m->changes += r->kind == ACCESS_WRITE;
    if (m->accesses && !m->by_matrix)
        accesses_note(m, v, i, r);
    if (o->shared && checking(m, REF_RACE))
        race_access(m, v, i, &(RTouched){ o, at, r->size, r->kind });
    return true;
}

bool mem_access(RMachine *m, RInv *v, const RInst *i, const RRequest *request, RAccess *out)
{
    RRequest r = *request;
    if (r.at.prov & PTR_STRAY) {
        if (!found_again(m, i, REF_OUT_OF_BOUNDS))
            found(m, v, i, REF_OUT_OF_BOUNDS, "%s", pointer_stray(m, v, i));
        return false;
    }
    r.at.prov = mem_provenance(m, v, r.at);
    if (r.align > 1 && r.at.va % r.align)
        found(m, v, i, REF_MISALIGNED, "address %#llx is not a multiple of %u",
              (unsigned long long)r.at.va, r.align);
    return r.at.prov & PTR_LOCAL ? local_access(m, v, i, &r, out) : shared_access(m, v, i, &r, out);
}

uint64_t mem_provenance(RMachine *m, RInv *v, RPointer p)
{
    if (p.prov & PTR_OBJECT_MASK)
        return p.prov;
    if (p.va >= LOCAL_BASE && p.va < SHARED_BASE) {
        uint64_t at = p.va - LOCAL_BASE;
        for (uint32_t k = v->n_objects; k-- > 0;)
            if (at >= v->objects[k].offset && at - v->objects[k].offset < v->objects[k].size)
                return PTR_LOCAL | k;
    }
    for (uint32_t k = 1; k < m->objects.len; k++) {
        const RObject *o = &m->objects.data[k];
        if (p.va >= o->va && p.va - o->va < o->size && o->storage != SpvStorageClassPushConstant)
            return k;
    }
    return PTR_NOWHERE;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static uint8_t any_undef(const uint8_t *u, uint32_t n)
{
    uint8_t any = 0;
    for (uint32_t k = 0; u && k < n; k++)
        any |= u[k];
    return any;
}

bool mem_load_scalar(RMachine *m, RInv *v, const RInst *i, RPointer at, const RType *t, RLeaves to)
{
    RAccess a;
    uint32_t size = (uint32_t)t->size;
    bool pointer = t->kind == SPV_POINTER;
    to.x[0] = to.undef[0] = 0;
    if (pointer)
        to.x[1] = to.undef[1] = 0;
    if (!mem_access(m, v, i, &(RRequest){ at, size, t->align, ACCESS_READ }, &a))
        return false;
    to.undef[0] = any_undef(a.undef, size);
    to.x[0] = mem_read(a.data, pointer ? 8 : size);
    if (t->kind == SPV_BOOL)
        to.x[0] = to.x[0] != 0;
    if (pointer)
        to.x[1] = t->physical ? PTR_NOWHERE : mem_read(a.data + 8, 8);
    return true;
}

void mem_store_scalar(RMachine *m, RInv *v, const RInst *i, RPointer at, const RType *t,
                      RLeaves from)
{
    RAccess a;
    uint32_t size = (uint32_t)t->size;
    uint8_t undef = from.undef[0];
    if (!mem_access(m, v, i, &(RRequest){ at, size, t->align, ACCESS_WRITE }, &a))
        return;
    if (undef && !a.undef)
        found(m, v, i, REF_UNDEFINED, "%s is stored to a buffer", undefined_name(undef));
    if (a.object && size <= 8 && mem_read(a.data, size) == from.x[0] && !undef &&
        !any_undef(a.undef, size))
        m->changes--; /* the same value was there before */
    if (a.undef)
        memset(a.undef, undef, size);
    mem_write(a.data, MIN(size, 8), from.x[0]);
    if (t->kind == SPV_POINTER && !t->physical)
        mem_write(a.data + 8, 8, from.x[1]);
}

bool mem_copy_byte(RMachine *m, RInv *v, const RInst *i, RPointer to, RPointer from)
{
    RAccess a, b;
    if (!mem_access(m, v, i, &(RRequest){ from, 1, 1, ACCESS_READ }, &a) ||
        !mem_access(m, v, i, &(RRequest){ to, 1, 1, ACCESS_WRITE }, &b))
        return false;
    *b.data = *a.data;
    if (b.undef)
        *b.undef = a.undef ? *a.undef : 0;
    return true;
}
