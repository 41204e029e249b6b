/* towers: thirteen disks move between three piles, after "Are We Fast Yet". The disks live for a round, each with
 * many owners.
 */
#include "program.h"

typedef struct Disk {
    struct Disk *below;
    int size;
} Disk;
TALLY_TYPE(Disk, below);

typedef struct Piles {
    Disk *top[3];
    long moves;
} Piles;
TALLY_TYPE(Piles, top[0], top[1], top[2]);

static void push(Piles *piles, Disk *disk, int pile) {
    Disk *top = piles->top[pile];
    if (top && disk->size >= top->size) abort(); /* a large disk would lie on a small one */
    TALLY_WRITE(disk, below, top);
    TALLY_WRITE(piles, top[pile], disk);
}

static Disk *pop(Piles *piles, int pile) {
    Disk *disk = piles->top[pile];
    TALLY_ROOT(disk);
    TALLY_WRITE(piles, top[pile], disk->below);
    TALLY_WRITE(disk, below, NULL);
    return disk;
}

static void move_disks(Piles *piles, int count, int from, int to) {
    TALLY_ROOT(piles);
    int third = 3 - from - to;
    if (count > 1) move_disks(piles, count - 1, from, third);
    push(piles, pop(piles, from), to);
    piles->moves++;
    if (count > 1) move_disks(piles, count - 1, third, to);
}

static uint64_t towers(long size) {
    uint64_t sum = 0;
    for (long round = 0; round < size; round++) {
        Piles *piles = TALLY_NEW(Piles);
        TALLY_ROOT(piles);
        piles->moves = 0;
        int disks = size < 10 ? 5 : 13;
        for (int i = disks; i >= 0; i--) {
            Disk *disk = TALLY_NEW(Disk);
            disk->size = i;
            push(piles, disk, 0);
        }
        move_disks(piles, disks, 0, 1);
        sum = mix(sum, piles->moves);
        while (piles->top[1]) {
            Disk *disk = pop(piles, 1);
            sum = mix(sum, disk->size);
            FREE(disk);
        }
        BY_HAND(free(piles->top[0]); free(piles);)
        tick();
    }
    return sum;
}
PROGRAM(towers, 15000, 20, 1)
