/* A hundred thousand stacks, or as many as the argument says, that sleep in a frame of theirs, and what they cost in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>
#include "../resident.h"

typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Table { uint64_t length; void *at[]; } Table;
TALLY_ARRAY_TYPE(Table, length, at);
static Table *table;

static void *sleeper(void *value) {
    Node *mine = value, *got = NULL;
    TALLY_ROOT(mine, got);
    got = tally_stack_switch(NULL, NULL);
    mine->value += got->value;
    return mine;
}

static long page_table_kib(void) {
    long kib = 0;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmPTE: %ld", &kib);
    fclose(file);
    return kib;
}

int main(int argc, char **argv) {
    const long stacks = argc > 1 ? atol(argv[1]) : 100000, woken = stacks / 10;
    Node *node = NULL;
    void *stack = NULL;
    TALLY_ROOT(node, stack);
    long before = resident_kib() + page_table_kib();
    TALLY_WRITE_GLOBAL(table, TALLY_NEW_ARRAY(Table, stacks));
    for (long i = 0; i < stacks; i++) {
        node = TALLY_NEW(Node);
        node->value = i;
        stack = tally_stack_new(sleeper, 0);
        if (!stack) return puts("no memory"), 1;
        TALLY_WRITE(table, at[i], stack);
        tally_stack_switch(stack, node);
    }
    tally_collect();
    long each = (resident_kib() + page_table_kib() - before) * 1024 / stacks;
    if (each > 8192) printf("%ld bytes each\n", each);
    long sum = 0;
    for (long i = 0; i < stacks; i += 10) {
        node = TALLY_NEW(Node);
        node->value = 1;
        node = tally_stack_switch(table->at[i], node);
        sum += node->value;
    }
    if (sum != 10 * (woken * (woken - 1) / 2) + woken) printf("%ld\n", sum);
    puts("all woke up");
    TALLY_WRITE_GLOBAL(table, NULL);
    stack = node = NULL;
    tally_collect();
    if (resident_kib() > 200 * 1024) printf("%ld KiB are left\n", resident_kib());
    return 0;
}
