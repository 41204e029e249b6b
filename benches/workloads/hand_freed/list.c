/* list: a list of ten million nodes, summed and freed at once, twice. */
#include "../workload.h"
#include "node.h"

long list(void) {
    long sum = 0;
    for (int round = 0; round < 2; round++) {
        Node *head = NULL;
        first_tick();
        for (int i = 0; i < sizes.list_length; i++) {
            Node *node = new_node(i & 255);
            node->a = head;
            head = node;
            if (!(i & 65535)) tick();
        }
        for (Node *node = head; node; node = node->a) sum += node->value;
        first_tick();
        free_chain(head, sizes.list_length);
        tick();
    }
    return sum;
}
