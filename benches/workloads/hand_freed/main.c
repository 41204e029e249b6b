/* The same workloads with malloc, and with free where a person would write it: all C files of this folder through `cc -O3`.
 * Sizes, draws and ticks are those of the folder above. What the program still
 * uses when it ends is not freed, here and there. */
#include "../run.h"

int main(int count, char **arguments) { return run(count, arguments); }
