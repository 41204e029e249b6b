/* Strings: bytes with a length, compared and hashed by their bytes, and a builder that doubles its buffer when it is
 * full.
 */
#ifndef TEXT_H
#define TEXT_H

#include "heap.h"

typedef struct Text {
    uint64_t length;
    char bytes[];
} Text;
TALLY_DATA_ARRAY_TYPE(Text, length, bytes);

typedef struct Builder {
    Text *buffer;
    uint64_t used;
} Builder;
TALLY_TYPE(Builder, buffer);

/* The bytes must not be those of an object that only the caller's variable holds, without a root. */
static inline Text *new_text(const char *bytes, uint64_t length) {
    Text *text = TALLY_NEW_ARRAY(Text, length);
    memcpy(text->bytes, bytes, length);
    return text;
}

static inline Text *part_of(Text *text, uint64_t from, uint64_t to) {
    TALLY_ROOT(text);
    Text *part = TALLY_NEW_ARRAY(Text, to - from);
    memcpy(part->bytes, text->bytes + from, to - from);
    return part;
}

static inline int is_equal(const char *bytes, uint64_t length, const char *others, uint64_t other_length) {
    return length == other_length && memcmp(bytes, others, length) == 0;
}

static inline uint64_t hash_of(const char *bytes, uint64_t length) {
    uint64_t hash = 14695981039346656037ull;
    for (uint64_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211ull;
    return hash ^ hash >> 29;
}

static inline Builder *new_builder(uint64_t capacity) {
    Builder *builder = TALLY_NEW(Builder);
    TALLY_ROOT(builder);
    builder->used = 0;
    TALLY_WRITE(builder, buffer, TALLY_NEW_ARRAY(Text, capacity));
    return builder;
}

static __attribute__((noinline)) void make_room(Builder *builder, uint64_t length) {
    TALLY_ROOT(builder);
    uint64_t capacity = builder->buffer->length;
    while (capacity < builder->used + length) capacity *= 2;
    Text *buffer = TALLY_NEW_ARRAY(Text, capacity);
    memcpy(buffer->bytes, builder->buffer->bytes, builder->used);
    FREE(builder->buffer);
    TALLY_WRITE(builder, buffer, buffer);
}

static inline void add_bytes(Builder *builder, const char *bytes, uint64_t length) {
    TALLY_ROOT(builder);
    if (builder->used + length > builder->buffer->length) make_room(builder, length);
    memcpy(builder->buffer->bytes + builder->used, bytes, length);
    builder->used += length;
}

static inline void add_words(Builder *builder, const char *words) {
    TALLY_ROOT(builder);
    add_bytes(builder, words, strlen(words));
}

static inline void add_text(Builder *builder, Text *text) {
    TALLY_ROOT(text);
    add_bytes(builder, text->bytes, text->length);
}

static inline void add_number(Builder *builder, long number) {
    char digits[24];
    int place = sizeof digits;
    unsigned long rest = number < 0 ? -(unsigned long)number : (unsigned long)number;
    do digits[--place] = '0' + rest % 10;
    while (rest /= 10);
    if (number < 0) digits[--place] = '-';
    add_bytes(builder, digits + place, sizeof digits - place);
}

/* The text that was built; the builder is at its end. */
static inline Text *finished(Builder *builder) {
    TALLY_ROOT(builder);
    Text *text = part_of(builder->buffer, 0, builder->used);
    BY_HAND(free(builder->buffer); free(builder);)
    return text;
}

#endif
