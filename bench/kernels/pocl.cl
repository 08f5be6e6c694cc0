// SPDX-License-Identifier: MIT
//
// Kernels as people write them, for bench/pocl.c: inputs x and y, output o, a size n.

#define FLOATS \
    global const float *restrict x, global const float *restrict y, global float *o, int n
#define INTS global const uint *restrict x, global const uint *restrict y, global uint *o, int n
#define I (int)get_global_id(0)
#define J (int)get_global_id(1)

kernel void add(FLOATS) { o[I] = x[I] + y[I]; }
kernel void saxpy(FLOATS) { if (I < n) o[I] = 2.5f * x[I] + y[I]; }

kernel void dot_product(FLOATS)
{
    local float part[256];
    int l = get_local_id(0), stride = get_global_size(0);
    float sum = 0;
    for (int i = I; i < n; i += stride)
        sum += x[i] * y[i];
    part[l] = sum;
    for (int s = 128; s > 0; s /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < s)
            part[l] += part[l + s];
    }
    if (l == 0)
        o[get_group_id(0)] = part[0];
}

kernel void maximum(FLOATS)
{
    local float part[128];
    int l = get_local_id(0);
    part[l] = fmax(x[I], y[I]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 64; s > 0; s >>= 1) {
        if (l < s)
            part[l] = fmax(part[l], part[l + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        o[get_group_id(0)] = part[0];
}

kernel void row_sums(FLOATS)
{
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[I * n + k];
    o[I] = sum;
}

kernel void column_sums(FLOATS)
{
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[k * n + I];
    o[I] = sum;
}

kernel void scan(FLOATS)
{
    local float a[2][256];
    int l = get_local_id(0), from = 0;
    a[0][l] = x[I];
    for (int d = 1; d < 256; d *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        a[1 - from][l] = l >= d ? a[from][l] + a[from][l - d] : a[from][l];
        from = 1 - from;
    }
    o[I] = a[from][l];
}

kernel void prefix_up_down(INTS)
{
    local uint a[256];
    int l = get_local_id(0);
    a[l] = x[I] & 255;
    for (int d = 1; d < 256; d *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int at = (l + 1) * 2 * d - 1;
        if (at < 256)
            a[at] += a[at - d];
    }
    for (int d = 64; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int at = (l + 1) * 2 * d - 1;
        if (at + d < 256)
            a[at + d] += a[at];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    o[I] = a[l];
}

kernel void transpose(FLOATS) { o[I * n + J] = x[J * n + I]; }

kernel void transpose_tiled(FLOATS)
{
    local float tile[16][17];
    int a = get_local_id(0), b = get_local_id(1);
    tile[b][a] = x[J * n + I];
    barrier(CLK_LOCAL_MEM_FENCE);
    o[((int)get_group_id(0) * 16 + b) * n + (int)get_group_id(1) * 16 + a] = tile[a][b];
}

kernel void stencil(FLOATS)
{
    if (I > 0 && J > 0 && I < n - 1 && J < n - 1) {
        int at = J * n + I;
        o[at] = 0.5f * x[at] + 0.125f * (x[at - 1] + x[at + 1] + x[at - n] + x[at + n]);
    }
}

kernel void convolution(FLOATS)
{
    float sum = 0;
    for (int v = -2; v <= 2; v++)
        for (int u = -2; u <= 2; u++) {
            int row = clamp(J + v, 0, n - 1), column = clamp(I + u, 0, n - 1);
            sum += x[row * n + column] * y[(v + 2) * 5 + u + 2];
        }
    o[J * n + I] = sum;
}

kernel void blur_bytes(global const uchar4 *restrict x, global const uint *y, global uchar4 *o,
                       int n)
{
    uint4 sum = 0;
    for (int d = -3; d <= 3; d++)
        sum += convert_uint4(x[J * n + clamp(I + d, 0, n - 1)]);
    o[J * n + I] = convert_uchar4(sum / 7);
}

kernel void histogram(INTS)
{
    local uint bins[256];
    int l = get_local_id(0);
    bins[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = I; i < n; i += get_global_size(0))
        atomic_inc(&bins[x[i] & 255]);
    barrier(CLK_LOCAL_MEM_FENCE);
    o[get_group_id(0) * 256 + l] = bins[l];
}

kernel void count_atomically(INTS)
{
    if ((x[I] & 7) == 0)
        atomic_inc(&o[y[I] & 63]);
    o[64 + I] = x[I] >> 3;
}

kernel void nbody(FLOATS)
{
    float4 me = vload4(I, x), f = 0;
    for (int k = 0; k < n; k++) {
        float4 d = vload4(k, x) - me;
        float r = rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + 0.01f);
        f += d * (d.w + 1) * r * r * r;
    }
    vstore4(f, I, o);
}

kernel void matmul(FLOATS)
{
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[J * n + k] * y[k * n + I];
    o[J * n + I] = sum;
}

kernel void matmul_tiled(FLOATS)
{
    local float a[16][16], b[16][16];
    int c = get_local_id(0), r = get_local_id(1);
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        a[r][c] = x[J * n + t + c];
        b[r][c] = y[(t + r) * n + I];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++)
            sum += a[r][k] * b[k][c];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    o[J * n + I] = sum;
}

kernel void matmul_blocks(FLOATS)
{
    float acc[4][4] = { { 0 } };
    for (int k = 0; k < n; k++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                acc[i][j] += x[(J * 4 + i) * n + k] * y[k * n + I * 4 + j];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            o[(J * 4 + i) * n + I * 4 + j] = acc[i][j];
}

kernel void sparse_rows(global const float *restrict x, global const uint *restrict y,
                        global float *o, int n)
{
    float sum = 0;
    int length = 8 + (y[I * 16] & 7);
    for (int k = 0; k < length; k++)
        sum += x[I * 16 + k] * x[y[I * 16 + k] % n];
    o[I] = sum;
}

kernel void sparse_ell(global const float *restrict x, global const uint *restrict y,
                       global float *o, int n)
{
    float sum = 0;
    for (int k = 0; k < 16; k++)
        sum += x[k * n + I] * x[y[k * n + I] & (n - 1)];
    o[I] = sum;
}

kernel void bitonic_step(INTS)
{
    int other = I ^ 64;
    uint a = x[I], b = x[other];
    bool up = (I & 128) == 0;
    o[I] = (I < other) == up ? min(a, b) : max(a, b);
}

kernel void mandelbrot(FLOATS)
{
    float cr = (float)I / n * 3 - 2, ci = (float)J / n * 2 - 1, a = 0, b = 0;
    int k = 0;
    for (; k < 100 && a * a + b * b < 4; k++) {
        float t = a * a - b * b + cr;
        b = 2 * a * b + ci;
        a = t;
    }
    o[J * n + I] = k;
}

float normal(float d)
{
    float k = 1 / (1 + 0.2316419f * fabs(d));
    float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f
        + k * 1.330274429f))));
    float c = 0.39894228f * exp(-0.5f * d * d) * p;
    return d > 0 ? 1 - c : c;
}

