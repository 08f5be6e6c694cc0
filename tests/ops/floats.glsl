// SPDX-License-Identifier: MIT
spirv_instruction(id = 140) T frem(T x, T y);
spirv_instruction(id = 163) bool less_or_greater(T x, T y);
spirv_instruction(id = 183) bool unordered_not_equal(T x, T y);
spirv_instruction(id = 181) bool unordered_equal(T x, T y);
spirv_instruction(id = 182) bool ordered_not_equal(T x, T y);
spirv_instruction(id = 185) bool unordered_less(T x, T y);
spirv_instruction(id = 187) bool unordered_greater(T x, T y);
spirv_instruction(id = 189) bool unordered_less_equal(T x, T y);
spirv_instruction(id = 191) bool unordered_greater_equal(T x, T y);

void floats(T x, T y, T u)
{
    precise T sum = x + y, difference = x - y, product = x * y, quotient = x / y;
    put(sum); put(difference); put(product); put(quotient); put(-x);
    precise T more = x + u, times = u * y, part = u / x;
    put(more); put(times); put(part);
    put(x < y); put(x <= y); put(x > y); put(x >= y); put(x == y); put(x != y);
    put(unordered_not_equal(x, y)); put(unordered_equal(x, y)); put(ordered_not_equal(x, y));
    put(unordered_less(x, y)); put(unordered_greater(x, y)); put(unordered_less_equal(x, y));
    put(unordered_greater_equal(x, y));
    put(isnan(x)); put(isinf(x)); put(x < y ? x : y);
    // quotients small enough that the whole part is exact
    T a = abs(x) < T(500) ? x : T(7.5), b = abs(y) > T(0.125) && abs(y) < T(1000) ? y : T(-0.75);
    put(frem(a, b)); put(mod(a, b));
}
