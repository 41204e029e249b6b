/* A program asks why objects are alive: by a root, an array, a global variable, a handle, pairs; and which objects of a type there are.
 * Prints what is the same under all plans. */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    long value;
} Node;
TALLY_TYPE(Node, next);

typedef struct Nodes {
    uint64_t length;
    Node *at[];
} Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at);

typedef struct Entry {
    long hash;
    Node *value;
} Entry;
typedef struct Table {
    uint64_t length;
    Entry entries[];
} Table;
TALLY_STRUCT_ARRAY_TYPE(Table, length, entries, (value));

typedef struct Value {
    void *word;
    uint64_t tag;
} Value;
TALLY_PAIR_TYPE(Value, tag, word, 0x40, 0x40);
typedef struct Pair {
    Value first;
    Node *second;
} Pair;
TALLY_TYPE_OF_PAIRS(Pair, Value, first, second);

static Nodes *kept;

static void print_step(const tally_holder *holder, void *held, void *context) {
    static const char *roots[] = {"", "variable", "global", "handle", "global handle", "immortality", "finalizer", "host"};
    const char *file = holder->file ? strrchr(holder->file, '/') : NULL;
    if (!holder->root) printf("  %s at its %s\n", holder->type, holder->name ? holder->name : "?");
    else if (holder->function) printf("  %s %s of %s, %s:%u\n", roots[holder->root], holder->name, holder->function, file ? file + 1 : "?", holder->line);
    else printf("  %s %s\n", roots[holder->root], holder->name ? holder->name : "");
    if (!held || context != &kept) printf("  wrong\n");
}

static void add_value(void *object, void *context) { *(long *)context += ((Node *)object)->value; }

static Node *make_list(long length) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < length; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(node, next, list);
        list = node;
    }
    return list;
}

static void ask(const char *what, const Node *node) {
    printf("%s\n", what);
    uint64_t steps = tally_why_alive(node, print_step, &kept);
    if (!steps) printf("  nothing\n");
}

static void pass(const tally_holder *holder, void *held, void *context) { (void)holder, (void)held, (void)context; }

static void from_below(Node *list, int depth) {
    TALLY_ROOT(list);
    if (depth) from_below(list, depth - 1);
    else printf("from below frames: %lu steps\n", tally_why_alive(list->next, pass, &kept));
    tally_safepoint();
    if (!list->next) printf("gone\n");
}

int main(void) {
    Node *list = NULL;
    Table *table = NULL;
    TALLY_ROOT(list, table);
    list = make_list(10);
    make_list(10);
    long sum = 0;
    printf("nodes: %lu, sum %ld\n", tally_objects_of(&tally_type_Node, add_value, &sum), sum);
    printf("arrays: %lu\n", tally_count_of_type(&tally_type_Nodes));
    ask("the third of a list", list->next->next);
    from_below(list, 3);
    TALLY_WRITE_GLOBAL(kept, TALLY_NEW_ARRAY(Nodes, 5));
    TALLY_WRITE(kept, at[3], list->next->next);
    table = TALLY_NEW_ARRAY(Table, 7);
    TALLY_WRITE(table, entries[6].value, list->next->next->next);
    printf("referrers of the third\n");
    uint64_t referrers = tally_referrers_of(list->next->next, print_step, &kept);
    printf("%lu, and the first is %ld\n", referrers, list->value);
    list = NULL;
    ask("by a global variable", kept->at[3]);
    TALLY_WRITE_GLOBAL(kept, NULL);
    ask("by an entry", table->entries[6].value);
    tally_global *global = tally_global_new(table->entries[6].value->next);
    table = NULL;
    ask("by a handle", global->object);
    printf("nodes: %lu\n", tally_count_of_type(&tally_type_Node));
    ask("no object of the heap", (const Node *)&sum);
    Pair *pair = NULL;
    TALLY_ROOT(pair);
    pair = TALLY_NEW(Pair);
    TALLY_WRITE_PAIR(pair, first, ((Value){global->object, 0x41}));
    TALLY_WRITE(pair, second, global->object);
    tally_global_free(global);
    ask("by a pair", pair->first.word);
    TALLY_WRITE_PAIR(pair, first, ((Value){pair->first.word, 1}));
    ask("by a reference beside a pair", pair->second);
    printf("one object: %d\n", pair->first.word == (void *)pair->second);
    pair = NULL;
    tally_collect();
    printf("nodes: %lu\n", tally_count_of_type(&tally_type_Node));
}
