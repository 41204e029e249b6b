/* What a finalizer may do about memory: a loop of steps ends; an allocation finds the memory of what was dying when the finalizer was
 * called, with a pause goal, too, under which that goes in slices. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node {
    struct Node *next;
    long value[7];
} Node;
TALLY_TYPE(Node, next);

typedef struct Maker {
    int steps;
} Maker;

enum { LIMIT = 4 << 20, MADE = 10000 };

static long made, ran;

static void finalize(Maker *maker) {
    ran++;
    if (maker->steps) {
        long steps = 0;
        while (!tally_step(1000000)) {
            if (++steps == 10000) printf("the steps have no end\n");
            if (steps == 10000) return;
        }
        return;
    }
    Node *list = NULL;
    TALLY_ROOT(list);
    for (made = 0; made < MADE; made++) {
        Node *node = TALLY_TRY_NEW(Node);
        if (!node) break;
        TALLY_WRITE(node, next, list);
        list = node;
    }
}
TALLY_FINALIZED_TYPE(Maker, finalize);

__attribute__((noinline)) static void steps(void) {
    Maker *maker = TALLY_NEW(Maker);
    maker->steps = 1;
}

/* A list of most of the heap is dropped, and then the one with the finalizer. */
__attribute__((noinline)) static void beside_garbage(int collect) {
    Node *list = NULL;
    Maker *maker = NULL;
    TALLY_ROOT(list, maker);
    tally_set_limits(0, LIMIT);
    maker = TALLY_NEW(Maker);
    maker->steps = 0;
    for (;;) {
        Node *node = TALLY_TRY_NEW(Node);
        if (!node) break;
        TALLY_WRITE(node, next, list);
        list = node;
    }
    list = NULL;
    maker = NULL;
    long before = ran;
    if (collect) tally_collect();
    for (long i = 0; ran == before && i < 100000; i++) {
        list = TALLY_NEW(Node);
        list = NULL;
        tally_safepoint();
    }
    tally_set_limits(0, 0);
}

int main(void) {
    steps();
    tally_collect();
    printf("%ld\n", ran);
    for (int goal = 0; goal < 2; goal++) {
        tally_set_pause_goal(goal ? 1000000 : 0);
        for (int collect = 0; collect < 2; collect++) {
            made = 0;
            beside_garbage(collect);
            printf("%ld %ld\n", ran, made);
        }
    }
    tally_collect();
    return 0;
}
