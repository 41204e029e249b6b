/* The command line of both executables: `EXECUTABLE WORKLOAD [small|OBJECTS [ROUNDS]]` prints `WORKLOAD sum=S gap_us=G`. OBJECTS is how
 * many objects live at a time where a workload has a large live heap, ROUNDS how many rings are made beside it. */
#ifndef RUN_H
#define RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "workload.h"

uint64_t gap_ns_max;
Sizes sizes = {
    .depth_off = 0, .array_length = 500000, .live_objects = 1 << 20, .rounds = 1 << 20, .queue_bits = 16, .cycle_bits = 20,
    .ring_length = {4, 64, 1024, 65536}, .list_length = 10000000, .cache_bits = 16, .access_bits = 22,
    .pool_length = 200000, .tree_depth = 17, .replacements = 250000,
};
static const Sizes small_sizes = {
    .depth_off = 7, .array_length = 5000, .live_objects = 1 << 10, .rounds = 1 << 11, .queue_bits = 7, .cycle_bits = 12,
    .ring_length = {4, 16, 128, 1024}, .list_length = 20000, .cache_bits = 8, .access_bits = 14,
    .pool_length = 200, .tree_depth = 9, .replacements = 2000,
};

/* The status to exit with. */
static int run(int count, char **arguments) {
    int small = count == 3 && strcmp(arguments[2], "small") == 0;
    long objects = count > 2 && !small ? strtol(arguments[2], NULL, 10) : 0;
    long rounds = count > 3 ? strtol(arguments[3], NULL, 10) : 0;
    if (count < 2 || count > 4 || (count > 2 && !small && (objects < 1000 || objects > 1000000000))
        || (count > 3 && (rounds < 1 || rounds > 500000000))) {
        fprintf(stderr,
            "usage: %s bintrees14|bintrees16|bintrees18|gcbench|cycles|mutate|sustained|list|bigheap|fifo|lru|rings|parents|havlak|toggle|nop"
            " [small|OBJECTS [ROUNDS]]\n"
            "OBJECTS, from 1000 to a billion, is the size of the live heap of mutate, sustained, bigheap, fifo, havlak and toggle,\n"
            "and of a list. ROUNDS is how many rings bigheap and fifo make, and a quarter of those of toggle; how often lru, rings,\n"
            "parents and havlak replace something; how many nodes cycles drops (of lru and cycles the power of two below).\n",
            arguments[0]);
        return 2;
    }
    const char *name = arguments[1];
    long sum = 0;
    if (small) sizes = small_sizes;
    if (objects) sizes.live_objects = sizes.list_length = objects;
    if (rounds) {
        sizes.rounds = sizes.replacements = rounds;
        sizes.access_bits = sizes.cycle_bits = 63 - __builtin_clzl(rounds);
    }
    if (strcmp(name, "bintrees14") == 0) sum = bintrees(14 - sizes.depth_off);
    else if (strcmp(name, "bintrees16") == 0) sum = bintrees(16 - sizes.depth_off);
    else if (strcmp(name, "bintrees18") == 0) sum = bintrees(18 - sizes.depth_off);
    else if (strcmp(name, "gcbench") == 0) sum = gcbench();
    else if (strcmp(name, "cycles") == 0) sum = cycles();
    else if (strcmp(name, "mutate") == 0) sum = mutate(10);
    else if (strcmp(name, "sustained") == 0) sum = mutate(100);
    else if (strcmp(name, "list") == 0) sum = list();
    else if (strcmp(name, "bigheap") == 0) sum = bigheap();
    else if (strcmp(name, "fifo") == 0) sum = fifo();
    else if (strcmp(name, "lru") == 0) sum = lru();
    else if (strcmp(name, "rings") == 0) sum = rings();
    else if (strcmp(name, "parents") == 0) sum = parents();
    else if (strcmp(name, "havlak") == 0) sum = havlak();
    else if (strcmp(name, "toggle") == 0) sum = toggle();
    else if (strcmp(name, "nop") != 0) {
        fprintf(stderr, "%s: no workload \"%s\"\n", arguments[0], name);
        return 2;
    }
    printf("%s sum=%ld gap_us=%lu\n", name, sum, (unsigned long)(gap_ns_max / 1000));
    return 0;
}

#endif
