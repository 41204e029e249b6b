/* The tag of a value is changed alone, in an object with a plain reference beside it: the collector does not see that the word is no
 * reference any more.
 * verify: silent, a tag is no reference
 * zeal: plain store over a reference
 */
#include "values.h"

typedef struct UpVal {
    struct UpVal *next;
    Value closed;
} UpVal;
TALLY_TYPE_OF_PAIRS(UpVal, Value, next, closed);

int main(void) {
    UpVal *list = TALLY_NEW(UpVal);
    TALLY_ROOT(list);
    Value value = {.as.object = make(2), .tag = NODE};
    TALLY_WRITE_PAIR(list, closed, value);
    TALLY_WRITE(list, next, list);
    work();
    list->closed.tag = NUMBER; // stops
    work();
    printf("%d\n", list->closed.tag);
}
