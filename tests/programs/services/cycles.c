/* Families, rings and arrays that hold their owners: cycles of which `--log=cycles` says what closes them. They live through a collection, so
 * that all plans look at them when they are dead. A list that ends hangs on each family: it is no cycle. */
#include <stdlib.h>
#include <tally_gc.h>

struct Child;
struct Parent;
typedef struct Children {
    uint64_t count;
    struct Child *at[];
} Children;
TALLY_ARRAY_TYPE(Children, count, at);
typedef struct Item {
    struct Item *next;
} Item;
TALLY_TYPE(Item, next);
typedef struct Parent {
    struct Parent *next;
    Children *children;
    Item *items;
} Parent;
TALLY_TYPE(Parent, next, children, items);
typedef struct Child {
    Parent *parent;
} Child;
TALLY_TYPE(Child, parent);
typedef struct Ring {
    struct Ring *next;
    struct Ring *before;
} Ring;
TALLY_TYPE(Ring, next, before);

enum { FAMILIES = 60, CHILDREN = 3, ITEMS = 20, RING = 5 };

static Parent *family(void) {
    Parent *parent = NULL;
    Children *children = NULL;
    Child *child = NULL;
    Item *item = NULL;
    TALLY_ROOT(parent, children, child, item);
    parent = TALLY_NEW(Parent);
    children = TALLY_NEW_ARRAY(Children, CHILDREN);
    TALLY_WRITE(parent, children, children);
    for (int i = 0; i < CHILDREN; i++) {
        child = TALLY_NEW(Child);
        TALLY_WRITE(child, parent, parent);
        TALLY_WRITE(children, at[i], child);
    }
    for (int i = 0; i < ITEMS; i++) {
        item = TALLY_NEW(Item);
        TALLY_WRITE(item, next, parent->items);
        TALLY_WRITE(parent, items, item);
    }
    return parent;
}

static Ring *ring(void) {
    Ring *first = NULL, *last = NULL, *link = NULL;
    TALLY_ROOT(first, last, link);
    first = last = TALLY_NEW(Ring);
    for (int i = 1; i < RING; i++) {
        link = TALLY_NEW(Ring);
        TALLY_WRITE(last, next, link);
        TALLY_WRITE(link, before, last);
        last = link;
    }
    TALLY_WRITE(last, next, first);
    TALLY_WRITE(first, before, last);
    return first;
}

int main(void) {
    Parent *families = NULL, *parent = NULL;
    Ring *link = NULL;
    TALLY_ROOT(families, parent, link);
    for (int i = 0; i < FAMILIES; i++) {
        parent = family();
        TALLY_WRITE(parent, next, families);
        families = parent;
    }
    link = ring();
    parent = NULL;
    tally_collect();
    if (!families || !link) return EXIT_FAILURE;
    families = NULL;
    link = NULL;
    tally_collect();
    return EXIT_SUCCESS;
}
