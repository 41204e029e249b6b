/* A ring of resources, of which each new one takes the place of the oldest. Finalizers run although the program lets go of as much
 * as it makes, all the time. Prints nothing but how many resources were open at once, if that is too many. */
#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>

enum { KEPT = 8192, MADE = 600000, BYTES = 600 };

typedef struct Handle { char *buffer; } Handle;
static long open_now;

static void close_handle(Handle *handle) {
    free(handle->buffer);
    open_now--;
}
TALLY_FINALIZED_TYPE(Handle, close_handle);
typedef struct Ring { uint64_t length; Handle *at[]; } Ring;
TALLY_ARRAY_TYPE(Ring, length, at);

static void replace(Ring *ring, long place) {
    TALLY_ROOT(ring);
    Handle *handle = TALLY_NEW(Handle);
    TALLY_ROOT(handle);
    handle->buffer = NULL;
    tally_external_bytes(handle, BYTES);
    handle->buffer = malloc(16);
    handle->buffer[0] = 1;
    open_now++;
    TALLY_WRITE(ring, at[place], handle);
}

int main(void) {
    Ring *ring = TALLY_NEW_ARRAY(Ring, KEPT);
    TALLY_ROOT(ring);
    long most = 0;
    for (long i = 0; i < MADE; i++) {
        replace(ring, i % KEPT);
        if (open_now > most) most = open_now;
    }
    if (most > MADE / 2) printf("%ld of %d were open at once\n", most, MADE);
    return 0;
}
