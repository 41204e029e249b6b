/* The same workloads with malloc, and with free where a person would write it: all C files of this folder through `cc -O3`.
 * Sizes, draws and ticks are those of the folder above. What is still in use at the end is not freed: the other side does not either. */
#include "../run.h"

int main(int count, char **arguments) { return run(count, arguments); }
