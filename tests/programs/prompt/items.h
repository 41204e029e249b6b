/* Items of lists, which print their numbers when they die. */
#ifndef ITEMS_H
#define ITEMS_H

#include <stdio.h>
#include <tally_gc.h>

typedef struct Item { struct Item *next; long number; } Item;
static long died __attribute__((unused));
static void leave(Item *item) {
    died++;
    printf("%ld ", item->number);
    item->number = -1;
}
TALLY_FINALIZED_TYPE(Item, leave, next);

static __attribute__((noinline)) Item *item(Item *next, long number) {
    TALLY_ROOT(next);
    Item *item = TALLY_NEW(Item);
    TALLY_WRITE(item, next, next);
    item->number = number;
    return item;
}

#endif
