/* A callback keeps what it found in a struct of its caller's, which is no root.
 * verify: silent, it does not know what data the callback is given
 * zeal: `Node`
 */
#include "node.h"

struct Search {
    long wanted;
    Node *found;
};

static void look(long value, void *data) {
    struct Search *search = data;
    Node *node = make(value);
    if (value == search->wanted) search->found = node;
}

static void each(void (*call)(long, void *), void *data) {
    for (long i = 0; i < 4; i++) call(i, data);
}

int main(void) {
    struct Search search = {1, NULL};
    each(look, &search);
    work();
    printf("%ld\n", search.found->value); // stops
}
