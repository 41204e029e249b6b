/* A static local caches an object, by plain assignment.
 * verify: is stored plainly to the global variable @cached.cache
 * zeal: `Node`
 */
#include "node.h"

static Node *cached(void) {
    static Node *cache;
    if (!cache) cache = make(1); // warned
    return cache;
}

int main(void) {
    cached();
    work();
    printf("%ld\n", cached()->value); // stops
}
