/* Interned texts in a weak set: equal texts are one object while something holds it. Prints what is the same under all plans. */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Text {
    uint64_t length;
    uint32_t hash, unused;
    char at[];
} Text;
TALLY_DATA_ARRAY_TYPE(Text, length, at);

typedef struct Node {
    struct Node *next;
    Text *text;
} Node;
TALLY_TYPE(Node, next, text);

static void *texts;

static uint32_t hash_of(const char *bytes, uint64_t length) {
    uint32_t hash = 2166136261u;
    for (uint64_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)bytes[i]) * 16777619u;
    return hash;
}

static Text *intern(const char *bytes) {
    uint64_t length = strlen(bytes), at = 0;
    uint32_t hash = hash_of(bytes, length);
    Text *text = NULL;
    TALLY_ROOT(text);
    while ((text = tally_weak_set_probe(texts, hash, &at)))
        if (text->length == length && !memcmp(text->at, bytes, length)) return text;
    text = TALLY_NEW_ARRAY(Text, length);
    text->hash = hash;
    memcpy(text->at, bytes, length);
    tally_weak_set_add(texts, text);
    return text;
}

static uint64_t walked(void) {
    uint64_t at = 0, count = 0;
    while (tally_weak_set_next(texts, &at)) count++;
    return count;
}

int main(void) {
    Node *list = NULL;
    Text *text = NULL, *other = NULL;
    TALLY_ROOT(list, text, other);
    TALLY_WRITE_GLOBAL(texts, tally_weak_set_new(offsetof(Text, hash)));
    for (int i = 0; i < 3000; i++) {
        char bytes[20];
        snprintf(bytes, sizeof bytes, "text %d", i % 1000);
        text = intern(bytes);
        if (i >= 1000 && i % 2) continue;
        Node *node = TALLY_NEW(Node);
        TALLY_WRITE(node, next, list);
        TALLY_WRITE(node, text, text);
        list = node;
    }
    printf("members: %lu, walked: %lu\n", tally_weak_set_count(texts), walked());
    long same = 0;
    for (Node *node = list; node; node = node->next) {
        char bytes[20];
        memcpy(bytes, node->text->at, node->text->length);
        bytes[node->text->length] = 0;
        uint64_t at = 0;
        Text *found;
        while ((found = tally_weak_set_probe(texts, hash_of(bytes, node->text->length), &at)) && found != node->text) continue;
        same += found == node->text;
    }
    printf("found: %ld\n", same);
    text = intern("text 5");
    other = intern("text 5");
    printf("one object: %d\n", text == other);
    printf("removed: %d, again: %d\n", tally_weak_set_remove(texts, text), tally_weak_set_remove(texts, text));
    other = intern("text 5");
    printf("another object: %d\n", text != other);
    list = NULL;
    text = NULL;
    tally_collect();
    printf("members: %lu, walked: %lu, of length %lu\n", tally_weak_set_count(texts), walked(), other->length);
    other = NULL;
    tally_collect();
    printf("members: %lu\n", tally_weak_set_count(texts));
    TALLY_WRITE_GLOBAL(texts, NULL);
}
