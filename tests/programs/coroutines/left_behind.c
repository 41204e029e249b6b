/* Generators that are made, run a little and are left: sixty thousand, or as many as the argument says, of which one is needed at a time. Their
 * stacks come back while the program runs, though it makes hardly any objects. Prints nothing but what is too much memory. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>
#include "../resident.h"

typedef struct Item { long value; } Item;
TALLY_ACYCLIC_TYPE(Item);

static void *items(void *value) {
    (void)value;
    Item *item = NULL;
    TALLY_ROOT(item);
    for (long i = 0; i < 3; i++) {
        item = TALLY_NEW(Item);
        item->value = i;
        tally_stack_switch(NULL, item);
    }
    return NULL;
}

int main(int argc, char **argv) {
    const long generators = argc > 1 ? atol(argv[1]) : 60000;
    void *generator = NULL;
    Item *item = NULL;
    TALLY_ROOT(generator, item);
    long before = resident_kib(), most = 0;
    for (long i = 0; i < generators; i++) {
        generator = tally_stack_new(items, 16384);
        if (!generator) return puts("no memory"), 1;
        for (long k = 0; k < 2; k++) item = tally_stack_switch(generator, NULL);
        if (item->value != 1) return puts("another item"), 1;
        if (i % 1024 == 0 && resident_kib() > most) most = resident_kib();
    }
    long mib = (most - before) / 1024;
    if (mib > 32) printf("%ld MiB\n", mib);
    return 0;
}
