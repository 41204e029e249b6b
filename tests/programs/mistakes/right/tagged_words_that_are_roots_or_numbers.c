/* Tagged words: rooted where they may be references, in plain variables where they are numbers. */
#include "../node.h"

typedef uint64_t Value;
TALLY_TAGGED_TYPE(Value, 1, 0, ~UINT64_C(1));

static Value number(long n) { return (Value)n << 1 | 1; }
static int is_number(Value value) { return value & 1; }

static Value box(long n) {
    if (n > 2) return (Value)make(n);
    return number(n);
}

static long read(Value value) {
    TALLY_ROOT_TAGGED(Value, value);
    if (is_number(value)) return (long)(value >> 1);
    work();
    return ((Node *)value)->value;
}

static long twice(Value value) {
    if (!(value & 1)) return read(value);
    work();
    return read(value) + read(value);
}

int main(void) {
    long sum = 0;
    for (long i = 0; i < 5; i++) {
        Value value = box(i);
        TALLY_ROOT_TAGGED(Value, value);
        work();
        sum += read(value);
    }
    for (long i = 0; i < 3; i++) {
        Value small = number(i);
        work();
        sum += twice(small);
    }
    printf("%ld\n", sum + twice(box(4)));
}
