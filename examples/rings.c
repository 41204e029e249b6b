/* Rings: garbage that counting alone never frees.
 *
 * Each round builds a ring of objects, some singly linked, some with chords to a live structure, walks it once and drops it. A
 * reference to a live structure from a dead ring must be counted down when the ring goes, or the live object would leak in turn;
 * a reference from the live structure into a ring must keep all of the ring alive.
 *
 *     tally run examples/rings.c
 *     tally run --stats examples/rings.c            see cyclic_garbage_objects
 *     tally run --zeal examples/rings.c -- 100      fewer rounds
 */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

enum { ROUNDS = 200000, ANCHORS = 8 };

typedef struct Link {
    struct Link *next, *chord;
    long value;
} Link;
TALLY_TYPE(Link, next, chord);

typedef struct Anchors {
    uint64_t length;
    Link *at[];
} Anchors;
TALLY_ARRAY_TYPE(Anchors, length, at);

/* A ring of `length` links whose chords all go to `target`. */
static Link *ring(int length, Link *target) {
    Link *first = NULL, *last = NULL;
    TALLY_ROOT(target, first, last);
    for (int i = 0; i < length; i++) {
        Link *link = TALLY_NEW(Link);
        link->value = i;
        TALLY_WRITE(link, chord, target);
        if (first)
            TALLY_WRITE(last, next, link);
        else
            first = link;
        last = link;
    }
    TALLY_WRITE(last, next, first);
    return first;
}

/* Once around, adding up the values. */
static long walk(Link *first) {
    long sum = first->value;
    for (Link *link = first->next; link != first; link = link->next) sum += link->value;
    return sum;
}

int main(int count, char **arguments) {
    int rounds = count > 1 ? atoi(arguments[1]) : ROUNDS;
    Anchors *anchors = TALLY_NEW_ARRAY(Anchors, ANCHORS);
    Link *fresh = NULL;
    TALLY_ROOT(anchors, fresh);
    for (int i = 0; i < ANCHORS; i++) TALLY_WRITE(anchors, at[i], ring(1, NULL));

    long sum = 0;
    for (int round = 0; round < rounds; round++) {
        int slot = round % ANCHORS;
        fresh = ring(2 + round % 13, anchors->at[slot]);
        sum += walk(fresh);
        /* Every fifth ring is kept for a while: the anchor now refers into it, and it to the anchor's old ring. */
        if (round % 5 == 0) TALLY_WRITE(anchors, at[slot], fresh);
        /* Now and then a slot is cleared: a whole chain of rings behind it becomes garbage at once. */
        if (round % 50 == 49) TALLY_WRITE(anchors, at[round / 50 % ANCHORS], ring(1, NULL));
    }

    long chained = 0;
    for (int i = 0; i < ANCHORS; i++)
        for (Link *link = anchors->at[i]; link; link = link->chord) chained++;
    printf("sum %ld, %ld rings alive behind %d anchors\n", sum, chained, ANCHORS);
}
