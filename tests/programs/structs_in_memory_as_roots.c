/* Structs that C compilers pass and return in memory of the caller, rooted where they stand: a parameter is the callee's own, and what is
 * returned is whole when the function returns, on each way out. */
#include <setjmp.h>
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Pair { Node *left, *right; long count; double scale; } Pair;
TALLY_TYPE(Pair, left, right);

static __attribute__((noinline)) Node *node(long value) {
    Node *node = TALLY_NEW(Node);
    node->value = value;
    return node;
}

static __attribute__((noinline)) void churn(void) {
    for (int i = 0; i < 3; i++) node(-i);
}

/* The parameter changes, and the caller's struct does not. */
static __attribute__((noinline)) long use(Pair pair, long again) {
    TALLY_ROOT_AS(Pair, pair);
    churn();
    long sum = pair.left->value + 10 * pair.right->value + pair.count;
    pair.left = node(100);
    pair.count += 1;
    churn();
    sum += pair.left->value;
    return again ? sum + use(pair, again - 1) : sum;
}

static __attribute__((noinline)) void fill(Pair *pair, long value) {
    pair->right = node(value);
    churn();
    pair->count = value;
}

/* Returned from two places; filled by a callee, too. */
static __attribute__((noinline)) Pair make(long value) {
    Pair made = {0};
    TALLY_ROOT_AS(Pair, made);
    Pair *at = &made;
    at->left = node(value);
    made.scale = .5;
    if (value % 2) {
        fill(&made, value + 1);
        return made;
    }
    made.right = node(value + 2);
    churn();
    made.count = 7;
    return made;
}

/* Both at once. */
static __attribute__((noinline)) Pair swapped(Pair pair) {
    TALLY_ROOT_AS(Pair, pair);
    Pair result = pair;
    TALLY_ROOT_AS(Pair, result);
    churn();
    result.left = pair.right;
    pair.right = NULL;
    churn();
    result.right = pair.left;
    return result;
}

static jmp_buf back;

static __attribute__((noinline)) Pair leaves(Pair pair) {
    TALLY_ROOT_AS(Pair, pair);
    Pair result = {0};
    TALLY_ROOT_AS(Pair, result);
    result.left = node(1);
    churn();
    if (pair.count >= 0) longjmp(back, 1);
    return result;
}

int main(void) {
    Pair pair = {0};
    TALLY_ROOT_AS(Pair, pair);
    long sum = 0;
    for (long value = 1; value < 5; value++) {
        pair = make(value);
        churn();
        sum = sum * 3 + use(pair, 2) + use(pair, 0) + (long)(pair.scale * 4);
        printf("%ld %ld %ld %ld\n", sum, pair.left->value, pair.right->value, pair.count);
        pair = swapped(pair);
        churn();
        printf("%ld %ld\n", pair.left->value, pair.right->value);
    }
    if (!setjmp(back)) pair = leaves(pair);
    churn();
    printf("%ld\n", pair.left->value);
}
