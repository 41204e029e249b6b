/* Plain references and values with tags in one object: each is written in its own way, and numbers are stored plainly. */
#include "../values.h"

typedef struct Entry {
    Value key, value;
    Node *next;
    long hash;
} Entry;
typedef struct Table {
    Node *owner;
    uint64_t length;
    Entry at[];
} Table;
TALLY_STRUCT_ARRAY_TYPE_OF_PAIRS(Table, Value, length, at, (key, value, next), owner);

int main(void) {
    Table *table = TALLY_NEW_ARRAY(Table, 4);
    TALLY_ROOT(table);
    TALLY_WRITE(table, owner, make(1));
    work();
    for (long i = 0; i < 4; i++) {
        table->at[i].key.as.number = i;
        table->at[i].key.tag = NUMBER;
        table->at[i].hash = i * 7;
        TALLY_WRITE(table, at[i].next, make(i));
        Value value = {.as.object = make(i + 10), .tag = NODE};
        TALLY_WRITE_PAIR(table, at[i].value, value);
    }
    work();
    tally_copy_refs(table, &table->at[1], &table->at[0], 5);
    TALLY_WRITE(table, at[2].next, NULL);
    Value number = {.as.number = 7, .tag = NUMBER};
    TALLY_WRITE_PAIR(table, at[3].value, number);
    table->at[3].value.as.number++;
    work();
    printf("%ld %ld\n", table->at[1].next->value, ((Node *)table->at[1].value.as.object)->value);
}
