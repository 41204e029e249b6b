/* Objects that a write takes out of the field that held them last, while only a variable, an argument or another field has them: they
 * live as long as that does, and die when it lets go. Prints what died, in order; 0 objects are left in the end. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>
#include "items.h"

typedef struct Queue { Item *first, *second; } Queue;
TALLY_TYPE(Queue, first, second);
typedef struct Stacks { Item *top[2]; } Stacks;
TALLY_TYPE(Stacks, top[0], top[1]);
typedef struct Link { struct Link *next, *back; } Link;
TALLY_TYPE(Link, next, back);
typedef struct Holder { struct Holder *next; Link *ring; } Holder;
TALLY_TYPE(Holder, next, ring);
typedef struct Filler { struct Filler *none; } Filler;
TALLY_ACYCLIC_TYPE(Filler, none);

static __attribute__((noinline)) void fill(Queue *queue, long count) {
    TALLY_ROOT(queue);
    Item *items = NULL;
    TALLY_ROOT(items);
    for (long i = count; i > 0; i--) items = item(items, i);
    TALLY_WRITE(queue, first, items);
}

static void say(const char *text) {
    printf("%s: ", text);
}

/* The variable holds what the write has taken, over safepoints, and lets go of it when it is overwritten. */
static __attribute__((noinline)) void by_a_variable(Queue *queue) {
    TALLY_ROOT(queue);
    Item *first = NULL;
    TALLY_ROOT(first);
    first = queue->first;
    TALLY_WRITE(queue, first, first->next);
    tally_safepoint();
    tally_safepoint();
    say("variable");
    printf("%ld kept, ", first->number);
    first = NULL;
    tally_safepoint();
}

static __attribute__((noinline)) void look(Item *item) {
    TALLY_ROOT(item);
    tally_safepoint();
    printf("%ld seen, ", item->number);
}

/* Nothing but the argument has it, and nothing keeps it. */
static __attribute__((noinline)) void by_an_argument(Queue *queue) {
    TALLY_ROOT(queue);
    say("argument");
    Item *first = queue->first;
    TALLY_WRITE(queue, first, first->next);
    look(first);
    tally_safepoint();
}

/* It moves to another field, and what that held dies. */
static __attribute__((noinline)) void by_another_field(Queue *queue) {
    TALLY_ROOT(queue);
    say("field");
    Item *first = queue->first;
    TALLY_WRITE(queue, first, first->next);
    TALLY_WRITE(first, next, NULL);
    TALLY_WRITE(queue, second, first);
    tally_safepoint();
    printf("%ld held, ", queue->second->number);
    TALLY_WRITE(queue, second, NULL);
    tally_safepoint();
}

/* The field holds it again: what was loaded and what is written are the same. */
static __attribute__((noinline)) void written_back(Queue *queue) {
    TALLY_ROOT(queue);
    Item *first = NULL;
    TALLY_ROOT(first);
    first = queue->first;
    TALLY_WRITE(queue, first, first);
    tally_safepoint();
    say("back");
    first = NULL;
    tally_safepoint();
    printf("%ld there, ", queue->first->number);
}

/* A chain dies from its head on, a weak reference to it is null from then on. */
static __attribute__((noinline)) void chain(Queue *queue) {
    TALLY_ROOT(queue);
    void *weak = NULL;
    TALLY_ROOT(weak);
    weak = tally_weak_new(queue->first);
    Item *head = NULL;
    TALLY_ROOT(head);
    head = queue->first;
    TALLY_WRITE(queue, first, NULL);
    tally_safepoint();
    say("chain");
    printf("%s, ", tally_weak_get(weak) == head ? "weakly there" : "lost");
    head = NULL;
    tally_safepoint();
    printf("%s ", tally_weak_get(weak) ? "still there" : "gone");
}

/* Objects die in the order in which they lost their last reference, whatever a write has taken between them. */
static __attribute__((noinline)) void in_order(Queue *queue) {
    TALLY_ROOT(queue);
    TALLY_WRITE(queue, first, item(NULL, 1));
    TALLY_WRITE(queue, second, item(NULL, 2));
    say("order");
    Item *first = queue->first;
    TALLY_WRITE(queue, first, NULL);
    TALLY_WRITE(queue, second, NULL);
    long number = first->number;
    tally_safepoint();
    printf("%ld first, ", number);
}

/* A choice: on one way the object moves on, on the other it dies. */
static __attribute__((noinline)) void on_one_way(Queue *queue, int moves) {
    TALLY_ROOT(queue);
    Item *kept = NULL;
    TALLY_ROOT(kept);
    say(moves ? "moved" : "dropped");
    Item *first = queue->first;
    TALLY_WRITE(queue, first, first->next);
    if (moves) kept = first;
    tally_safepoint();
    printf("%s, ", kept ? "kept" : "gone");
}

static __attribute__((noinline)) void push(Stacks *stacks, int which, Item *item) {
    TALLY_WRITE(item, next, stacks->top[which]);
    TALLY_WRITE(stacks, top[which], item);
}

