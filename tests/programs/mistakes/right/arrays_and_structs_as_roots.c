/* Arrays and structs on the stack that are roots: declared with a type, filled, passed by value and by address, and read after calls. */
#include "../node.h"

typedef struct Four {
    Node *at[4];
} Four;
TALLY_TYPE(Four, at[0], at[1], at[2], at[3]);

typedef struct Pair {
    Node *left, *right;
} Pair;
TALLY_TYPE(Pair, left, right);

typedef struct Job {
    long id, priority;
    Node *input, *output;
} Job;
TALLY_TYPE(Job, input, output);

static long by_value(Pair pair, Job job) {
    TALLY_ROOT_AS(Pair, pair);
    TALLY_ROOT_AS(Job, job);
    long more = work();
    return more + pair.left->value + job.input->value;
}

static Job parse(long value) {
    Node *input = make(value);
    TALLY_ROOT(input);
    Node *output = make(value + 1);
    return (Job){.input = input, .output = output};
}

static long by_address(const Four *four) {
    long sum = 0;
    for (int i = 0; i < 4; i++) sum += four->at[i]->value;
    return sum;
}

int main(void) {
    Four four = {{NULL}};
    Pair pair = {NULL, NULL};
    Job job = {0};
    TALLY_ROOT_AS(Four, four);
    TALLY_ROOT_AS(Pair, pair);
    TALLY_ROOT_AS(Job, job);
    for (long i = 0; i < 4; i++) four.at[i] = make(i);
    pair.left = make(5);
    pair.right = make(6);
    job = parse(7);
    work();
    Node *copy = four.at[2];
    long sum = by_address(&four) + by_value(pair, job);
    printf("%ld %ld %ld\n", sum, copy->value, job.output->value);
}
