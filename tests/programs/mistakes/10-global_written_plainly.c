/* A global is set by plain assignment instead of TALLY_WRITE_GLOBAL.
 * verify: is stored plainly to the global variable @head
 * zeal: `Node`
 */
#include "node.h"

static Node *head;

static void push(long value) {
    Node *node = make(value);
    TALLY_WRITE(node, next, head); // stops
    head = node; // warned
}

int main(void) {
    push(1);
    push(2);
    printf("%ld\n", head->next->value);
}
