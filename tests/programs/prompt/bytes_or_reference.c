/* Two types with a common header: what one holds at an offset is a reference, what the other holds there points to bytes. A function
 * returns the bytes of the one and overwrites the reference of the other: its result has no count. */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

enum { WORDS = 200 };

typedef struct Text {
    uint64_t length;
    struct {
        char bytes[8];
    } words[];
} Text;
TALLY_DATA_ARRAY_TYPE(Text, length, words);

typedef struct Node {
    long is_inner;
} Node;

typedef struct Leaf {
    long is_inner;
    char *cursor;
    Text *text;
} Leaf;
TALLY_TYPE(Leaf, text);

typedef struct Inner {
    long is_inner;
    struct Inner *child;
} Inner;
TALLY_TYPE(Inner, child);

static __attribute__((noinline)) char *cursor_of(Node *node) {
    if (!node->is_inner) return ((Leaf *)node)->cursor;
    Inner *inner = (Inner *)node;
    TALLY_WRITE(inner, child, NULL);
    return NULL;
}

int main(void) {
    Leaf *leaf = TALLY_NEW(Leaf);
    TALLY_ROOT(leaf);
    TALLY_WRITE(leaf, text, TALLY_NEW_ARRAY(Text, WORDS));
    memset(leaf->text->words, 'a', 8 * WORDS);
    Inner *inner = NULL;
    TALLY_ROOT(inner);
    long wrong = 0;
    for (int i = 0; i < 2 * WORDS; i++) {
        leaf->cursor = (char *)leaf->text->words + 4 * i;
        wrong += *cursor_of((Node *)leaf) != 'a';
        tally_safepoint();
        inner = TALLY_NEW(Inner);
        inner->is_inner = 1;
        TALLY_WRITE(inner, child, TALLY_NEW(Inner));
        wrong += cursor_of((Node *)inner) != NULL;
    }
    for (int i = 0; i < 8 * WORDS; i++) wrong += ((char *)leaf->text->words)[i] != 'a';
    printf("%ld wrong\n", wrong);
    return 0;
}
