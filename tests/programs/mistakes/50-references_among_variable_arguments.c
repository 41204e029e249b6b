/* References passed in a variable argument list are in no root while the callee allocates.
 * verify: silent, it does not follow va_arg
 * zeal: `Node`
 */
#include <stdarg.h>
#include "node.h"

static long sum(int n, ...) {
    va_list list;
    va_start(list, n);
    long sum = 0;
    for (int i = 0; i < n; i++) {
        sum += work();
        sum += va_arg(list, Node *)->value; // stops
    }
    va_end(list);
    return sum;
}

int main(void) {
    Node *one = make(1);
    TALLY_ROOT(one);
    Node *two = make(2);
    TALLY_WRITE(one, next, two);
    printf("%ld\n", sum(2, make(3), one));
}
