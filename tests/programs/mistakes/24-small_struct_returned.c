/* A function returns a reference in a struct, in registers, and the caller calls before it reads it.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

struct Result {
    Node *node;
    long status;
};

static struct Result find(long value) {
    struct Result result = {make(value), 0};
    return result;
}

int main(void) {
    struct Result result = find(1);
    work();
    printf("%ld\n", result.node->value); // warned, stops
}
