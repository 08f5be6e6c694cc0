// SPDX-License-Identifier: MIT
//
// The functions that shaders have no instruction near to: what the shader computes is close to what
// the OpenCL kernel does (bars of the values' largest, so that zeros of lgamma do not count alone).
//
// RUN: %heddle compile %s --target vulkan --emit spirv -o %t.spv
// RUN: %spirv-val --target-env vulkan1.3 %t.spv
// RUN: for K in errors gammas halves; do %heddle run %s --entry $K --bind 0=zeros:f32[2048] \
// RUN:   --bind 1=randn:f32[256]@3 --global 256 --local 64 --out 0=%t.npy && \
// RUN:   for D in cpu reference; do %heddle run %t.spv --entry $K --bind 0=zeros:f32[2048] \
// RUN:   --bind 1=randn:f32[256]@3 --global 256 --spec 0=64 --device $D --compare 0=%t.npy \
// RUN:   --tolerance 4e-6 || exit 1; done || exit 1; done

kernel void errors(global float *o, global const float *in)
{
    size_t g = get_global_id(0);
    float x = in[g] * 2;
    o[g] = erf(x);
    o[g + 256] = erfc(x);
    o[g + 512] = log(erfc(fabs(x) * 1.5f));
    o[g + 768] = erf(x * 0.001f) * 1000;
    o[g + 1024] = erfc(g == 0 ? INFINITY : -INFINITY) + erf(-INFINITY);
}

kernel void gammas(global float *o, global const float *in)
{
    size_t g = get_global_id(0);
    float x = in[g] * 2;
    int s;
    o[g] = lgamma_r(x, &s);
    o[g + 256] = s;
    o[g + 512] = lgamma(fabs(x) * 10) / 16;
    o[g + 768] = tgamma(x) / (1 + fabs(tgamma(x)));
    o[g + 1024] = log(tgamma(3 + fabs(x) * 3)) / 8;
    o[g + 1280] = isinf(lgamma(-(float)(g & 7))) + isnan(tgamma(-1 - (float)(g & 7)));
}

kernel void halves(global float *o, global const float *in)
{
    size_t g = get_global_id(0);
    half2 x = (half2)((half)in[g], (half)(in[g] * 3));
    o[g] = erf(x).y;
    o[g + 256] = erfc(x.x);
}
