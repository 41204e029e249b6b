/* words: counts and indexes the words of the last thousand documents, as a search engine for a feed would. Each new
 * document lets the oldest die, and the words that only that had. Documents refer to their words, and words to their
 * documents.
 */
#include "program.h"
#include "text.h"
#include "vector.h"

struct Word;
typedef struct Document {
    Text *text;
    Vector *words; /* each once */
    long number;
} Document;
TALLY_TYPE(Document, text, words);

typedef struct Word {
    struct Word *next; /* of the same bucket */
    Text *text;
    Vector *documents;
    uint64_t hash;
    long count; /* in all documents */
} Word;
TALLY_TYPE(Word, next, text, documents);

typedef struct Buckets {
    uint64_t length;
    Word *at[];
} Buckets;
TALLY_ARRAY_TYPE(Buckets, length, at);

typedef struct Index {
    Buckets *buckets;
    Vector *documents; /* a ring */
    long words;
} Index;
TALLY_TYPE(Index, buckets, documents);

enum { KEPT = 1000, FREQUENT = 10 };

/* A word that is rarer the larger its number. Its letters are those of the number. */
static int make_word(char *bytes) {
    uint32_t number = random_below(1 << (4 + random_below(14))) + 1;
    int length = 0;
    for (number = number * 7 + 1; number; number /= 23) bytes[length++] = "etaoinshrdlcumwfgypbvkx"[number % 23];
    return length;
}

static Text *new_document_text(int words) {
    Builder *builder = new_builder(64);
    TALLY_ROOT(builder);
    char bytes[16];
    for (int word = 0; word < words; word++) {
        add_bytes(builder, bytes, make_word(bytes));
        add_words(builder, random_below(10) ? " " : random_below(5) ? ", " : ".\n");
    }
    return finished(builder);
}

static void enlarge_index(Index *index) {
    TALLY_ROOT(index);
    Buckets *old = index->buckets;
    TALLY_ROOT(old);
    Buckets *buckets = TALLY_NEW_ARRAY(Buckets, 2 * old->length);
    TALLY_ROOT(buckets);
    for (uint64_t i = 0; i < old->length; i++) {
        Word *word = old->at[i], *next = NULL;
        TALLY_ROOT(word, next);
        for (; word; word = next) {
            next = word->next;
            uint64_t bucket = word->hash & (buckets->length - 1);
            TALLY_WRITE(word, next, buckets->at[bucket]);
            TALLY_WRITE(buckets, at[bucket], word);
        }
    }
    TALLY_WRITE(index, buckets, buckets);
    FREE(old);
}

/* The word of these bytes, of a text that a root holds; it is made if there is none. */
static Word *find_or_add(Index *index, const char *bytes, uint64_t length) {
    TALLY_ROOT(index);
    uint64_t hash = hash_of(bytes, length);
    Word *found = index->buckets->at[hash & (index->buckets->length - 1)];
    for (; found; found = found->next) {
        TALLY_ROOT(found);
        if (found->hash == hash && is_equal(found->text->bytes, found->text->length, bytes, length)) return found;
    }
    if (index->words == (long)index->buckets->length) enlarge_index(index);
    Word *word = TALLY_NEW(Word);
    TALLY_ROOT(word);
    word->hash = hash;
    word->count = 0;
    TALLY_WRITE(word, text, new_text(bytes, length));
    TALLY_WRITE(word, documents, new_vector(2));
    Buckets *buckets = index->buckets;
    TALLY_WRITE(word, next, buckets->at[hash & (buckets->length - 1)]);
    TALLY_WRITE(buckets, at[hash & (buckets->length - 1)], word);
    index->words++;
    return word;
}

static void remove_word(Index *index, Word *word) {
    TALLY_ROOT(word);
    Buckets *buckets = index->buckets;
    TALLY_ROOT(buckets);
    uint64_t bucket = word->hash & (buckets->length - 1);
    Word *before = buckets->at[bucket];
    TALLY_ROOT(before);
    if (before == word) {
        TALLY_WRITE(buckets, at[bucket], word->next);
    } else {
        while (before->next != word) before = before->next;
        TALLY_WRITE(before, next, word->next);
    }
    index->words--;
    BY_HAND(free(word->text); free_vector(word->documents); free(word);)
}

static int is_letter(char byte) { return byte >= 'a' && byte <= 'z'; }

