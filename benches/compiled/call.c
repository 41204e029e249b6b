/* Functions of another module: their callers must expect the worst. */
#include "operations.h"

void lend(Node **root) { __asm__ volatile("" : : "r"(root) : "memory"); }
void call(Node *node) { __asm__ volatile("" : : "r"(node)); }
