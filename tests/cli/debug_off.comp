// SPDX-License-Identifier: MIT
// Without -g, debug information in a module costs nothing: the same kernel with none, with lines and
// with NonSemantic.Shader.DebugInfo.100 is the same code, byte for byte; only blocks are named after
// other ids.
// RUN: %glslang --target-env vulkan1.3 -V -S comp %s -o %t.plain.spv > /dev/null
// RUN: %glslang --target-env vulkan1.3 -V -g -S comp %s -o %t.lines.spv > /dev/null
// RUN: %glslang --target-env vulkan1.3 -gVS -S comp %s -o %t.full.spv > /dev/null
// RUN: %heddle compile %t.full.spv | grep DebugLine > /dev/null
// RUN: for k in plain lines full; do for form in llvm native; do %heddle compile %t.$k.spv --emit $form \
// RUN:   | grep -vE 'source_filename|ModuleID|^[[:space:]]*\.file' | sed -E 's/\bb[0-9]+/b/g; s/ +/ /g' > %t.$k.$form || exit 1; done; done; \
// RUN:   for form in llvm native; do test -s %t.plain.$form && cmp %t.plain.$form %t.lines.$form && \
// RUN:   cmp %t.plain.$form %t.full.$form || exit 1; done
#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer X
{
    float x[];
};
shared float s[32];

float scale(float v)
{
    float w = v * 3.0;
    return w + 1.0;
}

void main()
{
    uint i = gl_LocalInvocationIndex;
    float sum = 0.0;
    s[i] = scale(x[i]);
    barrier();
    for (uint k = 0u; k < 32u; k++)
        sum += s[(i + k) % 32u];
    if (sum > 4.0)
        x[i] = sum;
}
