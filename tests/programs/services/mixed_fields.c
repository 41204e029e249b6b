/* Plain references beside values with tags in one type, as a port of Lua has them: upvalues, nodes of a table, a table with a metatable; the
 * same with NaN boxes and with low bits. Each step ends with a collection; with AT_ONCE set it ends with a safepoint, which is enough under
 * the prompt plan. Prints the same in all ways. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

enum { NUMBER = 1, COLLECTABLE = 0x40, THING = COLLECTABLE | 3, MANY = 300 };

/* ---- Pairs ---- */
typedef struct Value {
    union {
        void *object;
        uint64_t number;
    } as;
    uint8_t tag;
} Value;
TALLY_PAIR_TYPE(Value, tag, as, COLLECTABLE, COLLECTABLE);

typedef struct UpVal {
    Value closed;
    struct UpVal *next;
} UpVal;
TALLY_TYPE_OF_PAIRS(UpVal, Value, closed, next);

typedef struct Node {
    Value key, value;
    struct Thing *mark;
    uint64_t hash;
} Node;
typedef struct Table {
    struct Table *metatable;
    uint64_t n;
    Node at[];
} Table;
TALLY_STRUCT_ARRAY_TYPE_OF_PAIRS(Table, Value, n, at, (key, value, mark), metatable);

typedef struct Values {
    struct Table *metatable;
    uint64_t n;
    Value at[];
} Values;
TALLY_ARRAY_TYPE_OF_PAIRS(Values, Value, n, at, metatable);

typedef struct Closure {
    Value name;
    uint64_t n;
    UpVal *at[];
} Closure;
TALLY_ARRAY_TYPE_OF_PAIRS(Closure, Value, n, at, name);

/* ---- Words: NaN boxes, of which a plain pointer is none, and low bits ---- */
typedef uint64_t Box;
TALLY_TAGGED_TYPE(Box, UINT64_C(0xffff) << 48, UINT64_C(0xfffc) << 48, (UINT64_C(1) << 48) - 1);
typedef struct Cell {
    struct Cell *next;
    Box head;
    struct Thing *mark;
} Cell;
TALLY_TYPE_TAGGED(Cell, Box, next, head, mark);
typedef struct Slot {
    Box key;
    struct Thing *value;
} Slot;
typedef struct Map {
    struct Cell *owner;
    uint64_t n;
    Slot at[];
} Map;
TALLY_STRUCT_ARRAY_TYPE_TAGGED(Map, Box, n, at, (key, value), owner);

static long dead;
typedef struct Thing {
    long number;
} Thing;
static void bury(Thing *thing) { dead += thing->number; }
TALLY_FINALIZED_TYPE(Thing, bury);

static int collects;
static __attribute__((noinline)) void step(const char *what) {
    if (collects)
        tally_collect();
    else
        tally_safepoint();
    printf("%s: %ld\n", what, dead);
}
static __attribute__((noinline)) Thing *make(long number) {
    Thing *made = TALLY_NEW(Thing);
    made->number = number;
    return made;
}
static Value number(uint64_t of) { return (Value){.as.number = of, .tag = NUMBER}; }
static Value thing(void *of) { return (Value){.as.object = of, .tag = THING}; }
static Box box(void *of) { return (UINT64_C(0xfffc) << 48) | (uint64_t)(uintptr_t)of; }

static __attribute__((noinline)) UpVal *closed(Value value, UpVal *next) {
    TALLY_ROOT(next);
    TALLY_ROOT_AS(Value, value);
    UpVal *made = TALLY_NEW(UpVal);
    TALLY_WRITE_PAIR(made, closed, value);
    TALLY_WRITE(made, next, next);
    return made;
}

static __attribute__((noinline)) void upvalues(void) {
    UpVal *list = NULL;
    TALLY_ROOT(list);
    for (int i = 0; i < MANY; i++) list = closed(i % 3 ? thing(make(1)) : number((uint64_t)i), list);
    step("all upvalues hold what they closed over");
    for (UpVal *at = list; at && at->next; at = at->next) TALLY_WRITE(at, next, at->next->next);
    step("every second one is left");
    TALLY_WRITE_PAIR(list, closed, thing(list->next));
    TALLY_WRITE(list, next, NULL);
    step("the rest hangs on a value");
    TALLY_WRITE_PAIR(list, closed, number((uintptr_t)list->closed.as.object));
    step("whose tag is a number's now");
    UpVal at_hand = {.closed = thing(make(1000)), .next = list};
    TALLY_ROOT_AS(UpVal, at_hand);
    list = NULL;
    step("a root of a pair and a reference");
    at_hand.closed = number(1);
    step("its pair lets go");
    at_hand.closed = thing(make(2000));
    at_hand.next = NULL;
    step("its reference lets go");
    printf("%ld is there\n", ((Thing *)at_hand.closed.as.object)->number);
    at_hand.closed.tag = NUMBER;
    step("the tag alone");
}

