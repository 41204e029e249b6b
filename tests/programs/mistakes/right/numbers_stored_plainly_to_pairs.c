/* Numbers are stored plainly to values of a tag and a word, and over numbers; references by TALLY_WRITE_PAIR. */
#include "../node.h"

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
    work();
    for (long i = 0; i < 4; i++) {
        values->at[i].as.number = i;
        values->at[i].tag = NUMBER;
    }
    Value value = {.as.object = make(2), .tag = NODE}, number = {.as.number = 7, .tag = NUMBER};
    TALLY_WRITE_PAIR(values, at[1], value);
    work();
    values->at[2].as.number++;
    values->at[3] = number;
    TALLY_WRITE_PAIR(values, at[1], number);
    work();
    values->at[1].as.number = 8;
    printf("%ld %ld %ld\n", values->at[1].as.number, values->at[2].as.number, values->at[3].as.number);
}
