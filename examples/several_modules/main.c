/* A program of several modules, in C and in LLVM IR: counts the words of a text and prints them in order.
 *
 * Each module is compiled and registered by itself, with its own types, roots and stack maps; references, descriptors and calls
 * cross between them freely.
 *
 *     tally run examples/several_modules/main.c examples/several_modules/counts.c examples/several_modules/flatten.ll
 *     tally build examples/several_modules/{main.c,counts.c,flatten.ll} -o words && ./words
 */
#include <ctype.h>
#include <stdio.h>
#include "words.h"

static const char text[] =
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a wife. "
    "However little known the feelings or views of such a man may be on his first entering a neighbourhood, this truth is so well "
    "fixed in the minds of the surrounding families, that he is considered as the rightful property of some one or other of their "
    "daughters.";

static void count_words(void) {
    char word[64];
    size_t length = 0;
    for (const char *c = text; *c; c++) {
        if (isalpha((unsigned char)*c) && length < sizeof word) {
            word[length++] = tolower((unsigned char)*c);
        } else if (length > 0) {
            count_word(word, length);
            length = 0;
        }
    }
}

int main(void) {
    count_words();
    Word *word = flatten(counted_words());
    TALLY_ROOT(word);
    forget_words(); /* the list holds the words now */

    int different = 0;
    uint64_t all = 0;
    for (; word; word = word->more) {
        different++;
        all += word->count;
        if (word->count > 1) printf("%2lu %.*s\n", word->count, (int)word->text->length, word->text->at);
    }
    printf("%d different words of %lu\n", different, all);
}
