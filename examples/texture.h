/* SPDX-License-Identifier: MIT
 *
 * A picture, the grid and network that decode it (texture.comp), and PNG files. The picture is
 * computed; the network is fitted to it here, by stochastic gradient descent, in a second or two.
 */
#ifndef HEDDLE_EXAMPLES_TEXTURE_H
#define HEDDLE_EXAMPLES_TEXTURE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURE = 512, GRID = 64, LATENT = 12, WIDTH = 16, MAX_LAYERS = 4 };

typedef struct Network {
    int layers;
    double grid[GRID * GRID * LATENT];
    double weights[MAX_LAYERS * WIDTH * WIDTH]; /* [layer][input][output] */
} Network;

/* ---- the picture ----------------------------------------------------------------------------- */

/* Hills before an evening sky, 0 to 1; (x, y) in the unit square, y downwards. */
static void picture_at(double x, double y, double colour[3])
{
    double sun = hypot(x - 0.68, y - 0.42), glow = exp(-4 * sun);
    double sky[3] = { 0.20 + 0.55 * y + 0.5 * glow, 0.22 + 0.30 * y + 0.3 * glow,
                      0.48 - 0.10 * y + 0.05 * glow };
    for (int k = 0; k < 3; k++)
        colour[k] = sun < 0.09 ? (double[]){ 1.0, 0.86, 0.55 }[k] : fmin(sky[k], 1);
    for (int hill = 0; hill < 3; hill++) {
        double top = 0.55 + 0.14 * hill + 0.06 * sin(7 * x + 2.3 * hill) +
                     0.025 * sin(23 * x + 5 * hill) + 0.008 * sin(71 * x - hill);
        double shade = 0.9 + 0.1 * sin(90 * (x + 0.6 * y) + 4 * sin(12 * y + hill));
        if (y > top)
            for (int k = 0; k < 3; k++)
                colour[k] = shade * (double[3][3]){ { 0.33, 0.30, 0.42 },
                                                    { 0.22, 0.30, 0.30 },
                                                    { 0.12, 0.22, 0.14 } }[hill][k];
    }
}

/* ---- decoding -------------------------------------------------------------------------------- */

typedef struct Texel {
    int node[4];
    double share[4], input[MAX_LAYERS + 1][WIDTH];
} Texel;

/* Row and column in texels; the picture spans GRID - 1 cells. input[layers] is the result. */
static void decode(const Network *n, double row, double column, Texel *t)
{
    double y = (row + 0.5) * (GRID - 1) / PICTURE, x = (column + 0.5) * (GRID - 1) / PICTURE;
    int cell = (int)y * GRID + (int)x;
    double fy = y - floor(y), fx = x - floor(x), *f = t->input[0];
    for (int k = 0; k < 4; k++) {
        t->node[k] = cell + k % 2 + k / 2 * GRID;
        t->share[k] = (k % 2 ? fx : 1 - fx) * (k / 2 ? fy : 1 - fy);
    }
    memset(f, 0, WIDTH * sizeof *f);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < LATENT; i++)
            f[i] += t->share[k] * n->grid[t->node[k] * LATENT + i];
    f[12] = fx, f[13] = fy, f[14] = fx * fy, f[15] = 1;
    for (int l = 0; l < n->layers; l++) {
        double *out = t->input[l + 1];
        memset(out, 0, WIDTH * sizeof *out);
        for (int i = 0; i < WIDTH; i++)
            for (int j = 0; j < WIDTH; j++)
                out[j] += t->input[l][i] * n->weights[(l * WIDTH + i) * WIDTH + j];
        for (int j = 0; l + 1 < n->layers && j < WIDTH; j++)
            out[j] = j == WIDTH - 1 ? 1 : fmax(out[j], 0);
    }
}

/* ---- fitting --------------------------------------------------------------------------------- */

static double next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

/* The picture itself at the grid's nodes, which the first neurons of each layer pass on. */
static void network_start(Network *n, int layers, uint64_t *seed)
{
    memset(n, 0, sizeof *n);
    n->layers = layers;
    for (int node = 0; node < GRID * GRID; node++) {
        double *latent = n->grid + node * LATENT;
        picture_at((node % GRID) / (GRID - 1.0), (double)(node / GRID) / (GRID - 1), latent);
        for (int i = 3; i < LATENT; i++)
            latent[i] = 0.2 * (next_random(seed) - 0.5);
    }
    for (int k = 0; k < layers * WIDTH * WIDTH; k++) {
        int i = k / WIDTH % WIDTH, j = k % WIDTH;
        n->weights[k] = i == j && j < 3  ? 1
                        : j < 3 || i < 3 ? 0.05 * (next_random(seed) - 0.5)
                                         : 0.6 * (next_random(seed) - 0.5);
    }
}