static __attribute__((noinline)) Item *pop(Stacks *stacks, int which) {
    Item *item = stacks->top[which];
    TALLY_ROOT(item);
    TALLY_WRITE(stacks, top[which], item->next);
    return item;
}

/* The caller has what was taken: it moves it on, keeps it in a variable, or does nothing with it. */
static __attribute__((noinline)) void by_a_result(Stacks *stacks) {
    TALLY_ROOT(stacks);
    push(stacks, 0, item(NULL, 12));
    push(stacks, 0, item(NULL, 11));
    say("result");
    push(stacks, 1, pop(stacks, 0));
    tally_safepoint();
    printf("%ld held, ", stacks->top[1]->number);
    Item *kept = pop(stacks, 0);
    TALLY_ROOT(kept);
    tally_safepoint();
    printf("%ld kept, ", kept->number);
    kept = NULL;
    tally_safepoint();
    pop(stacks, 1);
    tally_safepoint();
    printf("gone");
}

/* What is loaded from one element, and what is replaced in another, are two. */
static __attribute__((noinline)) Item *replace(Stacks *stacks, int from, int at) {
    Item *item = stacks->top[from];
    TALLY_ROOT(item);
    TALLY_WRITE(stacks, top[at], item->next);
    return item;
}
static __attribute__((noinline)) void by_another_index(Stacks *stacks) {
    TALLY_ROOT(stacks);
    push(stacks, 0, item(NULL, 13));
    push(stacks, 1, item(NULL, 14));
    say("index");
    Item *first = replace(stacks, 0, 1);
    TALLY_ROOT(first);
    tally_safepoint();
    printf("%ld held, ", stacks->top[0]->number);
    first = replace(stacks, 0, 0);
    tally_safepoint();
    printf("%ld kept, ", first->number);
}

static jmp_buf back;
static __attribute__((noinline)) void jump(Item *item) {
    TALLY_ROOT(item);
    tally_safepoint();
    longjmp(back, 1);
}
static __attribute__((noinline)) void jumps(Queue *queue) {
    TALLY_ROOT(queue);
    Item *first = queue->first;
    TALLY_WRITE(queue, first, first->next);
    jump(first);
}
/* A jump leaves the frame that had it: a mark finds the object. */
static __attribute__((noinline)) void left_by_a_jump(Queue *queue) {
    TALLY_ROOT(queue);
    say("jump");
    if (!setjmp(back)) jumps(queue);
    tally_collect();
}

/* The last reference to a ring that is old goes by way of a variable: it is found without a collection of everything. */
static __attribute__((noinline)) void drop_ring(Holder *holder) {
    TALLY_ROOT(holder);
    Link *ring = NULL;
    TALLY_ROOT(ring);
    ring = holder->ring;
    TALLY_WRITE(holder, ring, NULL);
    tally_safepoint();
}

static void rings(void) {
    enum { RINGS = 20000 };
    Holder *holders = NULL;
    TALLY_ROOT(holders);
    for (long i = 0; i < RINGS; i++) {
        Holder *holder = TALLY_NEW(Holder);
        TALLY_ROOT(holder);
        TALLY_WRITE(holder, next, holders);
        holders = holder;
        TALLY_WRITE(holder, ring, TALLY_NEW(Link));
        Link *other = TALLY_NEW(Link);
        TALLY_WRITE(holder->ring, next, other);
        TALLY_WRITE(other, back, holder->ring);
    }
    tally_collect();
    Holder *holder = holders;
    TALLY_ROOT(holder);
    for (; holder != NULL; holder = holder->next) drop_ring(holder);
    for (long i = 0; i < 2000000; i++) TALLY_NEW(Filler);
    tally_statistics now;
    tally_get_statistics(&now);
    printf("rings: %s\n", now.live_objects < 2 * RINGS ? "found" : "lost");
}

static void all(void) {
    Queue *queue = TALLY_NEW(Queue);
    TALLY_ROOT(queue);
    fill(queue, 7);
    by_a_variable(queue);
    puts("");
    by_an_argument(queue);
    puts("");
    by_another_field(queue);
    puts("");
    written_back(queue);
    puts("");
    on_one_way(queue, 1);
    tally_safepoint();
    puts("");
    on_one_way(queue, 0);
    tally_safepoint();
    puts("");
    chain(queue);
    puts("");
    in_order(queue);
    tally_safepoint();
    puts("");
    Stacks *stacks = TALLY_NEW(Stacks);
    TALLY_ROOT(stacks);
    by_a_result(stacks);
    puts("");
    by_another_index(stacks);
    tally_safepoint();
    puts("");
    TALLY_WRITE(queue, first, item(NULL, 10));
    left_by_a_jump(queue);
    puts("");
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "rings") == 0) rings();
    else all();
    tally_collect();
    tally_statistics now;
    tally_get_statistics(&now);
    printf("%ld\n", (long)now.live_objects);
    return 0;
}
