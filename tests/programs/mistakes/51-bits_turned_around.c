/* A reference is hidden in an integer whose bits are turned around.
 * verify: silent, it cannot know what the bits mean
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    uint64_t hidden = (uint64_t)make(1) ^ UINT64_C(0xffffffffffffffff);
    work();
    printf("%ld\n", ((Node *)(hidden ^ UINT64_C(0xffffffffffffffff)))->value); // stops
}
