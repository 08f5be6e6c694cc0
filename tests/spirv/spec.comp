#version 460
// Specialisation constants: sizes, arrays, expressions, workgroup size, 64-bit and double values.
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z = 2) in;
layout(constant_id = 2) const int N = 7;
layout(constant_id = 3) const bool FLIP = true;
layout(constant_id = 4) const float SCALE = 1.5e-3;
layout(constant_id = 5) const double WIDE = 3.141592653589793;
layout(constant_id = 6) const int64_t BIG = -0x123456789abcdefL;
layout(constant_id = 7) const uint16_t H = uint16_t(65535);
layout(constant_id = 8) const float16_t HALF = 0.333hf;
const int SQUARE = N * N + (FLIP ? 3 : -2) - N / 2 % 3;
layout(binding = 0) buffer O { float o[]; };
layout(binding = 1) buffer P { double d; int64_t l; uint16_t h; float16_t f; };
shared float s[SQUARE];
void main() {
    uint i = gl_LocalInvocationIndex;
    s[i % SQUARE] = SCALE * float(i);
    barrier();
    o[i] = s[(i + uint(N)) % SQUARE] + float(gl_WorkGroupSize.x << 1);
    d = WIDE;
    l = BIG * int64_t(N) - 9000000000000000000L;
    h = H;
    f = HALF;
}
