/* Coroutines whose cleanups run although nobody waits for them any more: `finally` of a generator that a program drops half-way.
 *
 *     tally run examples/closed_coroutines.c
 *     tally run --plan refcount-prompt examples/closed_coroutines.c
 *
 * A stack that dies is never switched to again, and a destructor must not switch. So the program knows a generator by an object
 * with a destructor. That one keeps its object alive, in a list; at its next turn the program switches to the stacks of the list,
 * with a value that tells them to leave. The cleanup may run code of any kind, and yield. */
#include <stdio.h>
#include <tally_gc.h>

/* What the program has in hand. */
typedef struct Generator {
    void *stack;
    struct Generator *next; /* in the list of those that are to leave */
} Generator;
static Generator *unwanted;

static void drop(Generator *generator) {
    if (tally_stack_status(generator->stack) != TALLY_STACK_SUSPENDED) return; /* it has returned */
    TALLY_WRITE(generator, next, unwanted);
    TALLY_WRITE_GLOBAL(unwanted, generator);
}
TALLY_FINALIZED_TYPE(Generator, drop, stack, next);

typedef struct Line {
    long number;
} Line;
TALLY_TYPE(Line);

static Line leave; /* no object of the heap: a value of its own for "leave" */
static long opened, closed, left;

/* Hands out as many lines as its first value says. */
static void *lines(void *first) {
    long limit = ((Line *)first)->number;
    Line *line = NULL;
    TALLY_ROOT(line);
    tally_stack_switch(NULL, NULL);
    opened++;
    for (long i = 1; i <= limit; i++) {
        line = TALLY_NEW(Line);
        line->number = i;
        if (tally_stack_switch(NULL, line) == &leave) {
            left++;
            break;
        }
    }
    closed++; /* the cleanup: comes here from both */
    return NULL;
}

static Generator *new_generator(long limit) {
    Generator *generator = NULL;
    Line *number = NULL;
    void *stack = NULL;
    TALLY_ROOT(generator, number, stack);
    number = TALLY_NEW(Line);
    number->number = limit;
    stack = tally_stack_new(lines, 0);
    tally_stack_switch(stack, number);
    generator = TALLY_NEW(Generator);
    TALLY_WRITE(generator, stack, stack);
    return generator;
}

static Line *next_line(Generator *generator) { return tally_stack_switch(generator->stack, generator); }

/* Where a program calls this is its choice: here once for each generator. An interpreter does so where it looks for signals. */
static void close_unwanted(void) {
    Generator *generator = NULL;
    TALLY_ROOT(generator);
    while ((generator = unwanted)) {
        TALLY_WRITE_GLOBAL(unwanted, generator->next);
        TALLY_WRITE(generator, next, NULL);
        tally_stack_switch(generator->stack, &leave);
    }
}

int main(void) {
    Generator *generator = NULL;
    Line *line = NULL;
    TALLY_ROOT(generator, line);
    long sum = 0;
    for (long i = 0; i < 1000; i++) {
        generator = new_generator(i % 4);
        /* Half of the generators with three lines are dropped after their second. */
        for (line = next_line(generator); line; line = next_line(generator)) {
            sum += line->number;
            if (line->number == 2 && i % 8 == 3) break;
        }
        generator = NULL, line = NULL;
        close_unwanted();
    }
    tally_collect();
    tally_safepoint();
    close_unwanted();
    printf("%ld opened, %ld closed, %ld of them dropped half-way; sum %ld\n", opened, closed, left, sum);
}
