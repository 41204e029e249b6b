/* The root holds a pointer to a field, not the object.
 * verify: a pointer into an object is stored to a root
 * zeal: which is byte 16 of the `Node`
 */
#include "node.h"

int main(void) {
    long *value = &make(1)->value; // warned
    TALLY_ROOT(value);
    work();
    printf("%ld\n", *value);
}
