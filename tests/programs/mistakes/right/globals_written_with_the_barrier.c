/* Globals and static locals that are roots, and a handle in memory from malloc. */
#include "../node.h"

static Node *head;

static Node *cached(void) {
    static Node *cache;
    if (!cache) TALLY_WRITE_GLOBAL(cache, make(1));
    return cache;
}

static void push(long value) {
    Node *node = make(value);
    TALLY_WRITE(node, next, head);
    TALLY_WRITE_GLOBAL(head, node);
}

struct Entry {
    tally_global *value;
};

int main(void) {
    push(1);
    push(2);
    struct Entry *entry = malloc(sizeof *entry);
    entry->value = tally_global_new(make(5));
    work();
    cached();
    work();
    printf("%ld %ld\n", head->next->value + cached()->value, ((Node *)*(void **)entry->value)->value);
    tally_global_free(entry->value);
    free(entry);
}
