/* SPDX-License-Identifier: MIT
 *
 * Fibers: values live across switches survive, a thousand of them at once, stacks are used again.
 */
#include "base/test.h"
#include "cpu/run/fiber.h"

#include <pthread.h>

#if defined(__SANITIZE_THREAD__)
#define N 40 /* ThreadSanitizer takes 20 ms to make a fiber */
#else
#define N 1000
#endif
#define ROUNDS 20

typedef struct Ring {
    Fiber home, fibers[N];
    uint32_t n, finished;
    uint64_t sums[N];
} Ring;

typedef struct Seat { Ring *ring; uint32_t number; } Seat;

/* Live integers, doubles and stack memory across every switch. */
static uint64_t work(Ring *r, uint32_t number)
{
    uint64_t a = number, b = number * 3u, c = number ^ 0x5555u, d = number + 7u, e = ~number, f = 1;
    volatile char memory[512];
    double x = number, y = 0.5;
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (char)(number + i);
    for (int round = 0; round < ROUNDS; round++) {
        a = a * 31 + 1, b += a, c ^= b, d += c >> 3, e = e * 5 + d, f += e;
        x += y, y *= 1.25;
        Fiber *to = number + 1 < r->n ? &r->fibers[number + 1] : &r->home;
        fiber_switch(&r->fibers[number], to);
    }
    uint64_t sum = a + b + c + d + e + f + (uint64_t)x;
    for (size_t i = 0; i < sizeof memory; i++)
        sum += (uint8_t)memory[i];
    return sum;
}

static uint64_t expected(uint32_t number)
{
    uint64_t a = number, b = number * 3u, c = number ^ 0x5555u, d = number + 7u, e = ~number, f = 1;
    double x = number, y = 0.5;
    for (int round = 0; round < ROUNDS; round++) {
        a = a * 31 + 1, b += a, c ^= b, d += c >> 3, e = e * 5 + d, f += e;
        x += y, y *= 1.25;
    }
    uint64_t sum = a + b + c + d + e + f + (uint64_t)x;
    for (size_t i = 0; i < 512; i++)
        sum += (uint8_t)(number + i);
    return sum;
}

static Fiber *seat_main(void *argument)
{
    Seat s = *(Seat *)argument;
    s.ring->sums[s.number] = work(s.ring, s.number);
    s.ring->finished++;
    return s.number + 1 < s.ring->n ? &s.ring->fibers[s.number + 1] : &s.ring->home;
}

static bool run_ring(Ring *r, Seat *seats)
{
    r->finished = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        seats[i] = (Seat){r, i};
        r->sums[i] = 0;
        fiber_start(&r->fibers[i], seat_main, &seats[i]);
    }
    for (int round = 0; round <= ROUNDS; round++)
        fiber_switch(&r->home, &r->fibers[0]);
    bool ok = r->finished == r->n;
    for (uint32_t i = 0; i < r->n; i++)
        ok = ok && r->sums[i] == expected(i);
    return ok;
}

static bool ring_new(Ring *r, uint32_t n)
{
    memset(r, 0, sizeof *r);
    r->n = n;
    for (uint32_t i = 0; i < n; i++)
        if (!fiber_new(&r->fibers[i], 32 << 10, i))
            return false;
    return true;
}

static void ring_free(Ring *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        fiber_free(&r->fibers[i]);
}

static Ring big;
static Seat big_seats[N];

TEST(a_thousand_fibers_keep_their_values)
{
    CHECK(ring_new(&big, N));
    CHECK(run_ring(&big, big_seats));
    ring_free(&big);
}

TEST(stacks_are_used_again)
{
    CHECK(ring_new(&big, 5));
    for (int i = 0; i < 50; i++)
        CHECK(run_ring(&big, big_seats));
    ring_free(&big);
}

TEST(stack_tops_are_aligned_and_apart)
{
    Fiber a, b;
    CHECK(fiber_new(&a, 4096, 3) && fiber_new(&b, 4096, 4));
    uintptr_t top_a = (uintptr_t)a.low + a.size, top_b = (uintptr_t)b.low + b.size;
    CHECK(top_a % 64 == 0 && top_b % 64 == 0);
    CHECK(top_a % 4096 != top_b % 4096);
    CHECK(a.size >= 4096 && b.size >= 4096);
    fiber_free(&a);
    fiber_free(&b);
    fiber_free(&b);
}

TEST(a_stack_too_big_is_refused)
{
    Fiber f;
    CHECK(!fiber_new(&f, SIZE_MAX - 100, 0));
    CHECK(!fiber_new(&f, (size_t)1 << 60, 0));
}

static void *thread_main(void *argument)
{
    static const uint32_t n = 20;
    Ring *r = argument;
    Seat seats[20];
    bool ok = ring_new(r, n);
    for (int i = 0; ok && i < 5; i++)
        ok = run_ring(r, seats);
    ring_free(r);
    return ok ? r : NULL;
}

static Ring by_thread[2];

TEST(threads_have_fibers_of_their_own)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, thread_main, &by_thread[i]) == 0);
    for (int i = 0; i < 2; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        CHECK(result != NULL);
    }
}
