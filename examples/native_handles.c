/* Code that has no roots keeps its references in handles: scoped ones, global ones (docs/use/services.md).
 *
 *     tally run examples/native_handles.c
 */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    long value;
} Node;
TALLY_TYPE(Node, next);

static uint64_t live(void) {
    tally_statistics now;
    tally_collect();
    tally_get_statistics(&now);
    return now.live_objects;
}

/* No variable here is a root: what is needed after a call is in a handle. */
static long sum_of_list(long count) {
    void *scope = tally_handles_open();
    tally_handle *list = tally_handle_new(NULL);
    for (long i = 1; i <= count; i++) {
        void *inner = tally_handles_open();
        tally_handle *node = tally_handle_new(TALLY_NEW(Node));
        ((Node *)node->object)->value = i;
        tally_fill_refs(node->object, &((Node *)node->object)->next, (uint64_t)list->object, 1);
        if (i % 1000 == 0) tally_collect();
        tally_handle_set(list, node->object);
        tally_handles_close(inner);
    }
    tally_collect();
    long sum = 0;
    for (Node *node = list->object; node; node = node->next) sum += node->value;
    tally_handles_close(scope);
    return sum;
}

static tally_global *make_ring(void) {
    void *scope = tally_handles_open();
    tally_handle *first = tally_handle_new(TALLY_NEW(Node));
    tally_handle *second = tally_handle_new(TALLY_NEW(Node));
    tally_fill_refs(first->object, &((Node *)first->object)->next, (uint64_t)second->object, 1);
    tally_fill_refs(second->object, &((Node *)second->object)->next, (uint64_t)first->object, 1);
    tally_global *global = tally_global_new(second->object);
    tally_handles_close(scope);
    return global;
}

int main(void) {
    printf("sum %ld\n", sum_of_list(1500));
    printf("%lu objects afterwards\n", live());
    tally_global *ring = make_ring(), *empty = tally_global_new(NULL);
    printf("%lu objects in a ring that a global handle holds\n", live());
    tally_global_set(empty, ((Node *)ring->object)->next);
    tally_global_free(ring);
    printf("%lu after it went to another\n", live());
    tally_global_set(empty, NULL);
    printf("%lu after that let go\n", live());
    tally_global_free(empty);
    tally_global_free(NULL);
    tally_handle_new(TALLY_NEW(Node));
    printf("%lu in a handle that nobody closes; it goes with the program\n", live());
    return 0;
}
