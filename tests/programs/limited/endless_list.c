/* The numbers whose prime factors are 2, 3 and 5, in order, as a list without end that closures unfold when it is read:
 *
 *     h = 1 : merge(2 h, merge(3 h, 5 h))
 *
 * Only the front of the list is kept, by the reader, and by the three closures that are behind it. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Cell Cell;
typedef struct Closure Closure;
struct Closure {
    Cell *left, *right; /* what it is over */
    long factor;        /* of a closure that scales `left`; 0: it merges `left` and `right` */
};
TALLY_TYPE(Closure, left, right);
struct Cell {
    Cell *next;
    Closure *rest; /* unfolds to `next`, and is let go then */
    long value;
};
TALLY_TYPE(Cell, next, rest);

static Closure *closure(Cell *left, Cell *right, long factor) {
    TALLY_ROOT(left, right);
    Closure *made = TALLY_NEW(Closure);
    TALLY_WRITE(made, left, left);
    TALLY_WRITE(made, right, right);
    made->factor = factor;
    return made;
}

static Cell *cell(long value, Closure *rest) {
    TALLY_ROOT(rest);
    Cell *made = TALLY_NEW(Cell);
    TALLY_WRITE(made, rest, rest);
    made->value = value;
    return made;
}

static Cell *next(Cell *at);

static Cell *scaled(Cell *of, long factor) {
    TALLY_ROOT(of);
    Closure *rest = closure(of, NULL, factor);
    TALLY_ROOT(rest);
    return cell(of->value * factor, rest);
}

static Cell *merged(Cell *left, Cell *right) {
    TALLY_ROOT(left, right);
    Closure *rest = closure(left, right, 0);
    TALLY_ROOT(rest);
    return cell(left->value < right->value ? left->value : right->value, rest);
}

/* Unfolds the list behind `at` by one, unless that is done. */
static Cell *next(Cell *at) {
    TALLY_ROOT(at);
    if (at->next) return at->next;
    Closure *rest = at->rest;
    Cell *left = rest->left, *right = rest->right, *found = NULL;
    TALLY_ROOT(rest, left, right, found);
    if (rest->factor) {
        left = next(left);
        found = scaled(left, rest->factor);
    } else {
        long least = at->value;
        if (left->value == least) left = next(left);
        if (right->value == least) right = next(right);
        found = merged(left, right);
    }
    TALLY_WRITE(at, next, found);
    TALLY_WRITE(at, rest, (Closure *)NULL);
    return found;
}

static Cell *numbers(void) {
    Cell *first = cell(1, NULL);
    TALLY_ROOT(first);
    Cell *three = scaled(first, 3), *five = NULL, *two = NULL;
    TALLY_ROOT(three, five, two);
    five = scaled(first, 5);
    three = merged(three, five);
    two = scaled(first, 2);
    two = merged(two, three);
    TALLY_WRITE(first, next, two);
    return first;
}

int main(void) {
    Cell *at = NULL;
    TALLY_ROOT(at);
    for (int times = 0; times < 25; times++) {
        at = numbers();
        for (long n = 1; n < 1691; n++) at = next(at);
        if (times % 8 == 0) printf("%ld\n", at->value);
    }
    for (long n = 1691; n < 5000; n++) at = next(at);
    printf("%ld\n", at->value);
    return 0;
}
