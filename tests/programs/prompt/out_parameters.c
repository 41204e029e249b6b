/* Roots that callees store to by their address: what is stored lives as long as the slot holds it, what it replaces dies at the next
 * statement that calls, and none of that costs a walk of the stack. Exits with 0 if so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Node { struct Node *left, *right; long key; } Node;
TALLY_TYPE(Node, left, right);
typedef struct Guard { long number; } Guard;
static long dead, last;
static void leave(Guard *guard) { dead++; last = guard->number; }
TALLY_FINALIZED_TYPE(Guard, leave);

static void expect(int right, const char *what) {
    if (!right) {
        printf("%s: %ld dead, the last is %ld\n", what, dead, last);
        exit(1);
    }
}

static __attribute__((noinline)) Guard *guard_of(long number) {
    Guard *guard = TALLY_NEW(Guard);
    guard->number = number;
    return guard;
}

/* Each level lends two roots, and stores fresh nodes to its caller's: one before it goes deeper, one after that. */
static __attribute__((noinline)) void split(long depth, Node **left, Node **right) {
    Node *node = TALLY_NEW(Node);
    TALLY_ROOT(node);
    node->key = depth;
    *left = node;
    if (depth == 0) {
        *right = TALLY_NEW(Node);
        return;
    }
    Node *l = NULL, *r = NULL;
    TALLY_ROOT(l, r);
    split(depth - 1, &l, &r);
    TALLY_WRITE(node, left, l);
    TALLY_WRITE(node, right, r);
    *right = TALLY_NEW(Node);
    (*right)->key = l->key + r->key + 1;
}

static void deep(long depth) {
    Node *left = NULL, *right = NULL;
    TALLY_ROOT(left, right);
    tally_statistics before, after;
    tally_get_statistics(&before);
    split(depth, &left, &right);
    tally_get_statistics(&after);
    long nodes = 0;
    for (Node *node = left; node != NULL; node = node->left) nodes++;
    expect(nodes == depth + 1 && right->key == depth * (depth - 1) / 2 + depth, "deep");
    long frames = (long)(after.frames_walked - before.frames_walked);
    if (frames > 8 * depth) {
        printf("%ld frames walked, %ld deep\n", frames, depth);
        exit(1);
    }
}

/* The address of one root goes all the way down. */
static __attribute__((noinline)) void replace(long depth, Guard **out, long times) {
    if (depth > 0) {
        replace(depth - 1, out, times);
        tally_safepoint();
        return;
    }
    for (long i = 1; i <= times; i++) {
        *out = guard_of(i);
        tally_safepoint();
        expect(dead == i - 1, "replaced by the next");
        tally_safepoint();
        expect(dead == i - 1 && (*out)->number == i, "held by the slot");
    }
    *out = NULL;
    tally_safepoint();
    expect(dead == times, "replaced by null");
    *out = guard_of(times + 1);
}

/* Which of the two roots is stored to is chosen on the way. */
static __attribute__((noinline)) void choose(int first, Guard **one, Guard **two, long number) {
    *(first ? one : two) = guard_of(number);
    Guard **both[] = {one, two};
    expect((*both[!first])->number == number, "chosen");
}

static __attribute__((noinline)) void choose_quietly(int first, Guard **one, Guard **two, long number) {
    Guard **out = first ? one : two;
    *out = guard_of(number);
    tally_safepoint();
}

static void owners(void) {
    Guard *one = NULL, *two = NULL;
    TALLY_ROOT(one, two);
    replace(100, &one, 50);
    tally_safepoint();
    expect(dead == 50 && one->number == 51, "the owner has it");
    one = NULL;
    tally_safepoint();
    expect(dead == 51 && last == 51, "the owner lets go of it");
    choose_quietly(1, &one, &two, 60);
    choose_quietly(0, &one, &two, 61);
    choose_quietly(1, &one, &two, 62);
    tally_safepoint();
    expect(dead == 52 && last == 60, "one of two is replaced");
    choose(0, &one, &two, 63);
    tally_safepoint();
    expect(dead == 53 && last == 61 && one->number == 62 && two->number == 63, "an address that goes elsewhere");
}

/* The same function with memory that is no root: the slot says nothing, but the node is rooted. */
static void foreign(void) {
    Guard *kept = NULL;
    TALLY_ROOT(kept);
    Guard **slot = malloc(sizeof *slot);
    kept = guard_of(70);
    choose_quietly(1, &kept, slot, 71);
    free(slot);
    tally_safepoint();
    expect(kept->number == 71 && last == 70, "beside memory of malloc");
}

/* What the owner had stored before. */
static __attribute__((noinline)) void clear(Guard **out) {
    *out = NULL;
    tally_safepoint();
    expect(dead == 58 && last == 80, "what the owner stored is replaced");
}

static void cleared(void) {
    Guard *kept = guard_of(80);
    TALLY_ROOT(kept);
    tally_safepoint();
    clear(&kept);
}

/* The same by a function that the module does not see called: the owner's next safepoint lets go of it. */
static void clear_unseen(Guard **out) {
    *out = NULL;
    tally_safepoint();
}
static void (*volatile unseen)(Guard **) = clear_unseen;

static void cleared_unseen(void) {
    Guard *kept = guard_of(90);
    TALLY_ROOT(kept);
    tally_safepoint();
    unseen(&kept);
    tally_safepoint();
    expect(dead == 59 && last == 90, "what others replaced");
}

int main(int argc, char **argv) {
    owners();
    tally_safepoint();
    expect(dead == 55, "the owner returns");
    foreign();
    tally_safepoint();
    expect(dead == 57 && last == 71, "the owner returns again");
    cleared();
    cleared_unseen();
    long depth = argc > 1 ? atol(argv[1]) : 32000;
    if (depth > 0) deep(depth);
    tally_collect();
    tally_statistics now;
    tally_get_statistics(&now);
    printf("%ld\n", (long)now.live_objects);
    return 0;
}
