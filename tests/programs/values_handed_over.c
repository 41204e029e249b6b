/* What holds a value while it changes hands: arguments passed by address, updates in place, results that are not kept, and values that are
 * moved in one branch and used last in another. scenarios 127, 128, 129, 130. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);

static Node *node(long value, Node *next) {
    TALLY_ROOT(next);
    Node *made = TALLY_NEW(Node);
    made->value = value;
    TALLY_WRITE(made, next, next);
    return made;
}

static __attribute__((noinline)) long sum(Node *list) {
    TALLY_ROOT(list);
    long total = 0;
    for (; list; list = list->next) total += list->value + node(0, NULL)->value;
    return total;
}

/* Overwrites the caller's variable while its old value is still in use here. */
static __attribute__((noinline)) long replace(Node **place, Node *old) {
    TALLY_ROOT(old);
    *place = node(old->value + 1, NULL);
    for (int i = 0; i < 20; i++) node(i, node(i, NULL));
    return sum(old) + (*place)->value;
}

/* `list += one more`: the old value is what the new one begins with. */
static __attribute__((noinline)) Node *longer(Node *list, long value) {
    TALLY_ROOT(list);
    return node(value, node(value, list));
}

/* Moved into the result in one branch, used for the last time in the other, looked at in the condition. */
static __attribute__((noinline)) Node *keep_or_use(Node *list, long way, long *used) {
    TALLY_ROOT(list);
    Node *mine = node(way, list);
    TALLY_ROOT(mine);
    if (mine->value % 3 == 0) return mine;
    if (mine->value % 3 == 1) {
        *used += sum(mine);
        return list;
    }
    return node(1, mine);
}

static __attribute__((noinline)) Node *rest(Node *list) { return list->next; }

int main(void) {
    Node *list = NULL, *other = NULL;
    TALLY_ROOT(list, other);
    list = node(5, node(4, NULL));
    long total = 0, used = 0;
    for (int i = 0; i < 16; i++) total += replace(&list, list);
    printf("%ld %ld\n", total, list->value);
    for (int i = 0; i < 10; i++) list = longer(list, i);
    printf("%ld\n", sum(list));
    for (int i = 0; i < 24; i++) {
        node(i, list);
        longer(node(i, NULL), i);
        sum(longer(list, i));
        (void)rest(longer(list, i));
    }
    printf("%ld\n", sum(list));
    for (int i = 0; i < 24; i++) other = keep_or_use(other, i, &used);
    printf("%ld %ld\n", used, sum(other));
    long length = 0;
    while ((other = other ? rest(other) : NULL) != NULL && sum(longer(other, 1)) > 2) length++;
    printf("%ld\n", length);
    while (list && (list = rest(longer(list, 7))) && (list = rest(list))) list = list->next;
    printf("%d\n", list == NULL);
    return 0;
}
