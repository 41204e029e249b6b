/* A global is published atomically: it is no root for that.
 * verify: is stored plainly to the global variable @shared
 * zeal: `Node`
 */
#include <stdatomic.h>
#include "node.h"

static _Atomic(Node *) shared;

int main(void) {
    atomic_store(&shared, make(1)); // warned
    work();
    printf("%ld\n", atomic_load(&shared)->value); // stops
}
