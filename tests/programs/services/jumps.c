/* Finalizers, callbacks of weak references, and what is called about memory, left by longjmp: everything else goes on. */
#include <setjmp.h>
#include <stdio.h>
#include <tally_gc.h>

typedef struct File {
    struct File *other;
    long number;
} File;

enum { JUMPS = 1, DROPS = 2, LANDS = 3 };

static jmp_buf back, inner;
static long made, called, jumped, told, landed;

static void finalize(File *file);
TALLY_FINALIZED_TYPE(File, finalize, other);

typedef struct Big {
    uint64_t length;
    char bytes[];
} Big;
TALLY_DATA_ARRAY_TYPE(Big, length, bytes);

__attribute__((noinline)) static File *file(long number) {
    File *file = TALLY_NEW(File);
    file->number = number;
    made++;
    return file;
}

/* One that jumps to the finalizer that has made it, under the prompt plan; else to main. */
__attribute__((noinline)) static void drop_one_that_lands(void) {
    File *one = file(LANDS);
    TALLY_ROOT(one);
    one->other = NULL;
    File *two = file(0);
    TALLY_WRITE(one, other, two);
}

static int inside;

static void finalize(File *file) {
    called++;
    if (file->number == JUMPS) {
        jumped++;
        longjmp(back, 1);
    }
    if (file->number == LANDS) {
        jumped++;
        if (inside) longjmp(inner, 1);
        longjmp(back, 1);
    }
    if (file->number == DROPS) {
        inside = 1;
        if (setjmp(inner) == 0) {
            drop_one_that_lands();
            tally_safepoint();
        } else {
            landed++;
        }
        inside = 0;
    }
}

static void hook(void *object, const char *type, const char *message, void *exception) {
    (void)object, (void)type, (void)message;
    if (!exception) told++;
}

/* It jumps, and holds another, which holds another. */
__attribute__((noinline)) static void chain(void) {
    File *one = file(JUMPS);
    TALLY_ROOT(one);
    File *two = file(0);
    TALLY_ROOT(two);
    TALLY_WRITE(one, other, two);
    File *three = file(0);
    TALLY_WRITE(two, other, three);
}

/* Two of four jump. */
__attribute__((noinline)) static void ring(void) {
    File *first = file(JUMPS), *last = first;
    TALLY_ROOT(first, last);
    for (int i = 1; i < 4; i++) {
        File *next = file(i == 2 ? JUMPS : 0);
        TALLY_WRITE(last, other, next);
        last = next;
    }
    TALLY_WRITE(last, other, first);
}

__attribute__((noinline)) static void nested(void) {
    File *one = file(DROPS);
    TALLY_ROOT(one);
    File *two = file(0);
    TALLY_WRITE(one, other, two);
}

/* Deeper than the frames that the jump has left, without writing to most of them. */
__attribute__((noinline)) static long deep(int depth) {
    volatile char room[512];
    room[0] = (char)depth;
    if (depth == 0) {
        File *one = file(0);
        TALLY_ROOT(one);
        tally_safepoint();
        return one->number;
    }
    return deep(depth - 1) + room[0];
}

static void safepoint(void) { tally_safepoint(); }
static void collect(void) { tally_collect(); }
static void steps(void) {
    for (int i = 0; i < 1000 && !tally_step(100000); i++) {}
}

static long callbacks;
static void when_cleared(void *weak) {
    (void)weak;
    callbacks++;
    longjmp(back, 1);
}

__attribute__((noinline)) static void *watched(void) {
    File *one = file(0);
    TALLY_ROOT(one);
    return tally_weak_new_with(one, when_cleared);
}

static void watch(void) {
    void *one = watched(), *two = NULL;
    TALLY_ROOT(one, two);
    two = watched();
    tally_collect();
    /* They are needed until here, or their callbacks would not be called under the deferred plan. */
    if (tally_weak_get(one) || tally_weak_get(two)) printf("a target is left\n");
}

static long soft, asked;
static void above(uint64_t used, void *context) {
    (void)used, (void)context;
    soft++;
    longjmp(back, 1);
}
static int no_room(uint64_t bytes, void *context) {
    (void)bytes, (void)context;
    asked++;
    longjmp(back, 1);
}

__attribute__((noinline)) static void grow(void) {
    tally_statistics now;
    tally_get_statistics(&now);
    tally_set_limits(now.used_bytes + (1 << 20), now.used_bytes + (64 << 20));
    Big *big = TALLY_NEW_ARRAY(Big, 4 << 20);
    TALLY_ROOT(big);
    for (int i = 0; i < 3; i++) tally_safepoint();
}

__attribute__((noinline)) static void burst(void) { TALLY_TRY_NEW_ARRAY(Big, 1ull << 30); }

static int step;

/* Each step may be left by a jump, whose finalizer was made by an earlier one. */
static void act(int number) {
    static void (*const makers[])(void) = {chain, ring, nested};
    static void (*const ends[])(void) = {safepoint, collect, steps};
    if (number < 90) {
        int round = number / 3;
        if (number % 3 == 0) makers[round % 3]();
        if (number % 3 == 1) ends[round / 3 % 3]();
        if (number % 3 == 2) deep(round);
    } else if (number < 120) {
        collect();
    } else if (number < 150) {
        if (number % 3 == 0) watch();
        else collect();
    } else if (number == 150) {
        tally_on_soft_limit(above, NULL);
        tally_on_out_of_memory(no_room, NULL);
    } else if (number < 180) {
        if (number % 3 == 0) grow();
        else collect();
    } else {
        burst();
    }
}

int main(void) {
    tally_on_finalizer_error(hook);
    setjmp(back);
    inside = 0;
    while (step < 185) act(step++);
    tally_on_soft_limit(NULL, NULL);
    printf("finalizers: %s\n", called == made ? "all" : "some are missing");
    printf("jumps that the hook was told of: %s\n", jumped >= 30 && told == jumped + callbacks ? "all" : "some are missing");
    printf("callbacks: %s\n", callbacks >= 10 ? "called each time" : "not called any more");
    printf("soft limit: %s\n", soft >= 3 ? "told each time" : "not told any more");
    printf("out of memory: %ld times asked\n", asked);
    return 0;
}
