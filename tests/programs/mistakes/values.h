/* Values of a tag and a word beside it, as some of the mistakes in this folder have them. */
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
