/* Rings with a finalizer that makes an object: eight million, of which one is alive at a time. A mark that comes while finalizers wait must not
 * take what they wait for as alive. Prints nothing but what is too much memory. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>
#include "../resident.h"

typedef struct Note { long number; } Note;
TALLY_TYPE(Note);
typedef struct Ring { struct Ring *self; long bytes[5]; } Ring;
static void end(Ring *ring);
TALLY_FINALIZED_TYPE(Ring, end, self);
static long ended;

static void end(Ring *ring) {
    Note *note = TALLY_NEW(Note);
    (void)ring;
    note->number = 1;
    TALLY_ROOT(note);
    tally_safepoint();
    note->number = 2;
    ended++;
}
static void make(void) {
    Ring *ring = TALLY_NEW(Ring);
    TALLY_ROOT(ring);
    ring->bytes[0] = 1;
    TALLY_WRITE(ring, self, ring);
}
int main(int argc, char **argv) {
    const long rings = argc > 1 ? atol(argv[1]) : 8000000;
    long before = resident_kib(), most = 0;
    for (long i = 0; i < rings; i++) {
        make();
        if (i % 65536 == 0 && resident_kib() > most) most = resident_kib();
    }
    tally_collect();
    if (ended != rings) printf("%ld finalizers have run\n", ended);
    long mib = (most - before) / 1024;
    if (mib > 90) printf("%ld MiB\n", mib);
    return 0;
}
