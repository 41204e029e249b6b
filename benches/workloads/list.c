/* list: a list of ten million nodes, summed and dropped at once, twice. */
#include "node.h"
#include "workload.h"

long list(void) {
    long sum = 0;
    Node *head = NULL;
    TALLY_ROOT(head);
    for (int round = 0; round < 2; round++) {
        first_tick();
        for (int i = 0; i < sizes.list_length; i++) {
            Node *node = new_node(i & 255);
            TALLY_WRITE(node, a, head);
            head = node;
            if (!(i & 65535)) tick();
        }
        for (Node *node = head; node; node = node->a) sum += node->value;
        first_tick();
        head = NULL; /* this is the drop */
        tick();
    }
    return sum;
}
