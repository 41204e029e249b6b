/* A function of another module: its callers must expect the worst. */
#include "operations.h"

void call(Node *node) { __asm__ volatile("" : : "r"(node)); }
