/* Roots of every shape: parameters, locals of nested blocks and loops, several in one array of slots, structs that hold references.
 *
 * Each part below makes garbage while it holds something in one kind of root, collects, and reads what it held. With `--zeal` a
 * collection runs at every call, dead objects are overwritten, and the first touch of one stops the program: a clean run under
 * zeal says that no root is missing here.
 *
 *     tally run examples/roots.c
 *     tally run --zeal examples/roots.c
 */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Box {
    struct Box *inner;
    long number;
} Box;
TALLY_TYPE(Box, inner);

/* A struct that lives on the stack: the same description serves objects and variables of the type. */
typedef struct Range {
    long step;
    Box *first, *last;
} Range;
TALLY_TYPE(Range, first, last);

typedef struct Registers {
    Box *r[4];
} Registers;
TALLY_TYPE(Registers, r[0], r[1], r[2], r[3]);

static Box *box(long number) {
    Box *box = TALLY_NEW(Box);
    box->number = number;
    return box;
}

static void make_garbage(void) {
    for (int i = 0; i < 10; i++) {
        Box *a = box(-1);
        TALLY_ROOT(a);
        Box *b = box(-2);
        TALLY_WRITE(a, inner, b);
        TALLY_WRITE(b, inner, a);
    }
    tally_collect();
}

/* Parameters are roots like locals, and may be assigned to. */
static long parameters(Box *a, Box *b) {
    TALLY_ROOT(a, b);
    make_garbage();
    long sum = a->number + b->number;
    a = box(1000);
    make_garbage();
    return sum + a->number + b->number;
}

/* A variable of a nested block is a root too. Its slot is cleared where the block ends, so that nothing lives longer than its scope. */
static long nested_blocks(void) {
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        Box *outer = box(i);
        TALLY_ROOT(outer);
        if (i % 2) {
            Box *inner = box(10 * i);
            TALLY_ROOT(inner);
            make_garbage();
            sum += inner->number;
        } else {
            Box *inner = NULL;
            TALLY_ROOT(inner);
            make_garbage();
            if (inner) sum = -1;
        }
        sum += outer->number;
    }
    return sum;
}

static long structs(void) {
    Range range = {.step = 7, .first = NULL, .last = NULL};
    TALLY_ROOT_AS(Range, range);
    range.first = box(1);
    range.last = box(100);
    make_garbage();
    return range.first->number + range.last->number + range.step;
}

static long arrays(void) {
    Registers registers = {{NULL}};
    TALLY_ROOT_AS(Registers, registers);
    for (int i = 0; i < 40; i++) {
        Box *fresh = box(i);
        TALLY_WRITE(fresh, inner, registers.r[i % 4]);
        registers.r[i % 4] = fresh;
        if (i % 10 == 0) make_garbage();
    }
    long sum = 0;
    for (int i = 0; i < 4; i++)
        for (Box *b = registers.r[i]; b; b = b->inner) sum += b->number;
    return sum;
}

/* Every frame of a deep recursion holds one object. */
static long recursion(long depth) {
    if (depth == 0) {
        make_garbage();
        return 0;
    }
    Box *mine = box(depth);
    TALLY_ROOT(mine);
    long below = recursion(depth - 1);
    return below + mine->number;
}

int main(void) {
    Box *first = box(1), *second = NULL;
    TALLY_ROOT(first, second);
    second = box(10);
    printf("parameters    %ld\n", parameters(first, second));
    printf("nested blocks %ld\n", nested_blocks());
    printf("structs       %ld\n", structs());
    printf("arrays        %ld\n", arrays());
    printf("recursion     %ld\n", recursion(100));
    printf("and still     %ld\n", first->number + second->number);
}
