/* A plain reference that stands beside values with tags is assigned like any other field: no barrier sees it.
 * verify: is stored plainly to an object
 * zeal: plain store of a reference
 */
#include "values.h"

typedef struct UpVal {
    Value closed;
    struct UpVal *next;
} UpVal;
TALLY_TYPE_OF_PAIRS(UpVal, Value, closed, next);

static inline UpVal *open_one(UpVal *next) {
    TALLY_ROOT(next);
    UpVal *made = TALLY_NEW(UpVal);
    TALLY_WRITE(made, next, next);
    return made;
}

int main(void) {
    UpVal *list = open_one(NULL);
    TALLY_ROOT(list);
    work();
    list->next = open_one(NULL); // warned, stops
    work();
    work();
    printf("%d\n", list->next->closed.tag);
}
