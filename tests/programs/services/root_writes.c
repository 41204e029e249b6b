/* Stores to roots of few words are counted at the next safepoint: structs of references, pairs, arrays of pairs, and more of them than are
 * settled inline. Every object dies when the last root lets go of it, and not before. Each step ends with a collection; with AT_ONCE set it
 * ends with a safepoint, which is enough under the prompt plan. Prints the same in all ways. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

enum { NUMBER = 1, COLLECTABLE = 0x40, THING = COLLECTABLE | 3, OTHER = COLLECTABLE | 4 };

typedef struct Value {
    union {
        void *object;
        uint64_t number;
    } as;
    uint64_t tag;
} Value;
TALLY_PAIR_TYPE(Value, tag, as, COLLECTABLE, COLLECTABLE);
typedef struct Values {
    Value first;
    long between;
    Value second;
} Values;
TALLY_TYPE_OF_PAIRS(Values, Value, first, second);
typedef struct Many {
    Value at[6];
} Many;
TALLY_TYPE_OF_PAIRS(Many, Value, at[0], at[1], at[2], at[3], at[4], at[5]);

static long dead;
typedef struct Thing {
    long number;
} Thing;
static void bury(Thing *thing) { dead += thing->number; }
TALLY_FINALIZED_TYPE(Thing, bury);
typedef struct Two {
    Thing *first;
    long between;
    Thing *second;
} Two;
TALLY_TYPE(Two, first, second);

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
static Value thing(long number) { return (Value){.as.object = make(number), .tag = THING}; }
static long number_of(Value value) { return ((Thing *)value.as.object)->number; }

static __attribute__((noinline)) void a_pair(void) {
    Value value = number(7);
    TALLY_ROOT_AS(Value, value);
    step("a number");
    value = thing(1);
    step("an object over a number");
    value.tag = OTHER;
    step("another tag of an object");
    value = thing(10);
    step("an object over an object");
    value.tag = NUMBER; /* the word stays, and is an address no more */
    step("the tag of a number over an object");
    value = thing(100);
    Value copy = value;
    TALLY_ROOT_AS(Value, copy);
    step("the same object twice");
    value = number((uintptr_t)copy.as.object);
    step("its address as a number");
    printf("%ld is there\n", number_of(copy));
    copy = (Value){.as.object = NULL, .tag = THING};
    step("null with the tag of an object");
    value = thing(1000);
}

static __attribute__((noinline)) void exchange(Value *one, Value *other) {
    Value kept = *one;
    *one = *other;
    *other = kept;
}
static __attribute__((noinline)) void pairs_by_address(void) {
    Values values = {number(1), 5, number(2)};
    TALLY_ROOT_AS(Values, values);
    values.first = thing(1);
    values.second = thing(10);
    step("two objects");
    exchange(&values.first, &values.second);
    step("exchanged");
    values.first = number(3);
    step("the first, which came from the second");
    printf("%ld is there, and %ld\n", number_of(values.second), values.between);
}

static __attribute__((noinline)) void two_references(void) {
    Two two = {NULL, 6, NULL};
    TALLY_ROOT_AS(Two, two);
    two.first = make(1);
    two.second = make(10);
    step("two references");
    two.first = two.second;
    step("the second over the first");
    two.second = NULL;
    step("null over the second");
    printf("%ld is there, and %ld\n", two.first->number, two.between);
}

static __attribute__((noinline)) void many(void) {
    Many all = {{number(0), number(1), number(2), number(3), number(4), number(5)}};
    TALLY_ROOT_AS(Many, all);
    for (long i = 0, number = 1; i < 6; i++, number *= 10) all.at[i] = thing(number);
    step("six objects");
    for (int i = 0; i < 6; i += 2) all.at[i] = number(i);
    step("three of them");
    printf("%ld are there\n", number_of(all.at[1]) + number_of(all.at[3]) + number_of(all.at[5]));
}

static __attribute__((noinline)) long in_a_loop(void) {
    Value last = number(0);
    TALLY_ROOT_AS(Value, last);
    long before = dead;
    for (long i = 0; i < 1000; i++) last = i % 3 ? thing(1) : number(i);
    step("many in a loop");
    return dead - before;
}

int main(void) {
    collects = !getenv("AT_ONCE");
    a_pair();
    step("left");
    pairs_by_address();
    step("left");
    two_references();
    step("left");
    many();
    step("left");
    printf("%ld\n", in_a_loop());
}
