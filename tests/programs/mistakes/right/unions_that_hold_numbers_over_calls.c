/* A union that holds a reference, lets go of it, and holds a number over a call; and a root beside it that holds the reference. */
#include "../node.h"

union Slot {
    long number;
    Node *node;
};

struct Variant {
    int kind;
    union Slot as;
};

static long use(struct Variant variant) {
    if (variant.kind == 1) return variant.as.node->value;
    work();
    return variant.as.number;
}

int main(void) {
    union Slot slot;
    Node *root = NULL;
    TALLY_ROOT(root);
    slot.node = make(1);
    long first = slot.node->value;
    slot.number = first;
    work();
    first += slot.number;
    slot.node = root = make(2);
    work();
    first += slot.node->value;
    struct Variant variant = {.kind = 0, .as.number = 5};
    first += use(variant);
    variant.kind = 1;
    variant.as.node = root;
    printf("%ld\n", first + use(variant));
}
