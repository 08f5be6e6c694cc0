// SPDX-License-Identifier: MIT
//
// Arrays of lanes to matrices and back, for the workloads of conversions.c: by the conversions of
// GL_QCOM_cooperative_matrix_conversion, or, with SHARED defined, by way of shared memory, as one
// has to without them. Arrays to become A are of type E, the matrices' own or uint; STAGE elements
// are staged at a time.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_QCOM_cooperative_matrix_conversion : require

const int ROW_MAJOR = gl_CooperativeMatrixLayoutRowMajor;
const int COLUMN_MAJOR = gl_CooperativeMatrixLayoutColumnMajor;

#ifdef SHARED
shared E stage[STAGE];
shared float stage32[STAGE];

void staged()
{
    controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease);
}

// n elements, `from` on, of arrays into the rows of a matrix.
#define ARRAY_TO_MATRIX(array, from, n, matrix)                                                    \
    {                                                                                              \
        for (int i_ = 0; i_ < (n); i_++)                                                           \
            stage[gl_SubgroupInvocationID * (n) + i_] = array[(from) + i_];                        \
        staged();                                                                                  \
        coopMatLoad(matrix, stage, 0, (n), ROW_MAJOR);                                             \
        staged();                                                                                  \
    }
// An accumulator's rows from and into arrays of n floats.
#define ARRAY_TO_SUM(array, n, matrix)                                                             \
    {                                                                                              \
        for (int i_ = 0; i_ < (n); i_++)                                                           \
            stage32[gl_SubgroupInvocationID * (n) + i_] = array[i_];                               \
        staged();                                                                                  \
        coopMatLoad(matrix, stage32, 0, (n), ROW_MAJOR);                                           \
        staged();                                                                                  \
    }
#define SUM_TO_ARRAY(matrix, n, array)                                                             \
    {                                                                                              \
        coopMatStore(matrix, stage32, 0, (n), ROW_MAJOR);                                          \
        staged();                                                                                  \
        for (int i_ = 0; i_ < (n); i_++)                                                           \
            array[i_] = stage32[gl_SubgroupInvocationID * (n) + i_];                               \
        staged();                                                                                  \
    }
#else
#define ARRAY_TO_MATRIX(array, from, n, matrix)                                                    \
    {                                                                                              \
        E part_[n];                                                                                \
        extractSubArrayQCOM(array, (from), part_);                                                 \
        vectorToCoopmatQCOM(part_, matrix);                                                        \
    }
#define ARRAY_TO_SUM(array, n, matrix) vectorToCoopmatQCOM(array, matrix)
#define SUM_TO_ARRAY(matrix, n, array) coopmatToVectorQCOM(matrix, array)
#endif
