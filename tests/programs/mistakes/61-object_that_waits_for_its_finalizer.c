/* An object with a finalizer is used after one call, and nothing holds it: it waits for that finalizer, and is dead all the same.
 * verify: the reference
 * zeal: use of a dead object
 */
#include "node.h"

typedef struct File { long number; } File;
static void close_file(File *file) { file->number = -1; }
TALLY_FINALIZED_TYPE(File, close_file);

int main(void) {
    File *file = TALLY_NEW(File);
    file->number = 7;
    puts("a call"); // it allocates nothing, so no finalizer runs
    printf("%ld\n", file->number); // warned, stops
}