/* Calls for each word of a document's text are so many that a cursor walks over them. */
typedef struct Cursor {
    uint64_t from, to;
} Cursor;

static int has_next(Text *text, Cursor *cursor) {
    cursor->from = cursor->to;
    while (cursor->from < text->length && !is_letter(text->bytes[cursor->from])) cursor->from++;
    cursor->to = cursor->from;
    while (cursor->to < text->length && is_letter(text->bytes[cursor->to])) cursor->to++;
    return cursor->from < cursor->to;
}

static void add_document(Index *index, Text *text, long number) {
    TALLY_ROOT(index, text);
    Document *document = TALLY_NEW(Document);
    TALLY_ROOT(document);
    document->number = number;
    TALLY_WRITE(document, text, text);
    TALLY_WRITE(document, words, new_vector(16));
    append(index->documents, document);
    Cursor cursor = {0, 0};
    while (has_next(text, &cursor)) {
        Word *word = find_or_add(index, text->bytes + cursor.from, cursor.to - cursor.from);
        TALLY_ROOT(word);
        word->count++;
        Vector *documents = word->documents;
        TALLY_ROOT(documents);
        if (documents->length > 0 && documents->items->at[documents->length - 1] == document) continue;
        append(documents, document);
        append(document->words, word);
    }
}

static void remove_document(Index *index, Document *document) {
    TALLY_ROOT(index, document);
    Text *text = document->text;
    TALLY_ROOT(text);
    Cursor cursor = {0, 0};
    while (has_next(text, &cursor)) find_or_add(index, text->bytes + cursor.from, cursor.to - cursor.from)->count--;
    Vector *words = document->words;
    TALLY_ROOT(words);
    for (long i = 0; i < words->length; i++) {
        Word *word = words->items->at[i];
        TALLY_ROOT(word);
        remove_item(word->documents, document);
        if (word->count == 0) remove_word(index, word);
    }
    remove_item(index->documents, document);
    BY_HAND(free(document->text); free_vector(document->words); free(document);)
}

/* The words that occur most, the most frequent first, in a list of their own. */
static Vector *most_frequent(Index *index) {
    TALLY_ROOT(index);
    Vector *top = new_vector(FREQUENT + 1);
    TALLY_ROOT(top);
    for (uint64_t bucket = 0; bucket < index->buckets->length; bucket++) {
        Word *word = index->buckets->at[bucket];
        TALLY_ROOT(word);
        for (; word; word = word->next) {
            if (top->length == FREQUENT && ((Word *)top->items->at[FREQUENT - 1])->count >= word->count) continue;
            append(top, word);
            Items *items = top->items;
            TALLY_ROOT(items);
            for (long place = top->length - 1; place > 0 && ((Word *)items->at[place - 1])->count < word->count; place--) {
                TALLY_WRITE(items, at[place], items->at[place - 1]);
                TALLY_WRITE(items, at[place - 1], word);
            }
            if (top->length > FREQUENT) remove_last(top);
        }
    }
    return top;
}

/* How many documents have both words. */
static long common_documents(Word *one, Word *other) {
    Vector *a = one->documents, *b = other->documents;
    long common = 0;
    for (long i = 0, k = 0; i < a->length && k < b->length;) {
        long left = ((Document *)a->items->at[i])->number, right = ((Document *)b->items->at[k])->number;
        common += left == right;
        i += left <= right;
        k += right <= left;
    }
    return common;
}

static uint64_t words(long size) {
    Index *index = TALLY_NEW(Index);
    TALLY_ROOT(index);
    index->words = 0;
    TALLY_WRITE(index, buckets, TALLY_NEW_ARRAY(Buckets, 64));
    TALLY_WRITE(index, documents, new_vector(KEPT + 1));
    uint64_t sum = 0;
    for (long number = 0; number < size; number++) {
        add_document(index, new_document_text(size < 10 ? 20 : 100 + random_below(400)), number);
        if (index->documents->length > (size < 10 ? 3 : KEPT)) remove_document(index, index->documents->items->at[0]);
        sum = mix(sum, index->words);
        if (number % 64 == 3) {
            Vector *top = most_frequent(index);
            TALLY_ROOT(top);
            for (long i = 1; i < top->length; i++) {
                Word *word = top->items->at[i];
                sum = mix(sum, word->count + word->text->length + common_documents(word, top->items->at[0]));
            }
            free_vector(top);
        }
        tick();
    }
    return sum;
}
PROGRAM(words, 6000, 300, 6)
