/* permute: all orders of six numbers, after "Are We Fast Yet". An array of numbers lives for a round, and is all that
 * is allocated.
 */
#include "program.h"

typedef struct Numbers {
    uint64_t length;
    long at[];
} Numbers;
TALLY_DATA_ARRAY_TYPE(Numbers, length, at);

static long calls;

static void swap(Numbers *numbers, long one, long other) {
    long value = numbers->at[one];
    numbers->at[one] = numbers->at[other];
    numbers->at[other] = value;
}

static void permute_first(Numbers *numbers, long count) {
    TALLY_ROOT(numbers);
    calls++;
    if (count == 0) return;
    permute_first(numbers, count - 1);
    for (long i = count - 1; i >= 0; i--) {
        swap(numbers, count - 1, i);
        permute_first(numbers, count - 1);
        swap(numbers, count - 1, i);
    }
}

static uint64_t permute(long size) {
    uint64_t sum = 0;
    for (long round = 0; round < size; round++) {
        Numbers *numbers = TALLY_NEW_ARRAY(Numbers, 6);
        TALLY_ROOT(numbers);
        for (int i = 0; i < 6; i++) numbers->at[i] = i;
        calls = 0;
        permute_first(numbers, 6);
        sum = mix(sum, calls + numbers->at[5]);
        FREE(numbers);
        tick();
    }
    return sum;
}
PROGRAM(permute, 60000, 200, 1)
