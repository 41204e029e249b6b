/* A struct too large for registers is passed by value: the callee's copy is in memory that is no root.
 * verify: sits in no root
 * zeal: `Node`
 */
#include "node.h"

struct Job {
    long id, priority;
    Node *input, *output;
};

static long run(struct Job job) {
    long before = work();
    return before + job.input->value; // warned, stops
}

int main(void) {
    printf("%ld\n", run((struct Job){.id = 1, .priority = 2, .input = make(5)}));
}
