/* What the workloads share with their hand-freed twins: sizes, the random numbers, and the clock of the longest gap.
 *
 * A workload returns a sum that depends on every object it touched. Both executables, and the same programs in other languages,
 * use the same generator and the same order of draws, so that equal sums mean equal work. `tick` is called at the same places in
 * all of them; the longest time between two ticks is the longest stop a user of the program would have felt.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdint.h>
#include <time.h>

/* Powers of two are given by their exponent. The small sizes are for runs under an instrumenting tool. */
typedef struct Sizes {
    int depth_off;      /* taken off every depth of bintrees and gcbench */
    int array_length;   /* gcbench: numbers in the big array */
    int live_objects;   /* of mutate, bigheap, fifo, toggle and havlak; the second word of the command line may say */
    int rounds;         /* rings made by bigheap and fifo, a quarter of those by toggle; the third word may say */
    int queue_bits;     /* rings that fifo keeps */
    int cycle_bits;     /* cycles: objects made per shape and length of ring */
    int ring_length[4]; /* cycles */
    int list_length;    /* list */
    int cache_bits;     /* lru: entries of the full cache */
    int access_bits;    /* lru: accesses */
    int pool_length;    /* rings: rings that live at a time */
    int tree_depth;     /* parents */
    int replacements;   /* rings, parents and havlak: rings, subtrees and graphs that take the place of others */
} Sizes;
extern Sizes sizes;

long bintrees(int depth);
long gcbench(void);
long cycles(void);
long mutate(int writes_per_object);
long list(void);
long bigheap(void);
long fifo(void);
long lru(void);
long rings(void);
long parents(void);
long havlak(void);
long toggle(void);

/* A linear congruential generator; each workload starts its own. Its high bits are the random ones. */
static uint32_t random_state __attribute__((unused)) = 12345;
static inline uint32_t random_word(void) { return random_state = random_state * 1664525u + 1013904223u; }
static inline uint32_t random_index(int bits) { return random_word() >> (32 - bits); }
static inline uint32_t random_below(uint32_t bound) { return (uint64_t)random_word() * bound >> 32; }

extern uint64_t gap_ns_max;
static uint64_t last_tick_ns __attribute__((unused));

static inline uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Starts the clock; what came before does not count. */
static inline void first_tick(void) { last_tick_ns = now_ns(); }

static inline void tick(void) {
    uint64_t now = now_ns();
    if (now - last_tick_ns > gap_ns_max) gap_ns_max = now - last_tick_ns;
    last_tick_ns = now;
}

#endif
