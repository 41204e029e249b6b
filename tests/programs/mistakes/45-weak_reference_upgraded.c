/* What a weak reference gives is held by nothing after the next call.
 * verify: from @tally_weak_get
 * zeal: `Node`
 */
#include "node.h"

int main(void) {
    Node *node = make(1);
    void *weak = NULL;
    TALLY_ROOT(node, weak);
    weak = tally_weak_new(node);
    Node *again = tally_weak_get(weak);
    node = NULL;
    work();
    printf("%ld\n", again->value); // warned, stops
}
