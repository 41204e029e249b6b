/* A list of as many nodes as the first argument says is dropped; from then on the program measures the longest time between two of its
 * own statements: on the clock, and in processor time, which other programs on the machine do not lengthen. With a second argument it
 * counts instead what dies between two statements, until all is dead. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Guard { long number; } Guard;
static long guards;
static void leave(Guard *guard) { guards += guard->number; }
TALLY_FINALIZED_TYPE(Guard, leave);

static long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static Node *list_of(long count) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < count; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i;
        TALLY_WRITE(node, next, list);
        list = node;
    }
    return list;
}

static void guarded(long number) {
    Guard *guard = TALLY_NEW(Guard);
    TALLY_ROOT(guard);
    guard->number = number;
    if (now(CLOCK_MONOTONIC) == 0) puts("never");
}

static long live(void) {
    tally_statistics statistics;
    tally_get_statistics(&statistics);
    return (long)statistics.live_objects;
}

static int count_stops(void) {
    long stops = 0, most = 0;
    for (long before = live(); before > 0; stops++) {
        guarded(stops);
        long now = live();
        if (guards != stops || now >= before) {
            printf("stop %ld: the guard is late, or nothing died\n", stops);
            return 1;
        }
        guards = 0;
        if (before - now > most) most = before - now;
        before = now;
    }
    printf("%ld stops, at most %ld deaths in one\n", stops, most);
    return 0;
}

int main(int argc, char **argv) {
    Node *list = list_of(argc > 1 ? atol(argv[1]) : 10000000);
    TALLY_ROOT(list);
    if (argc > 2) {
        list = NULL;
        return count_stops();
    }
    long longest = 0, longest_cpu = 0, first = 0, before = now(CLOCK_MONOTONIC), end = before + 1500000000L;
    long before_cpu = now(CLOCK_THREAD_CPUTIME_ID);
    list = NULL;
    for (long i = 1; before < end; i++) {
        guarded(i);
        if (guards != i) {
            printf("the guard of statement %ld is late\n", i);
            return 1;
        }
        guards = 0;
        long time = now(CLOCK_MONOTONIC), gap = time - before, cpu = now(CLOCK_THREAD_CPUTIME_ID);
        if (i == 1) first = gap;
        if (gap > longest) longest = gap;
        if (cpu - before_cpu > longest_cpu) longest_cpu = cpu - before_cpu;
        before = time, before_cpu = cpu;
    }
    printf("first stop %ld us, longest %ld us, of processor time %ld us\n", first / 1000, longest / 1000, longest_cpu / 1000);
}
