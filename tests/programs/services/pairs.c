/* Values of a tag and a word, as Lua has them: fields, tables and roots of pairs without a trace function. Prints the same under all plans. */
#include <stdio.h>
#include <tally_gc.h>

enum { NIL, NUMBER, COLLECTABLE = 0x40, TABLE = COLLECTABLE | 5, BOX = COLLECTABLE | 7 };

typedef struct Value {
    union {
        void *object;
        uint64_t number;
    } as;
    uint8_t tag;
} Value;
TALLY_PAIR_TYPE(Value, tag, as, COLLECTABLE, COLLECTABLE);

typedef struct Box {
    uint64_t count;
    Value content, other;
} Box;
TALLY_TYPE_OF_PAIRS(Box, Value, content, other);

typedef struct Values {
    uint64_t capacity;
    Value at[];
} Values;
TALLY_ARRAY_TYPE_OF_PAIRS(Values, Value, capacity, at);

typedef struct Node {
    Value key, value;
    uint64_t next;
} Node;
typedef struct Nodes {
    Value owner;
    uint64_t capacity;
    Node at[];
} Nodes;
TALLY_STRUCT_ARRAY_TYPE_OF_PAIRS(Nodes, Value, capacity, at, (key, value), owner);

typedef struct Table {
    Values *list;
    Nodes *nodes;
    uint64_t length;
} Table;
TALLY_TYPE(Table, list, nodes);

static Value number(uint64_t of) { return (Value){.as.number = of, .tag = NUMBER}; }

static Value box(Value content) {
    Value result = {.tag = NIL};
    TALLY_ROOT_AS(Value, content, result);
    Box *made = TALLY_NEW(Box);
    TALLY_ROOT(made);
    made->count = 1;
    TALLY_WRITE_PAIR(made, content, content);
    TALLY_WRITE_PAIR(made, other, number((uintptr_t)made)); /* the address as a number is no reference */
    result = (Value){.as.object = made, .tag = BOX};
    return result;
}

static void append(Table *table, Value value) {
    TALLY_ROOT(table);
    TALLY_ROOT_AS(Value, value);
    if (table->length == table->list->capacity) TALLY_RESIZE(table, list, table->length * 2);
    TALLY_WRITE_PAIR(table->list, at[table->length], value);
    table->length++;
}

int main(void) {
    Table *table = TALLY_NEW(Table);
    Value value = number(0);
    TALLY_ROOT(table);
    TALLY_ROOT_AS(Value, value);
    table->length = 0;
    TALLY_WRITE(table, list, TALLY_NEW_ARRAY(Values, 1));
    TALLY_WRITE(table, nodes, TALLY_NEW_ARRAY(Nodes, 64));
    for (uint64_t i = 0; i < 2000; i++) {
        value = i % 3 ? box(number(i)) : number(i);
        if (i % 5 == 0) value = box(value);
        append(table, value);
        TALLY_WRITE_PAIR(table->nodes, at[i % 64].key, value);
        TALLY_WRITE_PAIR(table->nodes, at[i % 64].value, i % 2 ? number(i) : ((Value){.as.object = table, .tag = TABLE}));
        if (i % 500 == 499) tally_collect();
    }
    value = number(1);
    uint64_t numbers = 0, boxes = 0;
    for (uint64_t i = 0; i < table->length; i++) {
        Value at = table->list->at[i];
        for (; at.tag == BOX; at = ((Box *)at.as.object)->content) boxes++;
        numbers += at.as.number;
    }
    printf("%lu numbers, sum %lu, %lu boxes\n", table->length, numbers, boxes);
    tally_collect();
    printf("%lu boxes are alive\n", tally_count_of_type(&tally_type_Box));
    for (uint64_t i = 0; i < table->length; i++)
        if (i % 2) TALLY_WRITE_PAIR(table->list, at[i], number(i));
    for (uint64_t i = 0; i < 64; i++) TALLY_WRITE_PAIR(table->nodes, at[i].key, number(i));
    tally_collect();
    printf("%lu boxes are alive\n", tally_count_of_type(&tally_type_Box));
    TALLY_WRITE_PAIR(table->nodes, owner, ((Value){.as.object = table, .tag = TABLE}));
    table = NULL;
    tally_collect();
    printf("%lu tables are alive\n", tally_count_of_type(&tally_type_Table));
    return 0;
}
