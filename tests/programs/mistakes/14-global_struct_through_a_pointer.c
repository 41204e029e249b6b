/* A struct of the program's, reached through a parameter, is given a reference.
 * verify: is stored plainly to the global variable @registry
 * zeal: `Node`
 */
#include "node.h"

struct Registry {
    Node *first;
    long count;
};
static struct Registry registry;

static void enter(struct Registry *into, long value) {
    Node *node = make(value);
    into->first = node; // warned
    into->count++;
}

int main(void) {
    enter(&registry, 1);
    work();
    printf("%ld\n", registry.first->value); // stops
}
