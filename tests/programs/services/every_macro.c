/* Every macro of tally_gc.h, in C and in C++: it compiles without a warning, and prints the same. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next, *child[2];
    long value;
} Node;
TALLY_TYPE(Node, next, child[0], child[1]);

typedef struct Leaf {
    long value;
} Leaf;
TALLY_ACYCLIC_TYPE(Leaf);

typedef struct Shared {
    Node *node;
} Shared;
TALLY_SHARED_TYPE(Shared, node);

static long ends;
typedef struct File {
    Node *node;
} File;
static void close_file(File *file) {
    (void)file;
    ends++;
}
TALLY_FINALIZED_TYPE(File, close_file, node);

typedef struct Log {
    Node *node;
} Log;
static void close_log(Log *log) {
    (void)log;
    ends++;
}
TALLY_FINALIZED_TYPE_AS(Log, TALLY_FINALIZE_REVERSE | TALLY_ACYCLIC, close_log, node);

typedef struct Ephemeron {
    Node *value;
    void *key;
} Ephemeron;
TALLY_EPHEMERON_TYPE(Ephemeron, value);

typedef struct Nodes {
    uint64_t length;
    Node *first;
    Node *at[];
} Nodes;
TALLY_ARRAY_TYPE(Nodes, length, at, first);

typedef struct Entry {
    Node *key;
    long number;
    Node *value;
} Entry;
typedef struct Table {
    uint64_t length;
    Entry entries[];
} Table;
TALLY_STRUCT_ARRAY_TYPE(Table, length, entries, (key, value));

typedef struct Text {
    uint64_t length;
    char bytes[];
} Text;
TALLY_DATA_ARRAY_TYPE(Text, length, bytes);

typedef struct Files {
    uint64_t length;
    Node *at[];
} Files;
static void close_files(Files *files) {
    (void)files;
    ends++;
}
TALLY_FINALIZED_ARRAY_TYPE(Files, close_files, length, at);

typedef uint64_t Word;
TALLY_TAGGED_TYPE(Word, 7, 0, ~UINT64_C(7));
typedef struct Cell {
    Word head, tail;
} Cell;
TALLY_TYPE_TAGGED(Cell, Word, head, tail);
typedef struct Words {
    uint64_t length;
    Word at[];
} Words;
TALLY_ARRAY_TYPE_TAGGED(Words, Word, length, at);
typedef struct WordEntry {
    Word key;
    Node *node;
} WordEntry;
typedef struct WordTable {
    Node *owner;
    uint64_t length;
    WordEntry at[];
} WordTable;
TALLY_STRUCT_ARRAY_TYPE_TAGGED(WordTable, Word, length, at, (key, node), owner);

typedef struct Value {
    union {
        void *object;
        long number;
    } as;
    uint8_t tag;
} Value;
TALLY_PAIR_TYPE(Value, tag, as, 0x40, 0x40);
typedef struct Box {
    Value content, other;
} Box;
TALLY_TYPE_OF_PAIRS(Box, Value, content, other);
typedef struct Values {
    uint64_t length;
    Value at[];
} Values;
TALLY_ARRAY_TYPE_OF_PAIRS(Values, Value, length, at);
typedef struct Slot {
    Value key, value;
    Node *node;
} Slot;
typedef struct Slots {
    Value owner;
    uint64_t length;
    Slot at[];
} Slots;
TALLY_STRUCT_ARRAY_TYPE_OF_PAIRS(Slots, Value, length, at, (key, value, node), owner);

typedef struct Two {
    Node *first, *second;
} Two;
TALLY_TYPE(Two, first, second);

static Node *global;

/* References of a type of their own need no root. */
static long references(void) {
    TALLY_REF(Node) node = TALLY_NEW_REF(Node);
    TALLY_REF(Nodes) nodes = TALLY_NEW_ARRAY_REF(Nodes, 2);
    node->value = (long)nodes->length;
    tally_safepoint();
    return node->value;
}

static long work(void) {
    Node *node = NULL;
    Nodes *nodes = NULL;
    Table *table = NULL;
    Cell *cell = NULL;
    Words *words = NULL;
    Box *box = NULL;
    Values *values = NULL;
    Slots *slots = NULL;
    WordTable *entries = NULL;
    Shared *shared = NULL;
    Two two = {NULL, NULL};
    Word word = 0;
    Value value;
    value.as.number = 1;
    value.tag = 1;
    TALLY_ROOT(node, nodes, table, cell, words, box, values, slots, entries, shared);
    TALLY_ROOT_AS(Two, two);
    TALLY_ROOT_TAGGED(Word, word);
    TALLY_ROOT_AS(Value, value);
    node = TALLY_NEW(Node);
    node->value = 5;
    nodes = TALLY_NEW_ARRAY(Nodes, 4);
    table = TALLY_NEW_ARRAY(Table, 2);
    cell = TALLY_TRY_NEW(Cell);
    words = TALLY_TRY_NEW_ARRAY(Words, 2);
    box = TALLY_NEW(Box);
    values = TALLY_NEW_ARRAY(Values, 2);
    slots = TALLY_NEW_ARRAY(Slots, 2);
    entries = TALLY_NEW_ARRAY(WordTable, 2);
    shared = TALLY_NEW(Shared);
    TALLY_NEW(Leaf);
    TALLY_NEW(File);
    TALLY_NEW(Log);
    TALLY_NEW(Ephemeron);
    TALLY_NEW_ARRAY(Text, 3);
    TALLY_NEW_ARRAY(Files, 3);
    two.first = node;
    word = (Word)(uintptr_t)node;
    value.as.object = node;
    value.tag = 0x40;
    TALLY_WRITE(node, child[1], node);
    TALLY_WRITE(shared, node, node);
    TALLY_WRITE_AT(nodes, &nodes->at[1], node);
    TALLY_WRITE(nodes, first, node);
    TALLY_WRITE(table, entries[1].value, node);
    TALLY_WRITE_TAGGED(cell, tail, word);
    TALLY_WRITE_TAGGED(words, at[1], word);
    TALLY_WRITE_PAIR(box, other, value);
    TALLY_WRITE_PAIR(values, at[1], value);
    TALLY_WRITE_PAIR(slots, at[1].key, value);
    TALLY_WRITE_PAIR(slots, owner, value);
    TALLY_WRITE(slots, at[0].node, node);
    TALLY_WRITE_TAGGED(entries, at[1].key, word);
    TALLY_WRITE(entries, at[1].node, node);
    TALLY_WRITE_GLOBAL(global, node);
    TALLY_COPY(nodes, &nodes->at[2], &nodes->at[1], 1);
    tally_object_open(nodes);
    TALLY_WRITE_OPEN(nodes, at[3], node);
    tally_object_close(nodes);
    tally_object_open(cell);
    TALLY_WRITE_OPEN_TAGGED(cell, head, word);
    tally_object_close(cell);
    TALLY_WRITE(shared, node, NULL);
    node = NULL;
    tally_collect();
    printf("%ld\n", references());
    return TALLY_READ(nodes, at[2])->value + TALLY_READ_AT(nodes, &nodes->at[3])->value + ((Node *)(uintptr_t)cell->head)->value
        + ((Node *)box->other.as.object)->value + two.first->value + table->entries[1].value->value + (long)word % 8;
}

int main(void) {
    long sum = work();
    TALLY_WRITE_GLOBAL(global, NULL);
    printf("%ld, %ld ends\n", sum, ends);
    return 0;
}