static __attribute__((noinline)) void tables(void) {
    Table *table = TALLY_NEW_ARRAY(Table, 4);
    TALLY_ROOT(table);
    Values *holder = TALLY_NEW_ARRAY(Values, 2);
    TALLY_ROOT(holder);
    TALLY_WRITE(holder, metatable, table);
    TALLY_RESIZE(holder, metatable, MANY);
    table = holder->metatable;
    for (uint64_t i = 0; i < table->n; i++) {
        TALLY_WRITE_PAIR(table, at[i].key, i % 2 ? thing(make(10)) : number(i));
        TALLY_WRITE_PAIR(table, at[i].value, i % 2 ? number(i) : thing(make(100)));
        TALLY_WRITE(table, at[i].mark, i % 5 ? NULL : make(10000));
    }
    step("a table of nodes");
    for (uint64_t i = 0; i < table->n; i += 3) {
        TALLY_WRITE_PAIR(table, at[i].key, number(i));
        TALLY_WRITE(table, at[i].mark, table->at[(i + 5) % table->n].mark);
    }
    step("overwritten");
    TALLY_WRITE(table, metatable, table);
    TALLY_WRITE_PAIR(holder, at[0], thing(table));
    TALLY_COPY(table, &table->at[1].key, &table->at[0].key, 2);
    step("two words of a node over those of another");
    TALLY_WRITE(table, metatable, NULL);
    table = NULL;
    TALLY_RESIZE(holder, metatable, 3);
    TALLY_WRITE_PAIR(holder, at[0], number(0));
    step("three nodes are left");
    printf("%lu nodes, %ld is there\n", holder->metatable->n, ((Thing *)holder->metatable->at[2].value.as.object)->number);
    holder = NULL;
    step("no table");
}

static __attribute__((noinline)) void closures(void) {
    Closure *closure = TALLY_NEW_ARRAY(Closure, 3);
    TALLY_ROOT(closure);
    TALLY_WRITE_PAIR(closure, name, thing(make(7)));
    for (uint64_t i = 0; i < 3; i++) TALLY_WRITE(closure, at[i], closed(thing(make(1)), NULL));
    step("a closure of three");
    TALLY_WRITE(closure, at[1], closure->at[0]);
    step("of two");
    printf("%ld is there\n", ((Thing *)closure->at[2]->closed.as.object)->number);
    TALLY_WRITE_PAIR(closure, name, number(0));
    closure = NULL;
    step("no closure");
}

static __attribute__((noinline)) void words(void) {
    Cell *cell = TALLY_NEW(Cell);
    TALLY_ROOT(cell);
    TALLY_WRITE_TAGGED(cell, head, box(make(1)));
    TALLY_WRITE(cell, mark, make(10));
    TALLY_WRITE(cell, next, TALLY_NEW(Cell));
    TALLY_WRITE_TAGGED(cell->next, head, cell->head);
    step("boxes and references");
    TALLY_WRITE_TAGGED(cell, head, (uint64_t)(uintptr_t)cell->mark);
    step("a bare address is no box");
    TALLY_WRITE(cell, mark, NULL);
    step("and keeps nothing");
    Map *map = TALLY_NEW_ARRAY(Map, MANY);
    TALLY_ROOT(map);
    TALLY_WRITE(map, owner, cell);
    cell = NULL;
    for (uint64_t i = 0; i < map->n; i++) {
        TALLY_WRITE_TAGGED(map, at[i].key, i % 2 ? box(make(100)) : i);
        TALLY_WRITE(map, at[i].value, make(1000));
    }
    step("a map");
    for (uint64_t i = 1; i < map->n; i += 2) {
        TALLY_WRITE(map, at[i - 1].value, map->at[i].value);
        TALLY_WRITE_TAGGED(map, at[i - 1].key, map->at[i].key);
        TALLY_WRITE_TAGGED(map, at[i].key, 0);
    }
    step("moved");
    printf("%ld is there\n", map->at[0].value->number);
    map = NULL;
    step("no map");
}

int main(void) {
    collects = getenv("AT_ONCE") == NULL;
    upvalues();
    tables();
    closures();
    words();
    return 0;
}
