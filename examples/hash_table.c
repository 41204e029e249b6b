/* A hash table under random writes: open addressing in an array of structs, growing and shrinking as it goes.
 *
 * Shows an array whose elements are structs with references among other words, writes to elements of an old and large object (the
 * barrier logs the piece of the array that is written to, not all of it), and rehashing into a new table while the old one becomes
 * garbage. A plain C array keeps book of what the table ought to hold; the two are compared at the end.
 *
 *     tally run examples/hash_table.c
 */
#include <stdio.h>
#include <tally_gc.h>

enum { KEYS = 1 << 14, OPERATIONS = 2000000 };

typedef struct Key {
    uint64_t number;
} Key;
TALLY_ACYCLIC_TYPE(Key);

typedef struct Item {
    struct Item *previous; /* the value that this one replaced, and no further back */
    uint64_t version;
} Item;
TALLY_TYPE(Item, previous);

typedef struct Slot {
    uint64_t hash;
    Key *key; /* null: free */
    Item *item;
} Slot;

typedef struct Table {
    uint64_t capacity; /* a power of two */
    Slot slots[];
} Table;
TALLY_STRUCT_ARRAY_TYPE(Table, capacity, slots, (key, item));

typedef struct Map {
    Table *table;
    uint64_t entries;
} Map;
TALLY_TYPE(Map, table);

static uint64_t hash_of(uint64_t number) { return (number ^ (number >> 7)) * 0x9E3779B97F4A7C15u >> 13; }

/* The slot that holds the number, or the free one where it belongs. */
static uint64_t find(Table *table, uint64_t hash, uint64_t number) {
    uint64_t mask = table->capacity - 1, i = hash & mask;
    while (table->slots[i].key && table->slots[i].key->number != number) i = (i + 1) & mask;
    return i;
}

static void place(Table *table, uint64_t i, uint64_t hash, Key *key, Item *item) {
    table->slots[i].hash = hash;
    TALLY_WRITE(table, slots[i].key, key);
    TALLY_WRITE(table, slots[i].item, item);
}

static void resize(Map *map, uint64_t capacity) {
    TALLY_ROOT(map);
    Table *old = map->table, *table = TALLY_NEW_ARRAY(Table, capacity);
    TALLY_ROOT(old, table);
    for (uint64_t i = 0; old && i < old->capacity; i++) {
        Slot *slot = &old->slots[i];
        if (slot->key) place(table, find(table, slot->hash, slot->key->number), slot->hash, slot->key, slot->item);
    }
    TALLY_WRITE(map, table, table);
}

static void put(Map *map, uint64_t number, uint64_t version) {
    TALLY_ROOT(map);
    Item *item = TALLY_NEW(Item);
    TALLY_ROOT(item);
    item->version = version;
    if (map->entries * 4 >= map->table->capacity * 3) resize(map, map->table->capacity * 2);

    uint64_t hash = hash_of(number), i = find(map->table, hash, number);
    Slot *slot = &map->table->slots[i];
    if (slot->key) {
        Item *replaced = slot->item;
        TALLY_WRITE(replaced, previous, NULL);
        TALLY_WRITE(item, previous, replaced);
        TALLY_WRITE(map->table, slots[i].item, item);
    } else {
        Key *key = TALLY_NEW(Key);
        key->number = number;
        place(map->table, i, hash, key, item);
        map->entries++;
    }
}

/* Removes the number; later entries of the same run move up, so that no tombstones are needed. */
static void take_out(Map *map, uint64_t number) {
    TALLY_ROOT(map);
    uint64_t hash = hash_of(number), i = find(map->table, hash, number);
    Table *table = map->table;
    uint64_t mask = table->capacity - 1;
    TALLY_ROOT(table);
    if (!table->slots[i].key) return;
    for (uint64_t j = (i + 1) & mask; table->slots[j].key; j = (j + 1) & mask) {
        uint64_t home = table->slots[j].hash & mask;
        if (((j - home) & mask) >= ((j - i) & mask)) {
            place(table, i, table->slots[j].hash, table->slots[j].key, table->slots[j].item);
            i = j;
        }
    }
    place(table, i, 0, NULL, NULL);
    map->entries--;
    if (table->capacity > 64 && map->entries * 8 < table->capacity) resize(map, table->capacity / 2);
}

int main(void) {
    static uint64_t expected[KEYS]; /* the version of each number, 0 = not in the map */
    Map *map = TALLY_NEW(Map);
    TALLY_ROOT(map);
    map->entries = 0;
    resize(map, 64);

    uint32_t random = 88172645;
    for (uint64_t operation = 1; operation <= OPERATIONS; operation++) {
        random = random * 1664525u + 1013904223u;
        uint64_t number = random >> 18;
        random = random * 1664525u + 1013904223u;
        int filling = operation / (OPERATIONS / 4) % 2 == 0; /* the map grows, shrinks, grows, shrinks */
        if ((random >> 28) < (filling ? 12 : 4)) {
            put(map, number, operation);
            expected[number] = operation;
        } else {
            take_out(map, number);
            expected[number] = 0;
        }
    }

    uint64_t wrong = 0, sum = 0, present = 0;
    for (uint64_t number = 0; number < KEYS; number++) {
        uint64_t hash = hash_of(number), i = find(map->table, hash, number);
        Slot *slot = &map->table->slots[i];
        uint64_t version = slot->key ? slot->item->version : 0;
        wrong += version != expected[number];
        present += version != 0;
        sum += version;
    }
    printf("%lu entries (%lu found), capacity %lu, sum of versions %lu, %lu wrong\n", map->entries, present,
           map->table->capacity, sum, wrong);
}
