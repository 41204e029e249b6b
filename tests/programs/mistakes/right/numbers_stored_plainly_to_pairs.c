/* Numbers are stored plainly to values of a tag and a word, and over numbers; references by TALLY_WRITE_PAIR. */
#include "../values.h"

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
