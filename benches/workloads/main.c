/* The workloads on Tally's heap: all C files of this folder through `tally build … -o tally-deferred --opt 3`. */
#include <tally_gc.h>
#include "run.h"

int main(int count, char **arguments) {
    tally_safepoint(); /* main holds no object itself; this says that it belongs to a garbage-collected program */
    return run(count, arguments);
}
