/* Stacks of a mebibyte that are left behind, in a process with room for some: those of dead coroutines come back before a new one is refused. */
#include <stdio.h>
#include <sys/resource.h>
#include <tally_gc.h>
typedef struct Cell { struct Cell *next; char bytes[1016]; } Cell;
TALLY_TYPE(Cell, next);

static void *entry(void *value) {
    tally_stack_switch(NULL, NULL);
    return value;
}
int main(void) {
    Cell *alive = NULL;
    void *kept = NULL;
    TALLY_ROOT(alive, kept);
    for (long i = 0; i < 16 * 1024; i++) { /* so that 16 MiB may be allocated until the next collection */
        Cell *cell = TALLY_NEW(Cell);
        TALLY_WRITE(cell, next, alive);
        alive = cell;
    }
    unsigned long pages = 0;
    FILE *size = fopen("/proc/self/statm", "r");
    if (!size || fscanf(size, "%lu", &pages) != 1) return 1;
    fclose(size);
    struct rlimit room = {0, 0};
    getrlimit(RLIMIT_AS, &room);
    room.rlim_cur = pages * 4096 + (256ul << 20);
    if (setrlimit(RLIMIT_AS, &room)) return 1;
    long made = 0;
    for (; made < 2000; made++) {
        kept = tally_stack_new(entry, 1000000);
        if (!kept) break;
        tally_stack_switch(kept, NULL);
    }
    printf("%ld\n", made);
    if (tally_stack_new(entry, 1ul << 40)) return 1;
}
