/* A program stops the collector, lets it work in parts, and looks into its heap. Prints what is the same under both plans. */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    long value;
} Node;
TALLY_TYPE(Node, next);

typedef struct Text {
    uint64_t length;
    char at[];
} Text;
TALLY_DATA_ARRAY_TYPE(Text, length, at);

static Node *list;

static void drop_rings(long count) {
    Node *first = NULL, *second = NULL;
    TALLY_ROOT(first, second);
    for (long i = 0; i < count; i++) {
        first = TALLY_NEW(Node);
        second = TALLY_NEW(Node);
        TALLY_WRITE(first, next, second);
        TALLY_WRITE(second, next, first);
    }
}

static uint64_t freed(void) {
    static tally_statistics now;
    tally_get_statistics(&now);
    uint64_t pauses = 0, sizes = 0;
    for (int i = 0; i < TALLY_BUCKETS; i++) pauses += now.pause_histogram[i], sizes += now.size_histogram[i];
    if (pauses != now.pauses || sizes != now.allocated_objects) printf("the histograms disagree\n");
    if (now.live_bytes > now.used_bytes) printf("more is alive than there is room\n");
    return now.freed_mature_objects + now.died_young_objects;
}

static void count_nodes(void *object, const char *type, uint64_t bytes, void *context) {
    uint64_t *sums = context;
    if (!tally_is_in_heap(object)) printf("not in the heap\n");
    if (!strcmp(type, "Node")) sums[0]++, sums[1] += bytes, sums[2] += ((Node *)object)->value;
}

static void print_type(const char *type, uint64_t objects, uint64_t bytes, void *context) {
    fprintf(context, "left: %lu %s, %lu bytes\n", objects, type, bytes);
}

int main(void) {
    tally_set_epoch_bytes(0);
    tally_stop();
    printf("running: %d, mode %d\n", tally_is_running(), tally_collector_mode(TALLY_GENERATIONAL));
    uint64_t before = freed();
    drop_rings(50000);
    printf("died while stopped: %lu\n", freed() - before);
    while (!tally_step(1000)) continue;
    printf("died in steps: %s\n", freed() - before >= 99998 ? "nearly all" : "too few");
    printf("running: %d\n", tally_is_running());
    uint64_t bytes = tally_live_bytes();
    drop_rings(1000);
    printf("more bytes live: %d\n", tally_live_bytes() >= bytes + 2000 * sizeof(Node));
    while (!tally_step_bytes(1 << 20)) continue;
    printf("fewer after steps: %d\n", tally_live_bytes() <= bytes);
    tally_restart();
    printf("running: %d\n", tally_is_running());

    for (long i = 0; i < 100; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(node, next, list);
        TALLY_WRITE_GLOBAL(list, node);
    }
    Text *text = TALLY_NEW_ARRAY(Text, 40);
    TALLY_ROOT(text);
    uint64_t sums[3] = {0};
    tally_collect();
    tally_for_each_object(count_nodes, sums);
    printf("%lu nodes of %lu bytes, sum %lu\n", sums[0], sums[1] / sums[0], sums[2]);
    printf("count of the second node: %lu\n", tally_count_of(list->next));
    printf("count of no object: %lu, in the heap: %d\n", tally_count_of(&list), tally_is_in_heap(&list));
    printf("%lu objects\n", tally_leak_report(print_type, stdout));
    text->at[0] = 0;
    text = NULL;
    TALLY_WRITE_GLOBAL(list, (Node *)NULL);
    printf("%lu objects\n", tally_leak_report(NULL, NULL));
    return 0;
}
