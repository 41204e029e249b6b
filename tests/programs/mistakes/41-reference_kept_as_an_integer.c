/* A reference is kept in an integer over a call.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    uintptr_t bits = (uintptr_t)make(1);
    work();
    printf("%ld\n", ((Node *)bits)->value); // warned, stops
}
