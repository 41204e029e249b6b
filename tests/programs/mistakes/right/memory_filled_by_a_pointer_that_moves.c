/* A function that only fills memory, by a pointer that it counts up, uses nothing of what lay there before. */
#include "../node.h"

static void fill(long *to, long n) {
    while (n--) *to++ = n;
}

int main(void) {
    Node *pair[2] = {make(1), NULL};
    long sum = pair[0]->value;
    work();
    fill((long *)pair, 2);
    printf("%ld\n", sum);
}
