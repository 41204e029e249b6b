/* A value of a tag and a word is written in two stores: with the tag's the word becomes a reference, and no barrier sees it.
 * verify: is stored plainly to an object
 * zeal: plain store of a reference
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
    values->at[1].as.object = node; // warned
    values->at[1].tag = NODE; // stops
    node = NULL;
    work();
    work();
    printf("%ld\n", ((Node *)values->at[1].as.object)->value);
}
