/* A program that runs out of memory: a soft limit that drops a cache, a handler that drops a spare, null for an answer. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    char room[1000];
} Node;
TALLY_TYPE(Node, next);

typedef struct Bytes {
    uint64_t length;
    char at[];
} Bytes;
TALLY_DATA_ARRAY_TYPE(Bytes, length, at);

static Node *cache, *list;
static Bytes *spare;

static void drop_the_cache(uint64_t used, void *context) {
    printf("%s: the cache goes\n", used > 1 << 20 ? "beyond the soft limit" : "too early");
    TALLY_WRITE_GLOBAL(cache, (Node *)NULL);
    *(int *)context += 1;
}

static int32_t drop_the_spare(uint64_t requested, void *context) {
    *(int *)context += 1;
    if (!spare) return 0;
    printf("%s bytes asked for: the spare goes\n", requested ? "some" : "no");
    TALLY_WRITE_GLOBAL(spare, (Bytes *)NULL);
    return 1;
}

static Node *push(Node *next) {
    TALLY_ROOT(next);
    Node *node = TALLY_NEW(Node);
    TALLY_WRITE(node, next, next);
    return node;
}

static Node *try_push(Node *next) {
    TALLY_ROOT(next);
    Node *node = TALLY_TRY_NEW(Node);
    if (node) TALLY_WRITE(node, next, next);
    return node;
}

int main(void) {
    int soft = 0, hard = 0;
    tally_set_limits(1 << 20, 4 << 20);
    tally_on_soft_limit(drop_the_cache, &soft);
    tally_on_out_of_memory(drop_the_spare, &hard);
    TALLY_WRITE_GLOBAL(spare, TALLY_NEW_ARRAY(Bytes, 300000));
    for (int i = 0; i < 500; i++) TALLY_WRITE_GLOBAL(cache, push(cache));
    printf("%s\n", cache ? "the cache is there" : "the cache has gone too early");
    for (int i = 0; i < 500; i++) TALLY_WRITE_GLOBAL(list, push(list));
    printf("%s, told %d times\n", cache ? "the cache is there still" : "the cache has gone", soft);

    tally_set_limits(0, 4 << 20);
    long made = 500;
    for (Node *node; (node = try_push(list)); made++) TALLY_WRITE_GLOBAL(list, node);
    printf("no room for more, asked %d times\n", hard);
    if (made < 3000 || made > 4200) printf("%ld nodes in 4 MiB\n", made);
    printf("%s\n", TALLY_TRY_NEW_ARRAY(Bytes, UINT64_MAX / 2) ? "absurd" : "no room for an absurd array");
    long found = 0;
    for (Node *node = list; node; node = node->next) found++;
    printf("%s\n", found == made ? "all nodes are there" : "nodes were lost");
    TALLY_WRITE_GLOBAL(list, (Node *)NULL);
    for (int i = 0; i < 100000; i++) push(NULL);
    printf("the program goes on\n");
    return 0;
}
