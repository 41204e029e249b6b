/* Finalizers that make objects with finalizers, which make others, without end: main goes on. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct File {
    struct File *other;
    long kind;
} File;

enum { ENDS, ANOTHER, RING, TWO_LEVELS };

static long called;

static void finalize(File *file);
TALLY_FINALIZED_TYPE(File, finalize, other);

__attribute__((noinline)) static void drop(long kind) {
    File *file = TALLY_NEW(File);
    file->kind = kind;
}

__attribute__((noinline)) static void drop_ring(void) {
    File *file = TALLY_NEW(File);
    TALLY_ROOT(file);
    file->kind = RING;
    TALLY_WRITE(file, other, file);
}

/* One that dies while this runs, and one that dies after it. */
__attribute__((noinline)) static void drop_inside(void) {
    File *outer = TALLY_NEW(File);
    TALLY_ROOT(outer);
    outer->kind = TWO_LEVELS;
    drop(ENDS);
    tally_safepoint();
}

static void finalize(File *file) {
    called++;
    if (file->kind == ANOTHER) drop(ANOTHER);
    if (file->kind == RING) drop_ring();
    if (file->kind == TWO_LEVELS) drop_inside();
}

/* What is dropped dies as it returns. */
__attribute__((noinline)) static void make(int kind) {
    if (kind == RING) drop_ring();
    else if (kind == TWO_LEVELS) drop_inside();
    else drop(kind);
}

int main(void) {
    tally_finalize_at_exit(0);
    for (int kind = ANOTHER; kind <= TWO_LEVELS; kind++) {
        make(kind);
        tally_safepoint();
        printf("%d: a safepoint has ended\n", kind);
        tally_collect();
        printf("%d: a collection has ended\n", kind);
        int parts = 0;
        while (!tally_step(1000000) && parts < 10000) parts++;
        printf("%d: a collection in parts %s\n", kind, parts < 10000 ? "has ended" : "goes on");
    }
    printf("%s\n", called > 3 && called < 1000000 ? "some were called" : "too many were called, or none");
    return 0;
}
