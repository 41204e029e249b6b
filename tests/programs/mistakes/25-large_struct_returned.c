/* The same with a struct that is returned through memory.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

struct Result {
    long status, line, column;
    Node *node;
};

static struct Result parse(long value) {
    struct Result result = {0, 1, 2, NULL};
    result.node = make(value);
    return result;
}

int main(void) {
    struct Result result = parse(1);
    work();
    printf("%ld\n", result.node->value); // warned, stops
}
