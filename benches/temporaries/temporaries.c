/* Objects that live for a moment: vectors, complex numbers, ranges of a list and iterators over it. With tally_gc.h each is an object; a plain
 * compiler, which does not find that header, gets the same program over structs by value. docs/port/stack-objects.md has the figures.
 *
 *     tally build benches/temporaries/temporaries.c -o stack
 *     tally build --stack-objects=off benches/temporaries/temporaries.c -o heap
 *     clang-22 -O2 benches/temporaries/temporaries.c -o structs
 */
#include <stdio.h>
#include <stdlib.h>

#if __has_include(<tally_gc.h>)
#include <tally_gc.h>
#define REF(Type) Type *
#define OF(object) (object)->
#define FRESH(Type, object)                                                                                             \
    Type *object = TALLY_NEW(Type);                                                                                     \
    TALLY_ROOT(object)
#define SET(object, field, value) TALLY_WRITE(object, field, value)
#define ADDRESS(object) (object)
#else
#define TALLY_TYPE(...) _Static_assert(1, "")
#define TALLY_ROOT(...) (void)0
#define REF(Type) Type
#define OF(object) (object).
#define FRESH(Type, object) Type object
#define SET(object, field, value) ((object).field = (value))
#define ADDRESS(object) (&(object))
#endif

typedef struct Vector { double x, y, z; } Vector;
TALLY_TYPE(Vector);
typedef struct Complex { double re, im; } Complex;
TALLY_TYPE(Complex);
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Range { Node *first, *last; long count; } Range;
TALLY_TYPE(Range, first, last);
typedef struct Iterator { Node *at; long index; } Iterator;
TALLY_TYPE(Iterator, at);

static REF(Vector) vector(double x, double y, double z) {
    FRESH(Vector, v);
    OF(v) x = x;
    OF(v) y = y;
    OF(v) z = z;
    return v;
}
static REF(Vector) sum(REF(Vector) a, REF(Vector) b) {
    TALLY_ROOT(a, b);
    return vector(OF(a) x + OF(b) x, OF(a) y + OF(b) y, OF(a) z + OF(b) z);
}
static REF(Vector) cross(REF(Vector) a, REF(Vector) b) {
    TALLY_ROOT(a, b);
    return vector(OF(a) y * OF(b) z - OF(a) z * OF(b) y, OF(a) z * OF(b) x - OF(a) x * OF(b) z,
                  OF(a) x * OF(b) y - OF(a) y * OF(b) x);
}
static double dot(REF(Vector) a, REF(Vector) b) { return OF(a) x * OF(b) x + OF(a) y * OF(b) y + OF(a) z * OF(b) z; }

static double vectors(long n) {
    double total = 0;
    REF(Vector) up = vector(0, 0.5, 1);
    TALLY_ROOT(up);
    for (long i = 0; i < n; i++) {
        REF(Vector) one = vector(i % 7, i % 11, i % 13);
        TALLY_ROOT(one);
        REF(Vector) side = cross(one, up);
        TALLY_ROOT(side);
        REF(Vector) both = sum(one, side);
        TALLY_ROOT(both);
        total += dot(both, both) - dot(one, side);
    }
    return total;
}

static REF(Complex) number(double re, double im) {
    FRESH(Complex, c);
    OF(c) re = re;
    OF(c) im = im;
    return c;
}
static REF(Complex) product(REF(Complex) a, REF(Complex) b) {
    TALLY_ROOT(a, b);
    return number(OF(a) re * OF(b) re - OF(a) im * OF(b) im, OF(a) re * OF(b) im + OF(a) im * OF(b) re);
}
static REF(Complex) plus(REF(Complex) a, REF(Complex) b) {
    TALLY_ROOT(a, b);
    return number(OF(a) re + OF(b) re, OF(a) im + OF(b) im);
}

static double complexes(long n) {
    double total = 0;
    for (long i = 0; i < n; i++) {
        REF(Complex) c = number(i % 17 / 16.0 - 0.5, i % 23 / 22.0 - 0.5);
        TALLY_ROOT(c);
        REF(Complex) square = product(c, c);
        TALLY_ROOT(square);
        REF(Complex) cube = product(square, c);
        TALLY_ROOT(cube);
        REF(Complex) value = plus(cube, c);
        TALLY_ROOT(value);
        total += OF(value) re * OF(value) im;
    }
    return total;
}

/* The nodes are made once: only ranges and iterators are temporary. */
static Node *cons(long value, Node *next) {
    TALLY_ROOT(next);
#if __has_include(<tally_gc.h>)
    Node *node = TALLY_NEW(Node);
    TALLY_WRITE(node, next, next);
#else
    Node *node = malloc(sizeof *node);
    node->next = next;
#endif
    node->value = value;
    return node;
}
static REF(Range) range(Node *first, Node *last, long count) {
    TALLY_ROOT(first, last);
    FRESH(Range, r);
    SET(r, first, first);
    SET(r, last, last);
    OF(r) count = count;
    return r;
}
static REF(Iterator) iterate(Node *list) {
    TALLY_ROOT(list);
    FRESH(Iterator, it);
    SET(it, at, list);
    OF(it) index = 0;
    return it;
}
static int has_more(Iterator *it) { return it->at != NULL; }
static long take(Iterator *it) {
    long value = it->at->value;
#if __has_include(<tally_gc.h>)
    TALLY_WRITE(it, at, it->at->next);
#else
    it->at = it->at->next;
#endif
    it->index++;
    return value;
}

static double iterators(long n) {
    Node *list = NULL, *last = NULL;
    TALLY_ROOT(list, last);
    for (long i = 0; i < 8; i++) {
        list = cons(i, list);
        if (!last) last = list;
    }
    double total = 0;
    for (long i = 0; i < n; i++) {
        REF(Range) whole = range(list, last, 8);
        TALLY_ROOT(whole);
        REF(Iterator) it = iterate(OF(whole) first);
        TALLY_ROOT(it);
        while (has_more(ADDRESS(it))) total += take(ADDRESS(it)) ^ i;
        total += OF(it) index + OF(whole) last->value + OF(whole) count;
    }
    return total;
}

int main(int argc, char **argv) {
    long n = argc > 2 ? atol(argv[2]) : 1000000;
    const char *which = argc > 1 ? argv[1] : "vectors";
    double result = *which == 'v' ? vectors(n) : *which == 'c' ? complexes(n) : iterators(n);
    printf("%.6g\n", result);
    return 0;
}
