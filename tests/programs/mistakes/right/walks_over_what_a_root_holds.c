/* Variables without a root that walk through objects which a root holds, and lists that are built behind a root. */
#include "../node.h"

static Node *numbers(long n) {
    Node *head = NULL, *last = NULL;
    TALLY_ROOT(head, last);
    for (long i = 0; i < n; i++) {
        Node *node = make(i);
        if (last)
            TALLY_WRITE(last, next, node);
        else
            head = node;
        last = node;
    }
    return head;
}

static long sum(Node *list) {
    TALLY_ROOT(list);
    long sum = 0;
    for (Node *node = list; node; node = node->next) sum += node->value + work();
    return sum;
}

static Node *reversed(Node *list) {
    Node *before = NULL;
    TALLY_ROOT(before, list);
    while (list) {
        Node *next = list->next;
        TALLY_WRITE(list, next, before);
        before = list;
        list = next;
        work();
    }
    return before;
}

int main(void) {
    Node *all = numbers(4);
    TALLY_ROOT(all);
    printf("%ld ", sum(all));
    all = reversed(all);
    Node *second = all->next;
    work();
    printf("%ld %ld\n", second->value, sum(second));
    printf("%ld\n", all->value);
}
