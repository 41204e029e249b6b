/* Functions that fill roots of their callers' through pointers, and a callback whose data is a root. */
#include "../node.h"

typedef struct Search {
    long wanted;
    Node *found;
} Search;
TALLY_TYPE(Search, found);

static int next(long *state, Node **out) {
    if (*state == 3) return 0;
    *out = make((*state)++);
    return 1;
}

static void look(Node *node, void *data) {
    Search *search = data;
    if (node->value == search->wanted) search->found = node;
}

static void each(Node *list, void (*call)(Node *, void *), void *data) {
    for (Node *node = list; node; node = node->next) call(node, data);
}

int main(void) {
    Node *node = NULL, *list = NULL;
    TALLY_ROOT(node, list);
    Search search = {1, NULL};
    TALLY_ROOT_AS(Search, search);
    for (long state = 0; next(&state, &node);) {
        work();
        TALLY_WRITE(node, next, list);
        list = node;
    }
    each(list, look, &search);
    work();
    printf("%ld\n", search.found->value);
}
