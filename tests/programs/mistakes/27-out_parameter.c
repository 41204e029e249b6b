/* A function returns a reference through a pointer to a local that is no root.
 * verify: from @try_make
 * zeal: `Node`
 */
#include "node.h"

static int try_make(long value, Node **out) {
    *out = make(value);
    return 1;
}

int main(void) {
    Node *made;
    if (!try_make(1, &made)) return 1;
    work();
    printf("%ld\n", made->value); // warned, stops
}
