/* A list of ten million nodes, dropped at once.
 *
 * Two things that naive reference counting does badly: freeing a long list by recursion overflows the stack, and doing it without
 * a pause bound stops the program for as long as it takes. Tally frees from a queue, a slice at a time, while the program goes on
 * with its second list.
 *
 *     tally run examples/long_list.c
 *     tally run --stats examples/long_list.c     see pause_ns_max
 */
#include <stdio.h>
#include <tally_gc.h>

enum { LENGTH = 10000000 };

typedef struct Node {
    struct Node *next;
    long value;
} Node;
TALLY_TYPE(Node, next);

static Node *list_of(long length) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < length; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i & 255;
        TALLY_WRITE(node, next, list);
        list = node;
    }
    return list;
}

static long sum_of(Node *list) {
    long sum = 0;
    for (Node *node = list; node; node = node->next) sum += node->value;
    return sum;
}

int main(void) {
    Node *list = list_of(LENGTH);
    TALLY_ROOT(list);
    printf("%d nodes, sum %ld\n", LENGTH, sum_of(list));
    list = NULL;
    list = list_of(1000000);
    printf("dropped; 1000000 new nodes, sum %ld\n", sum_of(list));
}
