/* A stack machine: an interpreter whose stack is one object of the heap, written to without a barrier for each push.
 *
 * The stack is open while the machine runs: pushes are plain stores under the deferred and the trace plan, and each flip looks at all
 * of it instead. It is closed when the machine sleeps, and is an object like others then. Popped places are overwritten with null, so that
 * nothing lives longer than the machine knows it.
 *
 *     tally run examples/stack_machine.c
 *     tally run --plan refcount-prompt examples/stack_machine.c
 *     tally run --zeal examples/stack_machine.c
 */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Pair {
    struct Pair *first, *second;
    long number;
} Pair;
TALLY_TYPE(Pair, first, second);

typedef struct Stack {
    uint64_t size;
    Pair *at[];
} Stack;
TALLY_ARRAY_TYPE(Stack, size, at);

typedef struct Machine {
    Stack *stack;
    uint64_t top;
    const char *next; /* instruction */
} Machine;
TALLY_TYPE(Machine, stack);

typedef struct Machines {
    uint64_t count;
    Machine *at[];
} Machines;
TALLY_ARRAY_TYPE(Machines, count, at);

static void push(Machine *machine, Pair *pair) {
    Stack *stack = machine->stack;
    TALLY_WRITE_OPEN(stack, at[machine->top], pair);
    machine->top++;
}

static Pair *pop(Machine *machine) {
    Stack *stack = machine->stack;
    machine->top--;
    Pair *pair = stack->at[machine->top];
    TALLY_ROOT(pair);
    TALLY_WRITE_OPEN(stack, at[machine->top], NULL);
    return pair;
}

/* A digit pushes a number, `d` the topmost once more, `c` makes a pair of the two topmost, `+` adds them up, `x` makes a ring of the topmost
 * and drops it; `y` yields. */
static int run(Machine *machine) {
    Pair *pair = NULL, *other = NULL;
    TALLY_ROOT(machine, pair, other);
    tally_object_open(machine->stack);
    char instruction;
    while ((instruction = *machine->next++) && instruction != 'y') {
        if (instruction == 'x') {
            pair = pop(machine);
            TALLY_WRITE(pair, first, pair);
            continue;
        }
        if (instruction == 'd') {
            pair = pop(machine);
            push(machine, pair);
            push(machine, pair);
            continue;
        }
        other = pair = NULL;
        if (instruction == 'c' || instruction == '+') {
            other = pop(machine);
            pair = pop(machine);
        }
        Pair *made = TALLY_NEW(Pair);
        TALLY_ROOT(made);
        made->number = instruction - '0';
        if (instruction == 'c') {
            TALLY_WRITE(made, first, pair);
            TALLY_WRITE(made, second, other);
            made->number = pair->number + other->number;
        } else if (instruction == '+') {
            made->number = pair->number + other->number;
        }
        push(machine, made);
    }
    machine->next -= instruction == 0;
    tally_object_close(machine->stack);
    return instruction != 0;
}

static Machine *machine(const char *program) {
    Machine *machine = TALLY_NEW(Machine);
    TALLY_ROOT(machine);
    machine->top = 0;
    machine->next = program;
    TALLY_WRITE(machine, stack, TALLY_NEW_ARRAY(Stack, 100));
    return machine;
}

int main(void) {
    const char *program = "12c3cdy+4cd5xyc6cdd++";
    Machines *machines = TALLY_NEW_ARRAY(Machines, 3);
    TALLY_ROOT(machines);
    long sum = 0;
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < 3; i++) TALLY_WRITE(machines, at[i], machine(program));
        for (int left = 3; left;) {
            left = 0;
            for (int i = 0; i < 3; i++) left += run(machines->at[i]);
        }
        for (int i = 0; i < 3; i++) sum += machines->at[i]->stack->at[0]->number + (long)machines->at[i]->top;
    }
    printf("%ld\n", sum);
    return 0;
}
