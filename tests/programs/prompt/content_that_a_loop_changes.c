/* A root that is overwritten in a loop, after its content went to another by way of a variable. What the other holds is the parameter in the first round
 * alone; its count is not one of the parameter. Prints sums of the tags that are seen. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { long tag; struct Node *held; } Node;
TALLY_TYPE(Node, held);

static __attribute__((noinline)) Node *make(long tag) {
    Node *made = TALLY_NEW(Node);
    made->tag = tag;
    return made;
}

static __attribute__((noinline)) void churn(void) {
    for (int i = 0; i < 50; i++) make(-7);
}

static __attribute__((noinline)) long look_at(Node *parameter, Node *other, Node *holder, long times) {
    TALLY_ROOT(parameter, other, holder);
    Node *first = parameter, *second = NULL;
    TALLY_ROOT(first, second);
    long sum = 0;
    churn();
    for (long i = 0; i < times; i++) {
        TALLY_WRITE(other, held, NULL);
        Node *before = first;
        first = other;
        if (i != 7) {
            second = before;
            churn();
            if (i != 9) {
                sum = sum * 3 + second->tag;
                TALLY_WRITE(holder, held, parameter);
                second = NULL;
            }
            second = NULL;
        }
        churn();
        first = make(i + 10);
        sum = sum * 3 + parameter->tag;
    }
    return sum;
}
int main(void) {
    Node *parameter = make(1), *other = NULL, *holder = NULL;
    TALLY_ROOT(parameter, other, holder);
    other = make(2);
    holder = make(3);
    for (long times = 0; times < 5; times++) { printf("%ld ", look_at(parameter, other, holder, times)); churn(); }
    printf("%ld %ld %ld\n", parameter->tag, holder->tag, holder->held ? holder->held->tag : -1);
}
