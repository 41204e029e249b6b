/* A list grows at its end: the head is rooted too late, after the loop.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

static Node *numbers(long n) {
    Node *head = NULL, *last = NULL;
    for (long i = 0; i < n; i++) {
        Node *node = make(i);
        if (last)
            TALLY_WRITE(last, next, node); // warned, stops
        else
            head = node;
        last = node;
    }
    return head;
}

int main(void) {
    Node *all = numbers(3);
    TALLY_ROOT(all);
    printf("%ld\n", all->next->value);
}
