/* What the modules of this program share: the type of a counted word, whose descriptor counts.c defines, and their functions. */
#ifndef WORDS_H
#define WORDS_H

#include <tally_gc.h>

typedef struct Text {
    uint64_t length;
    char at[];
} Text;

/* A node of a binary search tree; after flatten(), a node of a list that is linked by `more`. */
typedef struct Word {
    struct Word *less, *more;
    Text *text;
    uint64_t count;
} Word;
TALLY_EXTERN_TYPE(Word);

void count_word(const char *characters, size_t length); /* counts.c */
Word *counted_words(void);                              /* counts.c: the tree */
void forget_words(void);                                /* counts.c */
Word *flatten(Word *tree);                              /* flatten.ll: the same nodes as a list in order */

#endif
