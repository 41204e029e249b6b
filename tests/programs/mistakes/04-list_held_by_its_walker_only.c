/* The only reference to a list is the variable that walks it, and the loop allocates.
 * verify: the reference %node from @list
 * zeal: `Node`
 */
#include "node.h"

static Node *list(void) {
    Node *all = NULL;
    TALLY_ROOT(all);
    for (long i = 0; i < 3; i++) {
        Node *node = make(i);
        TALLY_WRITE(node, next, all);
        all = node;
    }
    return all;
}

int main(void) {
    long sum = 0;
    for (Node *node = list(); node; node = node->next) { // warned, stops
        sum += node->value;
        work();
    }
    printf("%ld\n", sum);
}
