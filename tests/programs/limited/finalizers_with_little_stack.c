/* Finalizers that run, and collections around them, when a hundred kilobytes are left of a stack of eight megabytes, and managed
 * frames fill the rest. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <tally_gc.h>

typedef struct File { struct File *next, *other; long number; } File;
static long closed, sum, lost;
static char *lowest;

static void close_file(File *file);
TALLY_FINALIZED_TYPE(File, close_file, next, other);

static void close_file(File *file) {
    char line[1024];
    snprintf(line, sizeof line, "%ld", file->number);
    closed++, sum += file->number;
}

static void rings(void) {
    for (long i = 0; i < 50; i++) {
        File *one = TALLY_NEW(File);
        TALLY_ROOT(one);
        one->number = i;
        TALLY_WRITE(one, next, one);
        File *two = TALLY_NEW(File);
        two->number = 100;
        TALLY_WRITE(two, other, one);
        if (i % 2) TALLY_WRITE(one, other, two);
    }
    tally_collect();
}

static __attribute__((noinline)) long descend(long depth, File *above) {
    TALLY_ROOT(above);
    char here[200];
    here[depth % 200] = 1;
    if (here - lowest < 100 << 10) {
        rings();
        return here[depth % 200];
    }
    long below = descend(depth + 1, above);
    if (above->number != 7) lost++;
    return below + here[depth % 200];
}

int main(void) {
    pthread_attr_t attributes;
    void *low;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    lowest = low;
    File *file = TALLY_NEW(File);
    TALLY_ROOT(file);
    file->number = 7;
    long depth = descend(0, file);
    printf("%d %ld closed, sum %ld, %ld lost\n", depth > 5000, closed, sum, lost);
    return 0;
}
