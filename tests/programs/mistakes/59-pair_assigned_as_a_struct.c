/* A value of a tag and a word is assigned as a struct, which is a memcpy.
 * verify: is stored plainly to an object
 * zeal: memcpy of a reference
 */
#include "node.h"

typedef struct Value {
    union {
        void *object;
        long number;
    } as;
    uint8_t tag;
} Value;
TALLY_PAIR_TYPE(Value, tag, as, 0x40, 0x40);

enum { NUMBER = 3, NODE = 0x45 };

typedef struct Values {
    uint64_t length;
    Value at[];
} Values;
TALLY_ARRAY_TYPE_OF_PAIRS(Values, Value, length, at);

int main(void) {
    Values *values = TALLY_NEW_ARRAY(Values, 4);
    Node *node = NULL;
    TALLY_ROOT(values, node);
    work();
    node = make(2);
    Value value = {.as.object = node, .tag = NODE};
    values->at[1] = value; // warned, stops
    node = NULL;
    work();
    work();
    printf("%ld\n", ((Node *)values->at[1].as.object)->value);
}
