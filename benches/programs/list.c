/* list: Takeuchi's function on lists, after "Are We Fast Yet". Three short lists live for a walk, then die. */
#include "program.h"

typedef struct Link {
    struct Link *next;
    int value;
} Link;
TALLY_TYPE(Link, next);

static Link *new_list(int length) {
    if (length == 0) return NULL;
    Link *link = TALLY_NEW(Link);
    TALLY_ROOT(link);
    link->value = length;
    TALLY_WRITE(link, next, new_list(length - 1));
    return link;
}

static int is_shorter(Link *one, Link *other) {
    while (other) {
        if (!one) return 1;
        one = one->next;
        other = other->next;
    }
    return 0;
}

static Link *tail(Link *x, Link *y, Link *z) {
    TALLY_ROOT(x, y, z);
    if (!is_shorter(y, x)) return z;
    Link *a = tail(x->next, y, z);
    TALLY_ROOT(a);
    Link *b = tail(y->next, z, x);
    TALLY_ROOT(b);
    Link *c = tail(z->next, x, y);
    return tail(a, b, c);
}

static long length_of(Link *link) {
    long length = 0;
    for (; link; link = link->next) length++;
    return length;
}

#ifdef FREED_BY_HAND
static void free_list(Link *link) {
    while (link) {
        Link *next = link->next;
        free(link);
        link = next;
    }
}
#endif

static uint64_t list(long size) {
    uint64_t sum = 0;
    for (long round = 0; round < size; round++) {
        Link *x = new_list(15);
        TALLY_ROOT(x);
        Link *y = new_list(10);
        TALLY_ROOT(y);
        Link *z = new_list(6);
        TALLY_ROOT(z);
        sum = mix(sum, length_of(tail(x, y, z)));
        BY_HAND(free_list(x); free_list(y); free_list(z);)
        tick();
    }
    return sum;
}
PROGRAM(list, 60000, 100, 1)
