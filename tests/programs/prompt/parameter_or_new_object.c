/* A function that returns its parameter, or what a loop has put in its place; prints the tags of the results, -1 for null. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { long tag; struct Node *held; } Node;
TALLY_TYPE(Node, held);

static Node *choose(Node *parameter, Node *other, long times) {
    TALLY_ROOT(parameter, other);
    if (times < 0) return parameter;
    Node *chosen = parameter;
    TALLY_ROOT(chosen);
    for (long i = 0; i < times; i++) {
        Node *made = TALLY_NEW(Node);
        made->tag = i + 1;
        TALLY_WRITE(made, held, parameter);
        chosen = made;
    }
    return chosen;
}

int main(void) {
    Node *node = NULL, *other = NULL;
    TALLY_ROOT(node, other);
    for (long round = 0; round < 6; round++) {
        node = choose(node, other, round % 3);
        printf("%ld ", node ? node->tag : -1);
    }
    puts("");
}
