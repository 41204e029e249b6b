/* qsort moves the elements of an array object between a part that is logged and parts that are not.
 * verify: moves references of an object without the barrier
 * zeal: COUNT violated
 * prompt: harmless because each element is counted wherever it stands
 */
#include "node.h"

static int by_value(const void *a, const void *b) {
    long x = (*(Node *const *)a)->value, y = (*(Node *const *)b)->value;
    return (x > y) - (x < y);
}

int main(void) {
    Nodes *few = TALLY_NEW_ARRAY(Nodes, 64), *many = NULL;
    TALLY_ROOT(few, many);
    for (long i = 0; i < 64; i++) TALLY_WRITE(few, at[i], make(64 - i));
    many = TALLY_NEW_ARRAY(Nodes, 2048);
    for (long i = 0; i < 2048; i++) TALLY_WRITE(many, at[i], few->at[i / 32]);
    work();
    TALLY_WRITE(many, at[0], many->at[0]);
    qsort(many->at, many->length, sizeof many->at[0], by_value); // warned
    work();
    printf("%ld %ld\n", many->at[0]->value, few->at[0]->value);
}
