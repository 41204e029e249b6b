/* Objects that cannot escape are on the stack from -O2 on. Each function is one situation: an object that may be there, or one that only
 * seems to. The sum of all must be the same in every way. */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Vec { double x, y, z; } Vec;
TALLY_TYPE(Vec);
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Pair { Node *first; long tag; Node *second; } Pair;
TALLY_TYPE(Pair, first, second);
typedef struct Iter { Node *at; long index; } Iter;
TALLY_TYPE(Iter, at);
typedef struct Holder { Vec *kept; } Holder;
TALLY_TYPE(Holder, kept);

static long garbage;
__attribute__((noinline)) static void churn(void) {
    Node *last = NULL;
    TALLY_ROOT(last);
    for (int i = 0; i < 20; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = -1000000;
        TALLY_WRITE(node, next, last);
        last = node;
    }
    garbage += last->value;
}

static Node *push(Node *list, long value) {
    TALLY_ROOT(list);
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, list);
    return node;
}

__attribute__((noinline)) static Node *list_of(long n) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 1; i <= n; i++) list = push(list, i);
    return list;
}

static Vec *vec(double x, double y, double z) {
    Vec *v = TALLY_NEW(Vec);
    v->x = x;
    v->y = y;
    v->z = z;
    return v;
}
static Vec *add(Vec *a, Vec *b) {
    TALLY_ROOT(a, b);
    return vec(a->x + b->x, a->y + b->y, a->z + b->z);
}
static Vec *longer(Vec *a, Vec *b) { return a->x > b->x ? a : b; }
__attribute__((noinline)) static double length(const Vec *v) { return v->x + v->y + v->z; }
static Pair *pair(Node *a, Node *b) {
    TALLY_ROOT(a, b);
    Pair *p = TALLY_NEW(Pair);
    TALLY_ROOT(p);
    TALLY_WRITE(p, first, a);
    TALLY_WRITE(p, second, b);
    p->tag = 7;
    return p;
}
static Iter *iterate(Node *list) {
    TALLY_ROOT(list);
    Iter *it = TALLY_NEW(Iter);
    it->index = 0;
    TALLY_WRITE(it, at, list);
    return it;
}
static int more(const Iter *it) { return it->at != NULL; }
static long next(Iter *it) {
    long value = it->at->value;
    TALLY_WRITE(it, at, it->at->next);
    it->index++;
    return value;
}
__attribute__((noinline)) static void swap(Pair *p) {
    Node *first = p->first;
    TALLY_WRITE(p, first, p->second);
    TALLY_WRITE(p, second, first);
}

/* ---- They may be on the stack. ---- */

static long temporaries(void) {
    double sum = 0;
    Vec *origin = vec(1, 2, 3);
    TALLY_ROOT(origin);
    for (int i = 0; i < 5; i++) {
        Vec *step = vec(i, 2 * i, 3 * i);
        TALLY_ROOT(step);
        churn();
        Vec *to = add(origin, step);
        TALLY_ROOT(to);
        churn();
        sum += length(to) + to->x;
    }
    return (long)sum;
}

static long references_of_a_pair(void) {
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        Node *a = list_of(3), *b;
        TALLY_ROOT(a);
        b = list_of(4);
        TALLY_ROOT(b);
        Pair *p = pair(a, b);
        TALLY_ROOT(p);
        a = NULL;
        b = NULL;
        churn();
        sum += p->first->next->value * p->tag + p->second->value;
        TALLY_WRITE(p, first, p->second->next);
        TALLY_WRITE(p, second, NULL);
        churn();
        sum += p->first->next->value + (p->second == NULL);
    }
    return sum;
}

static long iteration(void) {
    Node *list = list_of(9);
    TALLY_ROOT(list);
    Iter *it = iterate(list);
    TALLY_ROOT(it);
    list = NULL;
    long sum = 0;
    while (more(it)) {
        churn();
        sum += next(it) * it->index;
    }
    return sum;
}

/* What an object holds lives as long as the object, found through it or not. */
static long reached_through_it(void) {
    Node *a = list_of(6);
    TALLY_ROOT(a);
    Pair *p = TALLY_NEW(Pair);
    TALLY_ROOT(p);
    TALLY_WRITE(p, first, a);
    p->tag = 1;
    Node *third = p->first->next->next;
    a = NULL;
    churn();
    return third->value + p->tag;
}

static long recursive(int depth) {
    Vec *here = vec(depth, 1, 1);
    TALLY_ROOT(here);
    long below = depth > 0 ? recursive(depth - 1) : 0;
    churn();
    return below + (long)here->x;
}

static long null_before(int given) {
    Vec *v = NULL;
    TALLY_ROOT(v);
    if (given) v = vec(5, 5, 5);
    churn();
    return v ? (long)v->x : -3;
}

static long fields_begin_as_null(void) {
    long nulls = 0;
    for (int i = 0; i < 3; i++) {
        Pair *p = TALLY_NEW(Pair);
        TALLY_ROOT(p);
        nulls += (p->first == NULL) + (p->second == NULL);
        Node *one = list_of(1);
        TALLY_WRITE(p, first, one);
        churn();
        nulls += p->first->value;
    }
    return nulls;
}

