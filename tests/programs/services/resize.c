/* A table as interpreters have it: a list that grows, and a hash table whose nodes are placed anew. Prints the same under all plans. */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Value {
    uint64_t number;
} Value;
TALLY_TYPE(Value);

typedef struct List {
    uint64_t capacity;
    Value *at[];
} List;
TALLY_ARRAY_TYPE(List, capacity, at);

typedef struct Node {
    Value *key, *value;
    uint64_t hash;
} Node;
typedef struct Nodes {
    uint64_t count;
    Node at[];
} Nodes;
TALLY_STRUCT_ARRAY_TYPE(Nodes, count, at, (key, value));

typedef struct Bytes {
    uint64_t capacity;
    char at[];
} Bytes;
TALLY_DATA_ARRAY_TYPE(Bytes, capacity, at);

typedef struct Table {
    List *list;
    Nodes *nodes;
    Bytes *text;
    uint64_t length, used, written;
} Table;
TALLY_TYPE(Table, list, nodes, text);

static Value *value(uint64_t number) {
    Value *made = TALLY_NEW(Value);
    made->number = number;
    return made;
}

static void append(Table *table, Value *item) {
    TALLY_ROOT(table, item);
    if (table->length == table->list->capacity) TALLY_RESIZE(table, list, table->length * 2 + 1);
    TALLY_WRITE(table->list, at[table->length], item);
    table->length++;
}

static Node *place(Nodes *nodes, uint64_t hash) {
    uint64_t at = hash & (nodes->count - 1);
    while (nodes->at[at].key && nodes->at[at].hash != hash) at = (at + 1) & (nodes->count - 1);
    return &nodes->at[at];
}

/* Those of which the value has gone are left out. */
static void move_nodes(const void *from, void *to, void *context) {
    const Nodes *old = from;
    Nodes *new = to;
    (void)context;
    for (uint64_t i = 0; i < old->count; i++)
        if (old->at[i].key && old->at[i].value) *place(new, old->at[i].hash) = old->at[i];
}

static void set(Table *table, uint64_t key, Value *item) {
    TALLY_ROOT(table, item);
    uint64_t hash = key * 0x9e3779b97f4a7c15u >> 20;
    Node *node = place(table->nodes, hash);
    if (!node->key) {
        if (++table->used * 4 > table->nodes->count * 3) {
            tally_rehash(table, &table->nodes, table->nodes->count * 2, move_nodes, NULL);
            uint64_t used = 1;
            for (uint64_t i = 0; i < table->nodes->count; i++) used += table->nodes->at[i].key != NULL;
            table->used = used;
        }
        Value *made = value(key);
        TALLY_ROOT(made);
        node = place(table->nodes, hash);
        tally__gcwrite(made, table->nodes, &node->key);
        node->hash = hash;
    }
    tally__gcwrite(item, table->nodes, &node->value);
}

static void write_text(Table *table, const char *words) {
    TALLY_ROOT(table);
    uint64_t length = strlen(words);
    while (table->written + length > table->text->capacity) TALLY_RESIZE(table, text, table->text->capacity * 2);
    memcpy(table->text->at + table->written, words, length);
    table->written += length;
}

int main(void) {
    Table *table = TALLY_NEW(Table);
    TALLY_ROOT(table);
    table->length = table->used = table->written = 0;
    TALLY_WRITE(table, list, TALLY_NEW_ARRAY(List, 0));
    TALLY_WRITE(table, nodes, TALLY_NEW_ARRAY(Nodes, 4));
    TALLY_WRITE(table, text, TALLY_NEW_ARRAY(Bytes, 8));
    for (uint64_t i = 0; i < 3000; i++) {
        append(table, value(i));
        set(table, i % 1000, i % 7 ? value(i) : NULL);
        if (i % 10 == 0) write_text(table, "ten ");
        if (i % 1000 == 999) tally_collect();
    }
    uint64_t sum = 0, values = 0, keys = 0;
    for (uint64_t i = 0; i < table->length; i++) sum += table->list->at[i]->number;
    for (uint64_t i = 0; i < table->nodes->count; i++) {
        Node *node = &table->nodes->at[i];
        keys += node->key != NULL;
        if (node->value) values += node->value->number;
    }
    printf("%lu elements, sum %lu, values %lu, %s, %lu bytes\n", table->length, sum, values, keys < 1001 ? "keys" : "too many",
           table->written);
    TALLY_RESIZE(table, list, 10);
    tally_collect();
    uint64_t objects = tally_count_of_type(&tally_type_Value) - keys;
    for (uint64_t i = 0; i < table->nodes->count; i++) objects -= table->nodes->at[i].value != NULL;
    printf("%lu capacity, %s\n", table->list->capacity, objects <= 10 ? "the others have died" : "too many");
    printf("%d\n", tally_try_resize(table, &table->list, UINT64_MAX / 4));
    printf("%lu %lu\n", table->list->capacity, table->list->at[9]->number);
    return 0;
}
