/* A walk of a weak map that knows only the last key, as Lua's next(table, key). */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node {
    long number;
} Node;
TALLY_TYPE(Node);
typedef struct Nodes {
    uint64_t length;
    Node *at[];
} Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);

/* The key behind one, or the first; null at the end. */
static Node *next(void *map, Node *key) {
    TALLY_ROOT(map, key);
    uint64_t at = key ? tally_weak_map_find(map, key) : 0;
    if (key && !at) return NULL;
    at = tally_weak_map_next(map, at);
    return at ? (Node *)tally_weak_map_key_at(map, at) : NULL;
}

static void walk(void *map) {
    long count = 0, sum = 0;
    Node *key = NULL;
    TALLY_ROOT(map, key);
    while ((key = next(map, key))) {
        count++;
        sum += key->number;
        if (key->number % 10 == 0) tally_collect();
    }
    printf("%ld keys, sum %ld\n", count, sum);
}

int main(void) {
    void *map = tally_weak_map_new(TALLY_WEAK_KEYS);
    Nodes *nodes = NULL;
    TALLY_ROOT(map, nodes);
    nodes = TALLY_NEW_ARRAY(Nodes, 100);
    walk(map);
    for (long i = 0; i < 100; i++) {
        TALLY_WRITE(nodes, at[i], TALLY_NEW(Node));
        nodes->at[i]->number = i;
        if (i % 2) tally_weak_map_set(map, nodes->at[i], nodes);
    }
    walk(map);
    printf("%d %d\n", tally_weak_map_find(map, nodes->at[1]) != 0, tally_weak_map_find(map, nodes->at[2]) != 0);
    for (long i = 0; i < 50; i++) TALLY_WRITE(nodes, at[i], NULL);
    tally_collect();
    tally_weak_map_remove(map, nodes->at[99]);
    printf("%d\n", tally_weak_map_find(map, nodes->at[99]) != 0);
    walk(map);
    return nodes->length != 100;
}
