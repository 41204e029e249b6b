/* The workloads on Tally's heap: all C files of this folder through `tally build … -o tally-deferred --opt 3`. */
#include "run.h"

int main(int count, char **arguments) { return run(count, arguments); }
