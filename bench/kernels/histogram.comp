#version 450
// SPDX-License-Identifier: MIT
// How often each byte occurs in n words: counted in shared memory, then added to the result.
layout(local_size_x = 256) in;

layout(binding = 0) readonly buffer In { uint word[]; };
layout(binding = 1) buffer Out { uint count[256]; };
layout(push_constant) uniform Push { uint n; };

const uint WORDS = 32;      // of an invocation
shared uint bins[256];

void main()
{
    uint me = gl_LocalInvocationID.x;
    bins[me] = 0;
    barrier();
    for (uint k = 0; k < WORDS; k++) {
        uint i = (gl_WorkGroupID.x * WORDS + k) * 256 + me;
        if (i < n) {
            uint w = word[i];
            atomicAdd(bins[w & 255], 1);
            atomicAdd(bins[w >> 8 & 255], 1);
            atomicAdd(bins[w >> 16 & 255], 1);
            atomicAdd(bins[w >> 24], 1);
        }
    }
    barrier();
    atomicAdd(count[me], bins[me]);
}
