// SPDX-License-Identifier: MIT
//
// A 3 x 3 convolution as nine products of matrices: the image is h x w x c (channels last, with a
// border of one pixel), the weights 3 x 3 x c x k, the result h x w x k.
//
// A work-group is one sub-group. It computes 16 pixels of a row and 16 of the k channels: for each of
// the nine offsets, the pixels' channels are a 16 x c matrix that lies in the image as it is, with
// the channels as its stride. w and k are multiples of 16, c is one of 16.
//
//     heddle run examples/opencl/convolution.cl --global 64,32,4
//         --bind 0=randn:f16[34,34,16]@1 --bind 1=randn:f16[3,3,16,64]@2
//         --bind 2=zeros:f32[32,32,64] --bind 3=list:u32:32 --bind 4=list:u32:16 --bind 5=list:u32:64
#define TILE 16
#define MATRIX(T, use)                                                                             \
    T __attribute__((coop_mat(CLK_COOPERATIVE_MATRIX_SCOPE_SUBGROUP, TILE, TILE,                   \
                              CLK_COOPERATIVE_MATRIX_##use)))
#define ROW_MAJOR CLK_COOPERATIVE_MATRIX_LAYOUT_ROW_MAJOR

__attribute__((reqd_work_group_size(32, 1, 1), intel_reqd_sub_group_size(32)))
kernel void convolution(global const half *restrict image, global const half *restrict weights,
                        global float *restrict result, uint width, uint channels, uint outputs)
{
    const uint x = get_group_id(0) * TILE, y = get_group_id(1), output = get_group_id(2) * TILE;
    const uint line = (width + 2) * channels;
    MATRIX(float, ACCUMULATOR) sum = { 0 };
    for (uint offset = 0; offset < 9; offset++) {
        const uint dx = offset % 3, dy = offset / 3;
        for (uint c = 0; c < channels; c += TILE) {
            MATRIX(half, A) pixels = coop_mat_load(image + (y + dy) * line + (x + dx) * channels + c,
                                                   ROW_MAJOR, channels);
            MATRIX(half, B) w = coop_mat_load(weights + (offset * channels + c) * outputs + output,
                                              ROW_MAJOR, outputs);
            sum = coop_matmul_add(pixels, w, sum, CLK_COOPERATIVE_MATRIX_OPERAND_NONE);
        }
    }
    coop_mat_store(result + (y * width + x) * outputs + output, sum, ROW_MAJOR, outputs);
}
