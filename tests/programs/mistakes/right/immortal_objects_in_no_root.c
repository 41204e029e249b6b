/* Objects that cannot die need no root: names that are made once, and kept in plain variables. */
#include "../node.h"

static Node *name(long value) {
    Node *made = make(value);
    tally_make_immortal(made);
    return made;
}

int main(void) {
    Node *first = make(1), *kept = first;
    tally_make_immortal(first);
    first = NULL;
    long sum = work() + kept->value;
    Node *other = name(2);
    sum += work() + other->value;
    TALLY_WRITE(kept, other, other);
    printf("%ld %ld\n", sum, kept->other->value);
}
