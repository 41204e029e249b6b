/* What objects own outside the heap, and objects that never die. Prints the same under both plans. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    void *owned;
} Node;
TALLY_TYPE(Node, next, owned);

static long made, freed;

static void give_back(void *pointer) {
    free(pointer);
    freed++;
}

static void *new_buffer(size_t bytes) {
    made++;
    void *buffer = tally_host_new(malloc(bytes), give_back);
    tally_external_bytes(buffer, (int64_t)bytes);
    return buffer;
}

/* A ring of two that owns a buffer, dropped. */
static void drop_ring(void) {
    Node *first = NULL, *second = NULL;
    TALLY_ROOT(first, second);
    first = TALLY_NEW(Node);
    second = TALLY_NEW(Node);
    TALLY_WRITE(first, next, second);
    TALLY_WRITE(second, next, first);
    TALLY_WRITE(first, owned, new_buffer(1 << 20));
}

static uint64_t live(void) {
    tally_statistics now;
    tally_collect();
    tally_get_statistics(&now);
    if (now.external_bytes != (uint64_t)(made - freed) << 20) printf("%lu bytes outside\n", now.external_bytes);
    return now.live_objects;
}

static Node *library;

int main(void) {
    long most = 0;
    for (int i = 0; i < 300; i++) {
        drop_ring();
        if (most < made - freed) most = made - freed;
    }
    printf("%s buffers of a megabyte at once\n", most < 100 ? "few" : "too many");
    live();
    printf("%ld made, %ld given back\n", made, freed);

    TALLY_WRITE_GLOBAL(library, TALLY_NEW(Node));
    TALLY_WRITE(library, next, TALLY_NEW(Node));
    tally_make_immortal(library);
    Node *plain = library;
    TALLY_WRITE_GLOBAL(library, (Node *)NULL);
    printf("%lu objects that nothing holds, for ever\n", live());
    TALLY_WRITE(plain, owned, new_buffer(1 << 20));
    printf("%lu with what one came to hold\n", live());
    tally_freeze();
    tally_freeze();
    tally_fill_refs(plain, &plain->owned, 0, 1);
    printf("%lu frozen\n", live());
    tally_unfreeze();
    printf("%lu thawed, %ld given back\n", live(), freed);
    TALLY_WRITE_GLOBAL(library, TALLY_NEW(Node));
    tally_freeze();
    TALLY_WRITE_GLOBAL(library, (Node *)NULL);
    return 0;
}
