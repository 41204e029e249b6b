/* The heap has a limit, which the objects of coroutines reach: the next one is null, and when the others are gone there is room again. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Cell { struct Cell *next; void *stack; } Cell;
TALLY_TYPE(Cell, next, stack);

static void *task(void *value) { return value; }

int main(void) {
    Cell *list = NULL;
    void *stack = NULL;
    TALLY_ROOT(list, stack);
    tally_set_limits(0, 1 << 20);
    long made = 0;
    while ((stack = tally_stack_new(task, 16384))) {
        Cell *cell = TALLY_TRY_NEW(Cell);
        if (!cell) break;
        TALLY_WRITE(cell, next, list);
        TALLY_WRITE(cell, stack, stack);
        list = cell;
        made++;
    }
    list = NULL;
    stack = NULL;
    tally_collect();
    stack = tally_stack_new(task, 16384);
    printf("%d %d %s\n", made > 1000, stack != NULL, (char *)tally_stack_switch(stack, "again"));
}
