/* sieve: the primes below five thousand, after "Are We Fast Yet". An array of flags lives for a round, and is all
 * that is allocated.
 */
#include "program.h"

typedef struct Flags {
    uint64_t length;
    char at[];
} Flags;
TALLY_DATA_ARRAY_TYPE(Flags, length, at);

static long count_primes(Flags *is_prime, long size) {
    long count = 0;
    for (long i = 2; i <= size; i++) {
        if (!is_prime->at[i - 1]) continue;
        count++;
        for (long multiple = i + i; multiple <= size; multiple += i) is_prime->at[multiple - 1] = 0;
    }
    return count;
}

static uint64_t sieve(long size) {
    uint64_t sum = 0;
    for (long round = 0; round < size; round++) {
        long below = 5000 - (round & 15);
        Flags *flags = TALLY_NEW_ARRAY(Flags, below);
        memset(flags->at, 1, below);
        sum = mix(sum, count_primes(flags, below));
        FREE(flags);
        tick();
    }
    return sum;
}
PROGRAM(sieve, 60000, 100, 5)
