/* SPDX-License-Identifier: MIT
 *
 * The problems of bench/compute.c the way a C programmer writes them first. In a file of their own,
 * so that the compiler sees loops and nothing else.
 */
#include "compute_loops.h"

#include <math.h>
#include <stddef.h>

void loop_nbody(LoopJob *job, uint32_t part, uint32_t first, uint32_t last)
{
    (void)part;
    const float (*restrict body)[4] = job->in;
    float (*restrict out)[4] = job->out;
    for (uint32_t i = first; i < last; i++) {
        float x = 0, y = 0, z = 0;
        for (uint32_t j = 0; j < job->width; j++) {
            float dx = body[j][0] - body[i][0], dy = body[j][1] - body[i][1];
            float dz = body[j][2] - body[i][2];
            float r = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float f = body[j][3] * r * r * r;
            x += dx * f;
            y += dy * f;
            z += dz * f;
        }
        out[i][0] = x;
        out[i][1] = y;
        out[i][2] = z;
        out[i][3] = 0;
    }
}

/* Several threads need the sum of what lies before each one's part first. */
void loop_scan_sum(LoopJob *job, uint32_t part, uint32_t first, uint32_t last)
{
    const uint32_t *restrict in = job->in;
    uint32_t sum = 0;
    if (last < job->width) {        /* nothing comes after the last part */
        for (uint32_t i = first; i < last; i++)
            sum += in[i];
    }
    job->counts[part][0] = sum;
}

void loop_scan(LoopJob *job, uint32_t part, uint32_t first, uint32_t last)
{
    const uint32_t *restrict in = job->in;
    uint32_t *restrict out = job->out;
    uint32_t sum = 0;
    for (uint32_t p = 0; p < part; p++)
        sum += job->counts[p][0];
    for (uint32_t i = first; i < last; i++)
        out[i] = sum += in[i];
}

void loop_histogram(LoopJob *job, uint32_t part, uint32_t first, uint32_t last)
{
    const uint8_t *restrict in = job->in;
    uint32_t *restrict count = job->counts[part];
    for (int b = 0; b < 256; b++)
        count[b] = 0;
    for (uint32_t i = first; i < last; i++)
        count[in[i]]++;
}

void loop_mandelbrot(LoopJob *job, uint32_t part, uint32_t first, uint32_t last)
{
    (void)part;
    uint32_t *restrict out = job->out;
    float sx = 2.5f / (float)job->width, sy = 2.5f / (float)job->height;
    for (uint32_t y = first; y < last; y++)
        for (uint32_t x = 0; x < job->width; x++) {
            float cx = -2.0f + (float)x * sx, cy = -1.25f + (float)y * sy, zx = 0, zy = 0;
            uint32_t k = 0;
            for (; k < 256 && zx * zx + zy * zy <= 4; k++) {
                float t = zx * zx - zy * zy + cx;
                zy = 2 * zx * zy + cy;
                zx = t;
            }
            out[y * job->width + x] = k;
        }
}

void loop_blur(LoopJob *job, uint32_t part, uint32_t first, uint32_t last)
{
    (void)part;
    const float *restrict in = job->in;
    size_t w = job->width, h = job->height;
    for (size_t y = first; y < last; y++) {
        float *restrict out = (float *)job->out + y * w;
        const float *restrict up = in + (y ? y - 1 : 0) * w, *restrict here = in + y * w;
        const float *restrict down = in + (y + 1 < h ? y + 1 : y) * w;
        for (size_t x = 1; x + 1 < w; x++)
            out[x] = (up[x - 1] + up[x] + up[x + 1] + here[x - 1] + here[x] + here[x + 1]
                      + down[x - 1] + down[x] + down[x + 1]) / 9;
        for (size_t x = 0; x < w; x += w - 1) {
            size_t l = x ? x - 1 : x, r = x + 1 < w ? x + 1 : x;
            out[x] = (up[l] + up[x] + up[r] + here[l] + here[x] + here[r] + down[l]
                      + down[x] + down[r]) / 9;
        }
    }
}

void loop_reduce(LoopJob *job, uint32_t part, uint32_t first, uint32_t last)
{
    const float *restrict in = job->in;
    float sum = 0;
    for (uint32_t i = first; i < last; i++)
        sum += in[i];
    job->sums[part] = sum;
}

void loop_transpose(LoopJob *job, uint32_t part, uint32_t first, uint32_t last)
{
    (void)part;
    const float *restrict in = job->in;
    float *restrict out = job->out;
    uint32_t n = job->width;
    for (uint32_t y = first; y < last; y++)
        for (uint32_t x = 0; x < n; x++)
            out[y * n + x] = in[x * n + y];
}

void loop_softmax(LoopJob *job, uint32_t part, uint32_t first, uint32_t last)
{
    (void)part;
    uint32_t n = job->width;
    for (uint32_t y = first; y < last; y++) {
        const float *restrict in = (const float *)job->in + y * n;
        float *restrict out = (float *)job->out + y * n;
        float most = -INFINITY, sum = 0;
        for (uint32_t x = 0; x < n; x++)
            most = in[x] > most ? in[x] : most;
        for (uint32_t x = 0; x < n; x++)
            sum += out[x] = expf(in[x] - most);
        for (uint32_t x = 0; x < n; x++)
            out[x] /= sum;
    }
}