kernel void black_scholes(FLOATS)
{
    float s = 5 + 25 * x[I], k = 1 + 99 * y[I], t = 0.25f + 9 * x[I], v = 0.3f, r = 0.02f;
    float d = (log(s / k) + (r + 0.5f * v * v) * t) / (v * sqrt(t));
    o[I] = s * normal(d) - k * exp(-r * t) * normal(d - v * sqrt(t));
}

kernel void k_means(FLOATS)
{
    float best = INFINITY;
    int which = 0;
    for (int c = 0; c < 32; c++) {
        float d = 0;
        for (int k = 0; k < 4; k++) {
            float e = x[k * n + I] - y[c * 4 + k];
            d += e * e;
        }
        if (d < best) {
            best = d;
            which = c;
        }
    }
    o[I] = which;
}

kernel void hash_rounds(INTS)
{
    uint a = x[I], b = y[I], c = 0x98badcfeu, d = 0x10325476u;
    for (int k = 0; k < 64; k++) {
        uint f = (b & c) | (~b & d), t = a + f + 0x5a827999u + k;
        a = d;
        d = c;
        c = b;
        b += rotate(t, 7u);
    }
    o[I] = a ^ b ^ c ^ d;
}

kernel void random_numbers(INTS)
{
    uint s = x[I] | 1, sum = 0;
    for (int k = 0; k < 32; k++) {
        s ^= s << 13;
        s ^= s >> 17;
        s ^= s << 5;
        sum += s;
    }
    o[I] = sum;
}

kernel void fft_radix2(FLOATS)
{
    int pair = I, k = pair & 63, at = (pair - k) * 2 + k;
    float2 a = vload2(at, x), b = vload2(at + 64, x);
    float c = native_cos(-M_PI_F * k / 64), s = native_sin(-M_PI_F * k / 64);
    float2 t = (float2)(b.x * c - b.y * s, b.x * s + b.y * c);
    vstore2(a + t, at, o);
    vstore2(a - t, at + 64, o);
}

kernel void fft_radix4(FLOATS)
{
    int q = get_global_size(0);
    float2 a = vload2(I, x), b = vload2(I + q, x);
    float2 c = vload2(I + 2 * q, x), d = vload2(I + 3 * q, x);
    float2 e = a + c, f = a - c, g = b + d, h = (float2)(b.y - d.y, d.x - b.x);
    vstore2(e + g, I, o);
    vstore2(f + h, I + q, o);
    vstore2(e - g, I + 2 * q, o);
    vstore2(f - h, I + 3 * q, o);
}

kernel void search(global const uchar *restrict x, global const uchar *y, global uint *o, int n)
{
    uint found = 0;
    for (int at = I * 64; at < I * 64 + 64; at++) {
        int k = 0;
        while (k < 4 && x[at + k] == y[k])
            k++;
        found += k == 4 || k == 1;
    }
    o[I] = found;
}

kernel void floyd_warshall(FLOATS)
{
    int k = n / 2;
    o[J * n + I] = fmin(x[J * n + I], x[J * n + k] + x[k * n + I]);
}

kernel void lu_step(FLOATS)
{
    if (I > 8 && J > 8)
        o[J * n + I] = x[J * n + I] - x[J * n + 8] / (1 + x[8 * n + 8]) * x[8 * n + I];
}

kernel void gather(INTS) { o[I] = x[y[I] & (n - 1)]; }
kernel void scatter(INTS) { o[(I * 1237) & (n - 1)] = x[I]; }
