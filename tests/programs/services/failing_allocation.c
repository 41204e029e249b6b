/* A failure is asked for at any of its allocations, the inline ones included (--fail-allocation N). Where it takes null for an answer it
 * does without; elsewhere its handler says "try again". Whatever fails, what it has made is whole: it prints the same. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next, *self;
    long value;
} Node;
TALLY_TYPE(Node, next, self);

typedef struct Table {
    uint64_t length;
    Node *at[];
} Table;
TALLY_ARRAY_TYPE(Table, length, at);

static int patient;
static long refusals, asked;

static int32_t try_again(uint64_t requested, void *context) {
    (void)requested;
    *(long *)context += 1;
    return patient;
}

/* A list of `count` nodes, each of which refers to itself; optional ones are left out when there is no room for them. */
static Node *build(long count, int optional) {
    Node *list = NULL, *node = NULL;
    TALLY_ROOT(list, node);
    for (long i = 0; i < count; i++) {
        patient = !optional;
        node = optional ? TALLY_TRY_NEW(Node) : TALLY_NEW(Node);
        if (!node) {
            refusals++;
            continue;
        }
        node->value = i;
        TALLY_WRITE(node, next, list);
        TALLY_WRITE(node, self, node);
        list = node;
    }
    return list;
}

static long length(Node *list) {
    long count = 0;
    for (long last = -1; list; list = list->next, count++) {
        if (list->self != list || (last >= 0 && list->value >= last)) printf("corrupted\n");
        last = list->value;
    }
    return count;
}

int main(void) {
    Table *table = NULL;
    TALLY_ROOT(table);
    tally_on_out_of_memory(try_again, &asked);
    for (int round = 0; round < 3; round++) {
        patient = 0;
        do table = TALLY_TRY_NEW_ARRAY(Table, 6 + 1000 * round);
        while (!table);
        for (uint64_t i = 0; i < 6; i++) TALLY_WRITE(table, at[i], build(2 + i, i % 2));
        long sum = 0;
        for (uint64_t i = 0; i < 6; i++) sum += length(table->at[i]);
        printf("%ld nodes, or no room for them\n", sum + refusals);
        refusals = 0;
    }
    tally_statistics now;
    tally_get_statistics(&now);
    if (asked > 1 || now.live_bytes > now.used_bytes) printf("asked %ld times\n", asked);
    return 0;
}
