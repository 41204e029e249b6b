/* What all programs of this folder share: `main`, the clock of the longest gap, and random numbers.
 *
 * `PROGRAM(name, usual, small, tiny)` at the end of a file makes `uint64_t name(long size)` a program.
 * `EXECUTABLE [SIZE|small|tiny]` prints `name sum=S gap_us=G peak_kib=P`. S depends on all that the program computed.
 * G is the longest time between two ticks: the longest stop that a user of the program would have felt. P is the most
 * memory that it had in use. The usual size takes about a second; small is for a test, and tiny for a test with an epoch
 * at every safepoint. What is in use when the program ends is not freed, on any heap.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdio.h>
#include <time.h>
#include "heap.h"

static uint64_t gap_ns_max, last_tick_ns;

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* A unit of the program's work is done: a request, a step, a frame. */
static void tick(void) {
    uint64_t now = now_ns();
    if (now - last_tick_ns > gap_ns_max) gap_ns_max = now - last_tick_ns;
    last_tick_ns = now;
}

/* The high bits of a linear congruential generator. */
static uint64_t random_state __attribute__((unused)) = 20161101;
static inline uint32_t random_word(void) {
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return random_state >> 32;
}
static inline uint32_t random_below(uint32_t bound) { return (uint64_t)random_word() * bound >> 32; }

static inline uint64_t mix(uint64_t sum, uint64_t value) { return (sum ^ value) * 1099511628211ull + 1; }

/* The system keeps it; of a child's usage, which its parent is told, that of the parent before is a part. */
static long peak_kib(void) {
    char line[128];
    long peak = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0) peak = strtol(line + 6, NULL, 10);
    if (status) fclose(status);
    return peak;
}

static int run_program(const char *name, uint64_t (*program)(long), const long sizes[3], int count, char **arguments) {
    long size = sizes[0];
    if (count == 2) {
        char *end = arguments[1];
        size = strcmp(arguments[1], "small") == 0  ? sizes[1]
             : strcmp(arguments[1], "tiny") == 0 ? sizes[2]
                                                 : strtol(arguments[1], &end, 10);
        if (*end && end != arguments[1]) size = 0;
    }
    if (count > 2 || size <= 0) {
        fprintf(stderr, "usage: %s [SIZE|small|tiny]\nSIZE is a positive number; without one it is %ld.\n", arguments[0], sizes[0]);
        return 2;
    }
    last_tick_ns = now_ns();
    uint64_t sum = program(size);
    tick();
    unsigned long gap_us = gap_ns_max / 1000;
    printf("%s sum=%016lx gap_us=%lu peak_kib=%ld\n", name, (unsigned long)sum, gap_us, peak_kib());
    return 0;
}

#define PROGRAM(name, ...)                                                                                             \
    int main(int count, char **arguments) {                                                                            \
        return run_program(#name, name, (const long[]){__VA_ARGS__}, count, arguments);                                \
    }

#endif