/* One step down the gradient of the squared error of one texel. */
static void network_learn(Network *n, const Texel *t, const double want[3], double rate)
{
    double slope[WIDTH] = { 0 };
    for (int j = 0; j < 3; j++)
        slope[j] = t->input[n->layers][j] - want[j];
    for (int l = n->layers; l-- > 0;) {
        double below[WIDTH] = { 0 };
        for (int i = 0; i < WIDTH; i++) {
            double *row = n->weights + (l * WIDTH + i) * WIDTH, x = t->input[l][i];
            for (int j = 0; j < WIDTH; j++) {
                below[i] += row[j] * slope[j];
                row[j] -= 0.25 * rate * slope[j] * x;
            }
            if (l && (x <= 0 || i == WIDTH - 1))
                below[i] = 0;
        }
        memcpy(slope, below, sizeof slope);
    }
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < LATENT; i++)
            n->grid[t->node[k] * LATENT + i] -= 4 * rate * slope[i] * t->share[k];
}

static void network_fit(Network *n, int layers)
{
    enum { STEPS = 3 << 20 };
    uint64_t seed = 0x9e3779b97f4a7c15u;
    network_start(n, layers, &seed);
    for (int step = 0; step < STEPS; step++) {
        Texel t;
        double want[3];
        int row = (int)(next_random(&seed) * PICTURE), column = (int)(next_random(&seed) * PICTURE);
        decode(n, row, column, &t);
        picture_at((column + 0.5) / PICTURE, (row + 0.5) / PICTURE, want);
        network_learn(n, &t, want, 0.1 * (1 - (double)step / STEPS) + 0.002);
    }
}

/* ---- PNG ------------------------------------------------------------------------------------- */

static uint32_t png_crc(uint32_t crc, const uint8_t *p, size_t n)
{
    while (n--) {
        crc ^= *p++;
        for (int k = 0; k < 8; k++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return crc;
}

static void png_number(uint8_t *p, uint32_t x)
{
    for (int k = 0; k < 4; k++)
        p[k] = (uint8_t)(x >> (24 - 8 * k));
}

static void png_chunk(FILE *f, const char *type, const uint8_t *data, uint32_t size)
{
    uint8_t head[8], tail[4];
    png_number(head, size);
    memcpy(head + 4, type, 4);
    png_number(tail, ~png_crc(png_crc(~0u, head + 4, 4), data, size));
    fwrite(head, 1, 8, f);
    if (size)
        fwrite(data, 1, size, f);
    fwrite(tail, 1, 4, f);
}

/* 8-bit RGB, the rows as deflate's stored blocks. */
static bool png_write(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height)
{
    uint32_t line = 3 * width + 1, at = 2, a = 1, b = 0; /* a, b: Adler-32 */
    uint8_t head[13] = { 0 }, *z = malloc((size_t)height * (line + 5) + 6);
    FILE *f = z ? fopen(path, "wb") : NULL;
    if (!f) {
        free(z);
        return false;
    }
    z[0] = 0x78, z[1] = 0x01;
    for (uint32_t y = 0; y < height; y++) {
        uint8_t *p = z + at;
        p[0] = y + 1 == height;
        p[1] = (uint8_t)line, p[2] = (uint8_t)(line >> 8), p[3] = (uint8_t)~p[1],
        p[4] = (uint8_t)~p[2];
        p[5] = 0; /* no filter */
        memcpy(p + 6, rgb + (size_t)y * 3 * width, 3 * width);
        for (uint32_t k = 0; k < line; k++) {
            a = (a + p[5 + k]) % 65521;
            b = (b + a) % 65521;
        }
        at += line + 5;
    }
    png_number(z + at, b << 16 | a);
    png_number(head, width);
    png_number(head + 4, height);
    head[8] = 8, head[9] = 2;
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, f);
    png_chunk(f, "IHDR", head, 13);
    png_chunk(f, "IDAT", z, at + 4);
    png_chunk(f, "IEND", NULL, 0);
    free(z);
    return !fclose(f);
}

#endif
