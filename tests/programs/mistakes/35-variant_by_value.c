/* A variant (a kind and a union) is passed by value and read after a call.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

struct Variant {
    int kind;
    union {
        long number;
        Node *node;
    } as;
};

static long read(struct Variant variant) {
    long more = work();
    return variant.kind ? more + variant.as.node->value : variant.as.number; // warned, stops
}

int main(void) {
    struct Variant variant = {.kind = 1};
    variant.as.node = make(1);
    printf("%ld\n", read(variant));
}
