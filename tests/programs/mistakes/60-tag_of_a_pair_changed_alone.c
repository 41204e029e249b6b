/* The tag of a value that is a reference is changed alone: the collector does not see that the word is none any more.
 * verify: silent, a tag is no reference
 * zeal: plain store over a reference
 */
#include "values.h"

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
