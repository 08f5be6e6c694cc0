/* SPDX-License-Identifier: MIT
 *
 * The shapes of matrices that heddle lists. One table, read by `heddle info`, by the library's
 * callers, by the Vulkan driver and the layer; its order is what existing programs want: several
 * take the first f16 entry, or the first that fits (see docs/ARCHITECTURE.md).
 */
#include "device/device.h"

/* clang-format off */
#define SHAPE(m, n, k, a, b, c, r, saturating) \
    { m, n, k, HEDDLE_##a, HEDDLE_##b, HEDDLE_##c, HEDDLE_##r, saturating, HEDDLE_SCOPE_SUBGROUP }

/* E5M2's own sums are listed with K = 8, where few round; BF16's flexible ones in steps of 16. */
static const HeddleMatrixShape shapes[] = {
    SHAPE(16, 16, 16, F16,  F16,  F32, F32, false),
    SHAPE(16, 16, 16, F16,  F16,  F16, F16, false),
    SHAPE(16, 16, 16, BF16, BF16, F32, F32, false),
    SHAPE(16, 16, 16, S8,   S8,   S32, S32, false),
    SHAPE(16, 16, 16, U8,   U8,   U32, U32, false),
    SHAPE(16, 16, 16, E4M3, E4M3, F16, F16, false),
    SHAPE(16, 16, 16, E4M3, E4M3, F32, F32, false),
    SHAPE(16, 16, 16, E5M2, E5M2, F16, F16, false),
    SHAPE(16, 16, 16, E5M2, E5M2, F32, F32, false),
    SHAPE(16, 16, 16, BF16, BF16, BF16,BF16, false),
    SHAPE(16, 16, 16, F32,  F32,  F32, F32, false),
    SHAPE(16, 16, 16, F64,  F64,  F64, F64, false),
    SHAPE(16, 16, 16, S8,   U8,   S32, S32, false),
    SHAPE(16, 16, 16, U8,   S8,   S32, S32, false),
    SHAPE(16, 16, 16, U8,   U8,   S32, S32, false),
    SHAPE(16, 16, 16, S16,  S16,  S32, S32, false),
    SHAPE(16, 16, 16, S16,  S16,  S16, S16, false),
    SHAPE(16, 16, 16, U16,  U16,  U32, U32, false),
    SHAPE(16, 16, 16, U16,  U16,  U16, U16, false),
    SHAPE(16, 16, 16, S32,  S32,  S32, S32, false),
    SHAPE(16, 16, 16, U32,  U32,  U32, U32, false),
    SHAPE(16, 16, 16, U8,   U8,   U8,  U8, false),
    SHAPE(16, 16, 16, E4M3, E4M3, E4M3,E4M3, false),
    SHAPE(16, 16,  8, E5M2, E5M2, E5M2,E5M2, false),
    SHAPE(16, 16, 16, S8,   S8,   S32, S32, true),
    SHAPE(16, 16, 16, S8,   U8,   S32, S32, true),
    SHAPE(16, 16, 16, U8,   S8,   S32, S32, true),
    SHAPE(16, 16, 16, U8,   U8,   S32, S32, true),
    SHAPE(16, 16, 16, U8,   U8,   U32, U32, true),
    SHAPE(16, 16, 16, S8,   S8,   S8,  S8, true),
    SHAPE(16, 16, 16, U8,   U8,   U8,  U8, true),
    SHAPE(16, 16, 16, S32,  S32,  S32, S32, true),
    SHAPE(16, 16, 16, U32,  U32,  U32, U32, true),
    SHAPE(16, 16, 32, S8,   S8,   S32, S32, false),
    SHAPE(16, 16, 32, U8,   U8,   U32, U32, false),
    SHAPE(16,  8, 16, F16,  F16,  F32, F32, false),
    SHAPE(16,  8, 16, F16,  F16,  F16, F16, false),
    SHAPE(16,  8,  8, F16,  F16,  F32, F32, false),
    SHAPE( 8,  8,  8, F16,  F16,  F32, F32, false),
    SHAPE( 8,  8,  8, F16,  F16,  F16, F16, false),
    SHAPE( 8,  8,  8, F32,  F32,  F32, F32, false),
    SHAPE( 8,  8, 16, S8,   S8,   S32, S32, false),
    SHAPE(32, 32, 16, F16,  F16,  F32, F32, false),
    SHAPE(64, 64, 16, F16,  F16,  F16, F16, false),
    SHAPE(64, 64, 16, F16,  F16,  F32, F32, false),
    SHAPE(64, 64,  8, F32,  F32,  F32, F32, false),
    SHAPE(64, 64, 16, F32,  F32,  F32, F32, false),
    SHAPE(64, 64, 32, S8,   S8,   S32, S32, false),
    SHAPE(64, 64, 32, U8,   U8,   U32, U32, false),
    SHAPE(64, 16,  8, F32,  F32,  F32, F32, false),
    SHAPE(64, 16, 16, F16,  F16,  F16, F16, false),
    SHAPE(64, 16, 16, F16,  F16,  F32, F32, false),
    SHAPE(64, 16, 32, S8,   S8,   S32, S32, false),
    SHAPE(64, 16, 32, U8,   U8,   U32, U32, false),
};

#define GRAIN(n, a, b, c, r, saturating, scope, workgroup) \
    { n, n, n, HEDDLE_##a, HEDDLE_##b, HEDDLE_##c, HEDDLE_##r, saturating, HEDDLE_SCOPE_##scope, \
      workgroup }
#define GRAINS(...) \
    GRAIN(__VA_ARGS__, SUBGROUP, 0), GRAIN(__VA_ARGS__, WORKGROUP, 64), \
    GRAIN(__VA_ARGS__, WORKGROUP, 128), GRAIN(__VA_ARGS__, WORKGROUP, 256), \
    GRAIN(__VA_ARGS__, WORKGROUP, 512), GRAIN(__VA_ARGS__, WORKGROUP, 1024)
#define FLEXIBLE(...) GRAINS(8, __VA_ARGS__)

static const HeddleFlexibleShape flexible[] = {
    FLEXIBLE(F16, F16, F32, F32, false),
    FLEXIBLE(F16, F16, F16, F16, false),
    FLEXIBLE(BF16, BF16, F32, F32, false),
    FLEXIBLE(S8, S8, S32, S32, false),
    FLEXIBLE(U8, U8, U32, U32, false),
    FLEXIBLE(E4M3, E4M3, F16, F16, false),
    FLEXIBLE(E4M3, E4M3, F32, F32, false),
    FLEXIBLE(E5M2, E5M2, F16, F16, false),
    FLEXIBLE(E5M2, E5M2, F32, F32, false),
    GRAINS(16, BF16, BF16, BF16, BF16, false),
    FLEXIBLE(F32, F32, F32, F32, false),
    FLEXIBLE(F64, F64, F64, F64, false),
    FLEXIBLE(S8, U8, S32, S32, false),
    FLEXIBLE(U8, S8, S32, S32, false),
    FLEXIBLE(U8, U8, S32, S32, false),
    FLEXIBLE(S16, S16, S32, S32, false),
    FLEXIBLE(S16, S16, S16, S16, false),
    FLEXIBLE(U16, U16, U32, U32, false),
    FLEXIBLE(U16, U16, U16, U16, false),
    FLEXIBLE(S32, S32, S32, S32, false),
    FLEXIBLE(U32, U32, U32, U32, false),
    FLEXIBLE(U8, U8, U8, U8, false),
    FLEXIBLE(E4M3, E4M3, E4M3, E4M3, false),
    FLEXIBLE(E5M2, E5M2, E5M2, E5M2, false),
    FLEXIBLE(S8, S8, S32, S32, true),
    FLEXIBLE(S8, U8, S32, S32, true),
    FLEXIBLE(U8, S8, S32, S32, true),
    FLEXIBLE(U8, U8, S32, S32, true),
    FLEXIBLE(U8, U8, U32, U32, true),
    FLEXIBLE(S8, S8, S8, S8, true),
    FLEXIBLE(U8, U8, U8, U8, true),
    FLEXIBLE(S32, S32, S32, S32, true),
    FLEXIBLE(U32, U32, U32, U32, true),
};

/* clang-format on */

const HeddleMatrixShape *device_shapes(size_t *count)
{
    *count = COUNT_OF(shapes);
    return shapes;
}

const HeddleFlexibleShape *device_flexible_shapes(size_t *count)
{
    *count = COUNT_OF(flexible);
    return flexible;
}
