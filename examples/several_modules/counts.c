/* The tree of counted words, in a global root. This module defines the descriptor of Word for all of them. */
#include <string.h>
#include "words.h"

TALLY_SHARED_TYPE(Word, less, more, text);
TALLY_DATA_ARRAY_TYPE(Text, length, at);

static Word *tree;

static int compare(const char *characters, size_t length, const Text *text) {
    size_t common = length < text->length ? length : text->length;
    int order = memcmp(characters, text->at, common);
    return order ? order : (length > text->length) - (length < text->length);
}

static Word *new_word(const char *characters, size_t length) {
    Text *text = TALLY_NEW_ARRAY(Text, length);
    TALLY_ROOT(text);
    for (size_t i = 0; i < length; i++) text->at[i] = characters[i];
    Word *word = TALLY_NEW(Word);
    word->count = 1;
    TALLY_WRITE(word, text, text);
    return word;
}

void count_word(const char *characters, size_t length) {
    Word *parent = NULL, *word = tree;
    TALLY_ROOT(parent, word);
    int order = 0;
    while (word) {
        order = compare(characters, length, word->text);
        if (order == 0) {
            word->count++;
            return;
        }
        parent = word;
        word = order < 0 ? word->less : word->more;
    }
    word = new_word(characters, length);
    if (!parent)
        TALLY_WRITE_GLOBAL(tree, word);
    else if (order < 0)
        TALLY_WRITE(parent, less, word);
    else
        TALLY_WRITE(parent, more, word);
}

Word *counted_words(void) { return tree; }

void forget_words(void) { TALLY_WRITE_GLOBAL(tree, NULL); }
