/* Two hundred thousand rings die at once, and a collection in steps finalizes them: those registered last come first, and each is put in order
 * once. Prints how many had their turn, and how often one came before one that was registered later. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Ring { struct Ring *self; long number; } Ring;
static void end(Ring *ring);
TALLY_FINALIZED_TYPE_AS(Ring, TALLY_FINALIZE_REVERSE, end, self);
static long ended, last, wrong;

static void end(Ring *ring) {
    ended++;
    wrong += ring->number > last;
    last = ring->number;
}
static void make(long number) {
    Ring *ring = TALLY_NEW(Ring);
    TALLY_ROOT(ring);
    ring->number = number;
    TALLY_WRITE(ring, self, ring);
}
int main(void) {
    const long rings = 200000;
    for (long round = 0; round < 3; round++) {
        tally_stop();
        for (long i = 0; i < rings; i++) make(i);
        last = rings;
        long steps = 1;
        while (!tally_step(100000)) steps++;
        if (steps < 2) printf("one step did all\n");
    }
    printf("%ld %ld\n", ended, wrong);
}
