#version 460
// Atomics on buffers and shared memory, 32 and 64 bits, floating-point, scopes, barriers.
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_shader_atomic_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(binding = 0) buffer O { uint count; int low; uint64_t wide; float sum; uint bins[]; };
shared uint local_count;
void main() {
    if (gl_LocalInvocationIndex == 0) local_count = 0;
    memoryBarrierShared();
    barrier();
    atomicAdd(local_count, 1);
    atomicMin(low, -int(gl_GlobalInvocationID.x));
    atomicMax(wide, 1UL << gl_LocalInvocationIndex);
    atomicAdd(sum, 0.5);
    uint old = atomicCompSwap(bins[0], 0, 7);
    old ^= atomicExchange(bins[1], old);
    atomicStore(bins[3], old, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease);
    atomicOr(count, local_count);
}
