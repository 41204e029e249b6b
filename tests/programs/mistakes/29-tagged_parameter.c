/* A tagged word that a function is given, allocates, and then reads.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

typedef uint64_t Value;
TALLY_TAGGED_TYPE(Value, 7, 1, ~UINT64_C(7));

static Value box(Node *node) {
    return (Value)node | 1;
}

static long unbox(Value value) {
    return ((Node *)(value & ~UINT64_C(7)))->value;
}

static long number(Value value) {
    long more = work();
    return more + unbox(value); // warned
}

int main(void) {
    printf("%ld\n", number(box(make(1))));
}
