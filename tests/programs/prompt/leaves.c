/* Functions that only write, parameters that a variable of the caller holds, and loops with polls: objects die where they would if each
 * variable counted at once, and what a variable holds lives. Prints what died, in order. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>
#include "items.h"

typedef struct Holder { Item *first, *second; } Holder;
TALLY_TYPE(Holder, first, second);
typedef struct Filler { struct Filler *none; long words[14]; } Filler;
TALLY_ACYCLIC_TYPE(Filler, none);

static __attribute__((noinline)) void churn(void) {
    for (int i = 0; i < 200; i++) TALLY_NEW(Filler)->words[0] = 7;
}

static void expect(long found, long wanted) {
    if (found != wanted) printf("[%ld instead of %ld] ", found, wanted);
}

static __attribute__((noinline)) Holder *holder(long number) {
    Holder *holder = TALLY_NEW(Holder);
    TALLY_ROOT(holder);
    TALLY_WRITE(holder, second, item(NULL, number + 1));
    TALLY_WRITE(holder, first, item(holder->second, number));
    TALLY_WRITE(holder, second, NULL);
    return holder;
}

/* Leaves: they are only called, write, and reach nothing else. */
static __attribute__((noinline)) void clear(Holder *holder) {
    TALLY_WRITE(holder, first, NULL);
}
static __attribute__((noinline)) void clear_both(Holder *holder) {
    TALLY_ROOT(holder);
    if (!holder) abort();
    clear(holder);
    TALLY_WRITE(holder, second, NULL);
}
static __attribute__((noinline)) Item *take(Holder *holder) {
    Item *first = holder->first;
    TALLY_ROOT(first);
    TALLY_WRITE(holder, first, first->next);
    return first;
}
static __attribute__((noinline)) long *place_of_number(Holder *holder) {
    long *number = &holder->first->number;
    TALLY_WRITE(holder, first, NULL);
    return number;
}
static __attribute__((noinline)) void put(Holder *holder, Item *item) {
    TALLY_WRITE(holder, second, item);
}

static __attribute__((noinline)) void dies_behind_the_leaf(void) {
    Holder *all = holder(10);
    TALLY_ROOT(all);
    long before = died;
    clear(all);
    expect(died - before, 2); /* nothing was called since */
    printf("cleared ");
}

static __attribute__((noinline)) void variable_keeps_it(void) {
    Holder *all = holder(20);
    TALLY_ROOT(all);
    Item *kept = all->first;
    TALLY_ROOT(kept);
    clear_both(all);
    expect(kept->number, 20);
    churn();
    expect(kept->number, 20);
    kept = kept->next;
    printf("moved on ");
    churn();
    expect(kept->number, 21);
}

static __attribute__((noinline)) void results_in_flight(void) {
    Holder *all = holder(30);
    TALLY_ROOT(all);
    put(all, take(all));
    churn();
    expect(all->second->number, 30);
    long *number = place_of_number(all);
    expect(*number, 31);
    churn();
    printf("results ");
}

/* A loop that meets polls only. */
static __attribute__((noinline)) long loop_with_polls(Holder *all) {
    Item *first = NULL;
    TALLY_ROOT(all, first);
    long sum = 0;
    while (all->first) {
        first = all->first;
        TALLY_WRITE(all, first, first->next);
        TALLY_WRITE(all, second, NULL);
        sum += first->number;
    }
    return sum;
}

/* `kept` is held by a variable of each caller: here it is no root. */
static __attribute__((noinline)) long held(Holder *all, Item *kept, int depth) {
    TALLY_ROOT(all, kept);
    clear_both(all);
    churn();
    expect(kept->number, 50);
    return depth ? held(all, kept, depth - 1) + kept->number : kept->number;
}

/* Here one caller has it from a field, which is overwritten. */
static __attribute__((noinline)) long not_held(Holder *all, Item *kept) {
    TALLY_ROOT(all, kept);
    clear_both(all);
    churn();
    return kept->number;
}

/* The variable that held it is overwritten by its address. */
static __attribute__((noinline)) long lent(Item **place, Item *kept) {
    TALLY_ROOT(kept);
    *place = NULL;
    churn();
    return kept->number;
}

/* The recursion becomes a loop, whose variable changes. */
static __attribute__((noinline)) long walk(Holder *all, Item *at, long sum) {
    TALLY_ROOT(all, at);
    clear_both(all);
    churn();
    sum += at->number;
    return at->next ? walk(all, at->next, sum) : sum;
}

/* One of two ways has a safepoint; then the variable is overwritten. */
static __attribute__((noinline)) long ways(Holder *all) {
    TALLY_ROOT(all);
    Item *at = all->first;
    TALLY_ROOT(at);
    clear_both(all);
    long sum = 0;
    while (at) {
        if (at->number & 1) churn();
        sum += at->number;
        at = at->next;
    }
    return sum;
}

int main(void) {
    Holder *all = NULL;
    Item *kept = NULL, *lends = NULL;
    TALLY_ROOT(all, kept, lends);
    dies_behind_the_leaf();
    variable_keeps_it();
    results_in_flight();
    printf("\n");
    all = holder(40);
    expect(loop_with_polls(all), 81);
    printf("loop ");
    all = holder(50);
    kept = all->first;
    expect(held(all, kept, 3), 200);
    kept = NULL;
    printf("held\n");
    all = holder(60);
    expect(not_held(all, all->first), 60);
    all = holder(62);
    kept = all->first;
    expect(not_held(all, kept), 62);
    kept = NULL;
    printf("not held ");
    lends = item(NULL, 70);
    expect(lent(&lends, lends), 70);
    printf("lent\n");
    all = holder(80);
    expect(walk(all, all->first, 0), 161);
    printf("walk ");
    all = holder(90);
    expect(ways(all), 181);
    printf("ways\n");
    return 0;
}
