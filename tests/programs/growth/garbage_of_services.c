/* Objects of services are made and lost, one after the other, and nothing else lives: the collector has more to do for each than the
 * program. Prints whether the heap has stayed within a half of what was made. */
#include <stdint.h>
#include <stdio.h>
#include <tally_gc.h>

typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Text { uint32_t hash, length; } Text;
TALLY_TYPE(Text);
typedef struct File { struct File *next; long number; } File;
static void end(File *file);
TALLY_FINALIZED_TYPE(File, end, next);

static long ended;
static void *set;

static void end(File *file) { ended += file->number; }

/* A weak reference that its target holds. */
static void weak(long i) {
    Node *node = TALLY_NEW(Node);
    TALLY_ROOT(node);
    node->value = i;
    TALLY_WRITE(node, next, (Node *)tally_weak_new(node));
}

static void text(long i) {
    Text *text = TALLY_NEW(Text);
    text->hash = (uint32_t)i;
    tally_weak_set_add(set, text);
}

static void file(long i) { TALLY_NEW(File)->number = i; }

static int keeps_small(void (*make)(long), long count) {
    uint64_t most = 0;
    for (long i = 1; i <= count; i++) {
        make(i);
        if (i % 10000 == 0) {
            tally_statistics now;
            tally_get_statistics(&now);
            if (now.live_objects > most) most = now.live_objects;
        }
    }
    tally_collect();
    return most < (uint64_t)count / 2;
}

int main(void) {
    TALLY_WRITE_GLOBAL(set, tally_weak_set_new(0));
    printf("%d", keeps_small(file, 3000000));
    printf(" %d", keeps_small(weak, 2000000));
    printf(" %d\n", keeps_small(text, 2000000));
}
