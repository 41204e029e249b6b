/* The tag of a value that is a reference is changed alone: the collector does not see that the word is none any more.
 * verify: silent, a tag is no reference
 * zeal: plain store over a reference
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
    TALLY_ROOT(values);
    Value value = {.as.object = make(2), .tag = NODE};
    TALLY_WRITE_PAIR(values, at[1], value);
    work();
    values->at[1].tag = NUMBER; // stops
    work();
    printf("%d\n", values->at[1].tag);
}