/* Used after its root is empty, before anything can die. */
static long used_without_its_root(void) {
    Node *a = list_of(2);
    TALLY_ROOT(a);
    Pair *p = TALLY_NEW(Pair), *same;
    TALLY_ROOT(p);
    TALLY_WRITE(p, first, a);
    a = NULL;
    churn();
    same = p;
    p = NULL;
    return same->first->value;
}

static long copied(void) {
    Vec *a = vec(1, 2, 3);
    TALLY_ROOT(a);
    Vec *b = TALLY_NEW(Vec);
    TALLY_ROOT(b);
    memcpy(b, a, sizeof *b);
    memset(a, 0, sizeof *a);
    churn();
    return (long)(b->x + b->z + a->y);
}

/* ---- They only seem so. ---- */

static Vec *escaped;
static long stored_to_a_global(void) {
    Vec *v = vec(3, 0, 0);
    TALLY_WRITE_GLOBAL(escaped, v);
    return 0;
}

static Holder *holder;
static long stored_to_an_object(void) {
    Holder *h = TALLY_NEW(Holder);
    TALLY_ROOT(h);
    TALLY_WRITE_GLOBAL(holder, h);
    Vec *v = vec(4, 0, 0);
    TALLY_WRITE(h, kept, v);
    return 0;
}

__attribute__((noinline)) static Vec *returned(int i) {
    Vec *v = vec(i, i, i);
    TALLY_ROOT(v);
    churn();
    return v;
}

__attribute__((noinline)) static void keep(Vec *v) { TALLY_WRITE_GLOBAL(escaped, v); }
static long kept_by_a_callee(void) {
    Vec *v = vec(8, 0, 0);
    TALLY_ROOT(v);
    keep(v);
    churn();
    return (long)escaped->x;
}

__attribute__((noinline)) static Vec *same(Vec *v) { return v; }
static long returned_by_a_callee(void) {
    Vec *v = vec(2, 0, 0);
    TALLY_ROOT(v);
    TALLY_WRITE_GLOBAL(escaped, same(v));
    return 0;
}

static long written_by_a_callee(void) {
    Node *a = list_of(2), *b;
    TALLY_ROOT(a);
    b = list_of(5);
    TALLY_ROOT(b);
    Pair *p = pair(a, b);
    TALLY_ROOT(p);
    a = b = NULL;
    swap(p);
    churn();
    return p->first->value * 10 + p->second->value;
}

static long the_one_before(void) {
    Vec *before = NULL;
    TALLY_ROOT(before);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        Vec *v = vec(i + 1, 0, 0);
        TALLY_ROOT(v);
        if (before) sum += before->x * 10 + v->x;
        before = v;
        churn();
    }
    return (long)sum;
}

static long sum_in_a_loop(void) {
    Vec *sum = vec(0, 0, 0);
    TALLY_ROOT(sum);
    for (int i = 0; i < 6; i++) {
        Vec *step = vec(i, 1, 1);
        TALLY_ROOT(step);
        sum = add(sum, step);
        churn();
    }
    return (long)(sum->x * 100 + sum->y);
}

static long one_of_two(int i) {
    Vec *a = vec(i, 0, 0);
    TALLY_ROOT(a);
    Vec *b = vec(3, 0, 0);
    TALLY_ROOT(b);
    Vec *c = longer(a, b);
    TALLY_ROOT(c);
    churn();
    return (long)c->x + (c == a) * 50;
}

static long (*by_pointer)(Vec *);
static long called(Vec *v) { return (long)v->x; }
static long passed_to_a_pointer(void) {
    by_pointer = called;
    Vec *v = vec(6, 0, 0);
    TALLY_ROOT(v);
    return by_pointer(v);
}

static long as_a_number(void) {
    Vec *v = vec(9, 0, 0);
    TALLY_ROOT(v);
    uintptr_t number = (uintptr_t)v;
    churn();
    return (long)((Vec *)number)->x;
}

static long merged_in_a_write(int i) {
    Node *list = list_of(3);
    TALLY_ROOT(list);
    Pair *old = TALLY_NEW(Pair);
    TALLY_ROOT(old);
    Pair *p = TALLY_NEW(Pair);
    TALLY_ROOT(p);
    Pair *one = i & 1 ? old : p;
    TALLY_WRITE(one, first, list);
    list = NULL;
    churn();
    return (old->first ? old->first->value : 0) * 10 + (p->first ? p->first->value : 0);
}

int main(void) {
    long all[] = {temporaries(), references_of_a_pair(), iteration(), reached_through_it(), recursive(30), null_before(0), null_before(1),
                  fields_begin_as_null(), used_without_its_root(), copied(), stored_to_a_global(), stored_to_an_object(),
                  (long)returned(11)->x, kept_by_a_callee(), returned_by_a_callee(), written_by_a_callee(), the_one_before(),
                  sum_in_a_loop(), one_of_two(1), one_of_two(5), passed_to_a_pointer(), as_a_number(), merged_in_a_write(0),
                  merged_in_a_write(1)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) printf("%zu: %ld\n", i, all[i]);
    churn();
    printf("%g %g\n", escaped->x, holder->kept->x);
    TALLY_WRITE_GLOBAL(escaped, (Vec *)NULL);
    TALLY_WRITE_GLOBAL(holder, (Holder *)NULL);
    return garbage > 0;
}
