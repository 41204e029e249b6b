/* A program asks where its objects were allocated: in functions that are inlined or not, on a coroutine, on another thread, as
 * storage that has grown, in a cell that another object had before. Prints what is the same under all plans. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    long value;
} Node;
TALLY_TYPE(Node, next);

typedef struct File {
    long number;
} File;
static void close_file(File *file) { (void)file; }
TALLY_FINALIZED_TYPE(File, close_file);

typedef struct Nodes {
    uint64_t length;
    Node *at[];
} Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);

typedef struct List {
    Nodes *nodes;
} List;
TALLY_TYPE(List, nodes);

static void print_place(const tally_place *places, uint64_t count, void *context) {
    printf("%s:", (const char *)context);
    for (uint64_t i = 0; i < count; i++) {
        const char *file = places[i].file ? strrchr(places[i].file, '/') : NULL;
        printf(" %s %s:%lu", places[i].function, file ? file + 1 : "?", places[i].line);
    }
    printf("\n");
}

static void ask(const char *what, const void *object) {
    if (!tally_alloc_site(object, print_place, (void *)what)) printf("%s: not known\n", what);
}

static long mistaken;
static void compare(const tally_place *places, uint64_t count, void *context) {
    if (count < 2 || strcmp(places[1].function, context)) mistaken++;
}

static Node *new_node(long value) {
    Node *node = TALLY_NEW(Node);
    node->value = value;
    return node;
}

__attribute__((noinline)) static Node *one(void) { return new_node(1); }
__attribute__((noinline)) static Node *another(void) { return new_node(2); }

static void in_functions(void) {
    Node *first = NULL, *second = NULL;
    TALLY_ROOT(first, second);
    first = one();
    second = another();
    ask("one", first);
    ask("another", second);
}

static void grown_storage(void) {
    List *list = NULL;
    TALLY_ROOT(list);
    list = TALLY_NEW(List);
    TALLY_WRITE(list, nodes, TALLY_NEW_ARRAY(Nodes, 2));
    ask("storage", list->nodes);
    TALLY_RESIZE(list, nodes, 5000);
    ask("grown", list->nodes);
    TALLY_RESIZE(list, nodes, 3);
    printf("%lu elements\n", list->nodes->length);
}

/* Dead objects of one site make room for those of another. */
static void reused_cells(void) {
    Node *node = NULL;
    TALLY_ROOT(node);
    for (long i = 0; i < 3000; i++) node = one();
    node = NULL;
    tally_collect();
    long wrong = 0;
    for (long i = 0; i < 3000; i++) {
        node = another();
        if (!tally_alloc_site(node, compare, "another")) wrong++;
    }
    ask("reused", node);
    printf("%ld wrong\n", wrong + mistaken);
}

static void special_objects(void) {
    Node *node = NULL;
    File *file = NULL;
    void *weak = NULL;
    TALLY_ROOT(node, file, weak);
    node = one();
    weak = tally_weak_new(node);
    file = TALLY_NEW(File);
    ask("weakly held", node);
    ask("with a finalizer", file);
    node = NULL;
    tally_collect();
    printf("%s\n", tally_weak_get(weak) ? "alive" : "dead");
    ask("weak reference", weak);
}

static void *coroutine(void *argument) {
    (void)argument;
    Node *node = NULL;
    TALLY_ROOT(node);
    node = one();
    ask("on a coroutine", node);
    return NULL;
}

static void on_a_coroutine(void) {
    void *stack = NULL;
    TALLY_ROOT(stack);
    stack = tally_stack_new(coroutine, 0);
    tally_stack_switch(stack, NULL);
}

static void *thread(void *argument) {
    Node *node = NULL;
    TALLY_ROOT(node);
    tally_record_alloc_sites(1);
    node = another();
    ask("on a thread", node);
    return argument;
}

struct sum { uint64_t objects, sites; };

static void add(const tally_site_totals *totals, void *context) {
    struct sum *sum = context;
    if (strcmp(totals->of_type, "Node")) return;
    sum->objects += totals->allocated_objects;
    sum->sites++;
}

int main(void) {
    Node *before = NULL;
    TALLY_ROOT(before);
    before = one();
    ask("before", before);
    tally_record_alloc_sites(1);
    in_functions();
    grown_storage();
    fflush(stdout);
    reused_cells();
    special_objects();
    on_a_coroutine();
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    struct sum sum = {0, 0};
    tally_alloc_sites(add, &sum);
    printf("%lu nodes at %lu sites\n", sum.objects, sum.sites);
    tally_record_alloc_sites(0);
    before = another();
    ask("after", before);
    return 0;
}
