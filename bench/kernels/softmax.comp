#version 450
// SPDX-License-Identifier: MIT
// Softmax of each row of a matrix, a row a subgroup.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 128) in;

layout(binding = 0) readonly buffer In { float a[]; };
layout(binding = 1) buffer Out { float b[]; };
layout(push_constant) uniform Push { uint columns, rows; };

void main()
{
    for (uint row = gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID; row < rows;
         row += gl_NumWorkGroups.x * gl_NumSubgroups) {
        uint first = row * columns, me = gl_SubgroupInvocationID;
        float most = -1e38;
        for (uint i = me; i < columns; i += gl_SubgroupSize)
            most = max(most, a[first + i]);
        most = subgroupMax(most);
        float sum = 0;
        for (uint i = me; i < columns; i += gl_SubgroupSize) {
            float e = exp(a[first + i] - most);
            b[first + i] = e;
            sum += e;
        }
        sum = subgroupAdd(sum);
        for (uint i = me; i < columns; i += gl_SubgroupSize)
            b[first + i] /= sum;
    }
}
