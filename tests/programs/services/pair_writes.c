/* Writes of pairs are counted: every object dies when its last pair is overwritten, and not before. Each step ends with a collection; with
 * AT_ONCE set it ends with a safepoint, which is enough under the prompt plan. Prints the same in all ways. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

enum { NUMBER = 1, COLLECTABLE = 0x40, THING = COLLECTABLE | 3, MANY = 300 };

typedef struct Value {
    union {
        void *object;
        uint64_t number;
    } as;
    uint64_t tag;
} Value;
TALLY_PAIR_TYPE(Value, tag, as, COLLECTABLE, COLLECTABLE);

typedef struct Values {
    uint64_t count;
    Value at[];
} Values;
TALLY_ARRAY_TYPE_OF_PAIRS(Values, Value, count, at);

static long dead;
typedef struct Thing {
    long number;
} Thing;
static void bury(Thing *thing) { dead += thing->number; }
TALLY_FINALIZED_TYPE(Thing, bury);

/* Objects that are read in another way: by a function, and as two plain references. */
typedef struct Traced {
    Value content;
} Traced;
static void trace(const uint64_t *words, uint64_t n, void (*visit)(void *, void *), void *context) {
    if (n == 2 && words[1] & COLLECTABLE && words[0]) visit((void *)words[0], context);
}
static const tally_type tally_type_Traced = {
    .version = TALLY_TYPE_VERSION, .size = sizeof(Traced), .slot_kind = TALLY_SLOT_TRACE, .name = "Traced", .trace = trace};
typedef struct Plain {
    Thing *thing, *other;
} Plain;
TALLY_TYPE(Plain, thing, other);

static int collects;
static void step(const char *what) {
    if (collects)
        tally_collect();
    else
        tally_safepoint();
    printf("%s: %ld\n", what, dead);
}

static Value number(uint64_t of) { return (Value){.as.number = of, .tag = NUMBER}; }
static Value thing(void *of) { return (Value){.as.object = of, .tag = THING}; }
static __attribute__((noinline)) void put(Values *values, uint64_t at, Value value) { TALLY_WRITE_PAIR(values, at[at], value); }

static void many_references_to_one_object(Values *values) {
    TALLY_ROOT(values);
    {
        Thing *one = TALLY_NEW(Thing);
        TALLY_ROOT(one);
        one->number = 1;
        for (uint64_t i = 0; i < MANY; i++) put(values, i, thing(one));
        one = NULL;
    }
    for (uint64_t i = 1; i < MANY; i++) put(values, i, number(i));
    step("one reference is left");
    for (uint64_t i = 0; i < MANY; i++) put(values, 0, values->at[0]);
    step("written over itself");
    put(values, 1, values->at[0]);
    put(values, 0, number(0));
    step("moved");
    put(values, 1, number((uint64_t)values->at[1].as.number));
    step("its address as a number");
}

static void references_over_references(Values *values) {
    TALLY_ROOT(values);
    for (uint64_t i = 0; i < MANY; i++) {
        Thing *one = TALLY_NEW(Thing);
        TALLY_ROOT(one);
        one->number = 1;
        put(values, i % 2, thing(one));
        one = NULL;
    }
    step("all but two");
    Value kept = values->at[0];
    TALLY_ROOT_AS(Value, kept);
    put(values, 0, values->at[1]);
    put(values, 1, kept);
    kept = number(0);
    step("changed places");
    put(values, 0, values->at[1]);
    step("one of them twice");
    put(values, 0, thing(NULL));
    put(values, 1, thing(&dead)); /* not in the heap */
    step("neither");
    put(values, 1, number(1));
}

static void fresh_objects(Values *values) {
    TALLY_ROOT(values);
    Values *fresh = TALLY_NEW_ARRAY(Values, 2);
    TALLY_ROOT(fresh);
    Thing *one = TALLY_NEW(Thing);
    TALLY_ROOT(one);
    one->number = 1;
    TALLY_WRITE_PAIR(fresh, at[0], thing(one));
    TALLY_WRITE_PAIR(fresh, at[1], thing(one));
    TALLY_WRITE_PAIR(fresh, at[0], number(5));
    one = NULL;
    step("one reference of a new array");
    put(fresh, 0, number(6));
    fresh = NULL;
    step("the array, too");
}

static void immortal_objects(Values *values) {
    TALLY_ROOT(values);
    Thing *one = TALLY_NEW(Thing);
    TALLY_ROOT(one);
    one->number = 1000000;
    tally_make_immortal(one);
    for (uint64_t i = 0; i < MANY; i++) put(values, i % 8, thing(one));
    one = NULL;
    for (uint64_t i = 0; i < 8; i++) put(values, i, number(i));
    step("an immortal object stays");
}

static void other_readings(void) {
    Traced *traced = TALLY_NEW(Traced);
    TALLY_ROOT(traced);
    Plain *plain = TALLY_NEW(Plain);
    TALLY_ROOT(plain);
    Thing *one = TALLY_NEW(Thing);
    TALLY_ROOT(one);
    one->number = 1;
    TALLY_WRITE_PAIR(traced, content, thing(one));
    tally_write_pair(plain, plain, (uint64_t)one, (uint64_t)one);
    one = NULL;
    step("two objects of other types hold it");
    TALLY_WRITE_PAIR(traced, content, number((uint64_t)plain->thing));
    step("one of them");
    tally_write_pair(plain, plain, 0, 0);
    step("none");
}

int main(void) {
    collects = getenv("AT_ONCE") == NULL;
    Values *values = TALLY_NEW_ARRAY(Values, MANY);
    TALLY_ROOT(values);
    many_references_to_one_object(values);
    references_over_references(values);
    fresh_objects(values);
    immortal_objects(values);
    other_readings();
    return 0;
}
