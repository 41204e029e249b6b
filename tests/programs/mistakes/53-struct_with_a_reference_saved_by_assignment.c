/* A local struct with a reference is assigned to memory from malloc, which is a memcpy in IR.
 * verify: is stored plainly to memory from malloc
 * zeal: `Node`
 */
#include "node.h"

struct Frame {
    Node *value;
    long line;
};

int main(void) {
    struct Frame frame = {make(1), 2};
    struct Frame *saved = malloc(sizeof *saved);
    *saved = frame; // warned
    work();
    printf("%ld\n", saved->value->value); // stops
    free(saved);
}
