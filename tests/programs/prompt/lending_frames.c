/* Nested frames, each of which lends a root, in the way that the first argument says; the second is how many, the third how much
 * garbage may wait, in objects a frame. Frames walked for the sake of drains stay in proportion to what the program does. Exits
 * with 0 if so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long number; } Node;
TALLY_TYPE(Node, next);
typedef uint64_t Word;
TALLY_TAGGED_TYPE(Word, 7, 1, ~7ul);
typedef struct Two { long tag; Node *node; } Two;
TALLY_TYPE(Two, node);

static long levels, waiting;

/* Plain code in a file of its own, and a managed function in another. */
void native_store(void *slot, void *word);
void store_elsewhere(Node **slot, long number);

static Node *fresh(long number) {
    Node *node = TALLY_NEW(Node);
    node->number = number;
    return node;
}

static void expect(int right, const char *what, long at) {
    if (!right) {
        printf("%s: wrong at depth %ld\n", what, at);
        exit(1);
    }
}

/* Below all the frames: what is let go of waits for a walk, but not for long. */
static void churn(long depth) {
    tally_statistics now;
    tally_get_statistics(&now);
    long before = (long)now.live_objects, most = 0;
    for (long i = 0; i < 4 * depth + 20000; i++) {
        fresh(i);
        if (i % 1000 != 0) continue;
        tally_get_statistics(&now);
        if ((long)now.live_objects - before > most) most = (long)now.live_objects - before;
    }
    expect(most <= waiting * depth + 1024, "waiting garbage", most);
}

/* By native code: what it stores has no count, and its only root is left before the drain. */
static __attribute__((noinline)) void give_natively(Node **slot, long number) {
    Node *node = fresh(number);
    TALLY_ROOT(node);
    native_store(slot, node);
}

static __attribute__((noinline)) long native(long depth) {
    Node *node = NULL;
    TALLY_ROOT(node);
    give_natively(&node, depth);
    long below = 0;
    if (depth == 0) churn(levels); else below = native(depth - 1);
    fresh(0);
    expect(node->number == depth, "native", depth);
    return below + 1;
}

/* Through memory: the oldest frame's slot is written to by the newest. */
static Node **slots[1 << 16];
static __attribute__((noinline)) long memory(long depth) {
    Node *node = NULL;
    TALLY_ROOT(node);
    slots[depth] = &node;
    long below = 0;
    if (depth > 0) {
        below = memory(depth - 1);
    } else {
        for (long i = 0; slots[i]; i++) *slots[i] = fresh(i);
    }
    fresh(0);
    expect(node->number == depth, "memory", depth);
    return below + 1;
}

static __attribute__((noinline)) long module(long depth) {
    Node *node = NULL;
    TALLY_ROOT(node);
    store_elsewhere(&node, depth);
    long below = depth == 0 ? 0 : module(depth - 1);
    fresh(0);
    expect(node->number == depth, "module", depth);
    return below + 1;
}

static __attribute__((noinline)) void give_tagged(Word *slot, long number) {
    Node *node = fresh(number);
    TALLY_ROOT(node);
    *slot = (Word)node | 1;
}

static __attribute__((noinline)) long tagged(long depth) {
    Word word = 0;
    TALLY_ROOT_TAGGED(Word, word);
    give_tagged(&word, depth);
    long below = depth == 0 ? 0 : tagged(depth - 1);
    fresh(0);
    expect(((Node *)(word & ~7ul))->number == depth, "tagged", depth);
    return below + 1;
}

static __attribute__((noinline)) void give_in_struct(Two *two, long number) {
    Node *node = fresh(number);
    TALLY_ROOT(node);
    two->tag = number;
    two->node = node;
}

static __attribute__((noinline)) long aggregate(long depth) {
    Two two = {0, NULL};
    TALLY_ROOT_AS(Two, two);
    give_in_struct(&two, depth);
    long below = depth == 0 ? 0 : aggregate(depth - 1);
    fresh(0);
    expect(two.node->number == depth && two.tag == depth, "aggregate", depth);
    return below + 1;
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    long depth = levels = atol(argv[2]);
    waiting = atol(argv[3]);
    tally_statistics before, after;
    tally_get_statistics(&before);
    long (*run)(long) = !strcmp(how, "native") ? native : !strcmp(how, "memory") ? memory
        : !strcmp(how, "module") ? module : !strcmp(how, "tagged") ? tagged : aggregate;
    long frames = run(depth - 1);
    tally_get_statistics(&after);
    expect(frames == depth, how, frames);
    long walked = (long)(after.frames_walked - before.frames_walked + after.roots_walked - before.roots_walked);
    fprintf(stderr, "%s: %ld frames and slots walked\n", how, walked);
    /* Each level comes to a few safepoints, and churn() to eight more. Walks of up to a thousand are never put off: those on the way
     * down and up make the constant, and a stack of that depth is walked each time. */
    if (depth >= 1000 && walked > (1 << 20) + 64 * depth) {
        printf("%s: %ld frames and slots walked, %ld deep\n", how, walked, depth);
        return 1;
    }
    memset(slots, 0, sizeof slots);
    tally_collect();
    tally_get_statistics(&after);
    printf("%ld\n", (long)after.live_objects);
    return 0;
}
