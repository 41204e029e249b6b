/* A thread-local variable holds the current object.
 * verify: is stored plainly to the global variable @current
 * zeal: `Node`
 */
#include "node.h"

static _Thread_local Node *current;

int main(void) {
    current = make(1); // warned
    work();
    printf("%ld\n", current->value); // stops
}
