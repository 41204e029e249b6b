/* Host values that managed functions free, in the middle of drains and collections: their safepoints pass over the collector. With an
 * argument they collect, which is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; void *host; } Node;
TALLY_TYPE(Node, next, host);
static long freed;
static int collects;

/* A root makes it managed: it drains where it calls and where it returns. */
static void free_it(void *pointer) {
    Node *none = NULL;
    TALLY_ROOT(none);
    char text[32];
    if (collects) tally_collect();
    snprintf(text, sizeof text, "%p", pointer);
    none = NULL;
    freed++;
    free(pointer);
}

static void drop_some(long count) {
    Node *list = NULL, *node = NULL;
    void *host = NULL;
    TALLY_ROOT(list, node, host);
    for (long i = 0; i < count; i++) {
        host = tally_host_new(malloc(8), free_it);
        node = TALLY_NEW(Node);
        TALLY_WRITE(node, host, host);
        TALLY_WRITE(node, next, i % 3 == 0 ? node : list);
        list = node;
        host = NULL;
        if (i % 50 == 0) list = NULL;
    }
}

int main(int argc, char **argv) {
    (void)argv;
    collects = argc > 1;
    for (int i = 0; i < 10; i++) {
        drop_some(300);
        tally_collect();
    }
    tally_collect();
    printf("%ld freed\n", freed);
    return 0;
}
