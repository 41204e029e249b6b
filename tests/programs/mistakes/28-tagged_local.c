/* A tagged word in a local that is no TALLY_ROOT_TAGGED.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

typedef uint64_t Value;
TALLY_TAGGED_TYPE(Value, 1, 0, ~UINT64_C(1));

int main(void) {
    Value value = (Value)make(1);
    work();
    if ((value & 1) == 0) printf("%ld\n", ((Node *)value)->value); // warned, stops
}
