/* A function of another module: whoever calls it must expect the worst. */
#include "operations.h"

void call(Node *node) { __asm__ volatile("" : : "r"(node)); }
