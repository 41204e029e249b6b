/* memcpy, memset and plain stores where no references are: bytes of a text, a fresh object, a back pointer that is none of the
 * type's references. */
#include "../node.h"

typedef struct Child {
    struct Child *next;
    struct Child *parent; /* not listed: the parent outlives its children */
    long value;
} Child;
TALLY_TYPE(Child, next);

static Child *child(Child *parent, long value) {
    TALLY_ROOT(parent);
    Child *made = TALLY_NEW(Child);
    memset(made, 0, sizeof *made);
    made->parent = parent;
    made->value = value;
    return made;
}

static Text *text(const char *bytes) {
    Text *made = TALLY_NEW_ARRAY(Text, strlen(bytes) + 1);
    memcpy(made->bytes, bytes, made->length);
    return made;
}

static Text *joined(Text *one, Text *other) {
    TALLY_ROOT(one, other);
    Text *made = TALLY_NEW_ARRAY(Text, one->length + other->length - 1);
    TALLY_ROOT(made);
    work();
    memcpy(made->bytes, one->bytes, one->length - 1);
    memmove(made->bytes + one->length - 1, other->bytes, other->length);
    return made;
}

int main(void) {
    Child *top = child(NULL, 1);
    TALLY_ROOT(top);
    TALLY_WRITE(top, next, child(top, 2));
    Text *one = text("to"), *two = NULL;
    TALLY_ROOT(one, two);
    two = text("gether");
    Text *both = joined(one, two);
    TALLY_ROOT(both);
    char *end = both->bytes;
    work();
    while (*end) end++;
    Nodes *nodes = TALLY_NEW_ARRAY(Nodes, 4), *more = NULL;
    TALLY_ROOT(nodes, more);
    TALLY_WRITE(nodes, at[0], make(9));
    more = TALLY_NEW_ARRAY(Nodes, 8);
    TALLY_COPY(more, more->at, nodes->at, 4);
    work();
    printf("%s %ld %ld %ld\n", both->bytes, (long)(end - both->bytes), top->next->parent->value, more->at[0]->value);
}
