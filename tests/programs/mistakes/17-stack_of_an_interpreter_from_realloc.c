/* The value stack of an interpreter grows by realloc; its words are no roots.
 * verify: is stored plainly to memory from malloc
 * zeal: `Node`
 */
#include "node.h"

static Node **stack;
static long depth, room;

static void push(Node *value) {
    TALLY_ROOT(value);
    if (depth == room) stack = realloc(stack, (room = room * 2 + 4) * sizeof *stack);
    stack[depth++] = value; // warned
}

int main(void) {
    push(make(1));
    push(make(2));
    printf("%ld\n", stack[0]->value + stack[1]->value); // stops
}
