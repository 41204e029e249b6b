/* A finalizer, a weak callback, or a function that is called about memory is left by longjmp while a function of the runtime makes an
 * object: what that function was given is not held for good. The next thing that the program does may be a switch to another stack. */
#include <setjmp.h>
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    char room[200];
} Node;
TALLY_TYPE(Node, next);

typedef struct Nodes {
    uint64_t length;
    Node *at[];
} Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);

typedef struct List {
    Nodes *nodes;
} List;
TALLY_TYPE(List, nodes);

typedef struct Big {
    uint64_t length;
    char bytes[];
} Big;
TALLY_DATA_ARRAY_TYPE(Big, length, bytes);

typedef struct File {
    long number;
} File;

enum { FINALIZER, OUT_OF_MEMORY, SOFT_LIMIT, WAYS };
enum { WEAK, EPHEMERON, MAP, RESIZE, DEEDS };

static jmp_buf back;
static long jumps[WAYS], switches;

static void leave(int way) {
    jumps[way]++;
    longjmp(back, 1);
}

static int armed = -1;

static void finalize(File *file) {
    (void)file;
    if (armed == FINALIZER) leave(FINALIZER);
}
TALLY_FINALIZED_TYPE(File, finalize);

static int32_t refused(uint64_t requested, void *context) {
    (void)requested, (void)context;
    if (armed == OUT_OF_MEMORY) leave(OUT_OF_MEMORY);
    return 0;
}

static void above(uint64_t used, void *context) {
    (void)used, (void)context;
    if (armed == SOFT_LIMIT) leave(SOFT_LIMIT);
}

static void hook(void *object, const char *type, const char *message, void *exception) {
    (void)object, (void)type, (void)message, (void)exception;
}

static void *echo(void *value) {
    for (;;) value = tally_stack_switch(NULL, value);
}

/* Goes on until the function is left. */
static void attempt(int way, int deed) {
    Node *key = NULL, *value = NULL;
    List *list = NULL;
    File *file = NULL;
    Big *big = NULL;
    void *map = NULL;
    TALLY_ROOT(key, value, list, file, big, map);
    key = TALLY_NEW(Node);
    value = TALLY_NEW(Node);
    map = tally_weak_map_new(TALLY_WEAK_KEYS);
    list = TALLY_NEW(List);
    Nodes *nodes = TALLY_NEW_ARRAY(Nodes, 1);
    TALLY_WRITE(list, nodes, nodes);
    if (setjmp(back)) return;
    if (way == FINALIZER) {
        file = TALLY_NEW(File);
        file->number = deed;
        file = NULL;
    }
    tally_statistics now;
    tally_get_statistics(&now);
    if (way == OUT_OF_MEMORY) tally_set_limits(0, now.used_bytes + (1 << 16));
    if (way == SOFT_LIMIT) tally_set_limits(1, 0);
    armed = way;
    for (uint64_t i = 1; i < 200000; i++) {
        switch (deed) {
        case WEAK: TALLY_WRITE(value, next, tally_weak_new(key)); break;
        case EPHEMERON: TALLY_WRITE(value, next, tally_ephemeron_new(key, value)); break;
        case MAP:
            tally_weak_map_set(map, key, value);
            tally_weak_map_remove(map, key);
            break;
        case RESIZE: tally_resize(list, &list->nodes, way == OUT_OF_MEMORY ? 8 * i : 1 + i % 64); break;
        }
        if (i % 64 == 0) big = TALLY_NEW_ARRAY(Big, 20000);
    }
    printf("way %d, deed %d: never left\n", way, deed);
}

int main(void) {
    void *other = NULL;
    TALLY_ROOT(other);
    tally_set_epoch_bytes(16384);
    tally_on_finalizer_error(hook);
    tally_on_out_of_memory(refused, NULL);
    tally_on_soft_limit(above, NULL);
    other = tally_stack_new(echo, 0);
    for (int way = 0; way < WAYS; way++) {
        // Only what grows runs out of memory, whatever is collected.
        for (int deed = way == OUT_OF_MEMORY ? RESIZE : WEAK; deed < DEEDS; deed++) {
            attempt(way, deed);
            armed = -1;
            if (tally_stack_switch(other, NULL) == NULL) switches++;
            tally_set_limits(0, 0);
        }
    }
    tally_stack_close(other);
    other = NULL;
    tally_collect();
    tally_collect();
    printf("%ld %ld %ld jumps, %ld switches\n", jumps[FINALIZER], jumps[OUT_OF_MEMORY], jumps[SOFT_LIMIT], switches);
    printf("%lu nodes, %lu lists\n", (unsigned long)tally_count_of_type(&tally_type_Node), (unsigned long)tally_count_of_type(&tally_type_List));
    return 0;
}
