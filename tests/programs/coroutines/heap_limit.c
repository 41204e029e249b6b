/* A coroutine fills a limited heap, and stops often: the limit holds. What it lets go of is room again, round after round. */
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
enum { LIMIT = 2 << 20, ROUNDS = 20 };

static long most, least = 1l << 40;

static void *fill(void *value) {
    Node *list = NULL, *node = NULL;
    TALLY_ROOT(list, node);
    for (int round = 0; round < ROUNDS; round++) {
        long made = 0;
        while (made < LIMIT / 8 && (node = tally_try_new(&tally_type_Node))) {
            TALLY_WRITE(node, next, list);
            list = node;
            if (++made % 600 == 0) tally_stack_switch(NULL, NULL);
        }
        if (made > most) most = made;
        if (made < least) least = made;
        list = NULL;
        tally_stack_switch(NULL, NULL);
    }
    return value;
}
int main(void) {
    void *stack = NULL;
    TALLY_ROOT(stack);
    tally_set_limits(0, LIMIT);
    stack = tally_stack_new(fill, 0);
    while (tally_stack_status(stack) != TALLY_STACK_FINISHED) tally_stack_switch(stack, NULL);
    long fit = LIMIT / 24;
    printf("%s, %s\n", most <= fit ? "never beyond the limit" : "beyond the limit",
           least > fit / 10 * 9 ? "nine tenths of it each time" : "not again");
    if (most > fit || least <= fit / 10 * 9) fprintf(stderr, "%ld to %ld of %ld objects\n", least, most, fit);
}
