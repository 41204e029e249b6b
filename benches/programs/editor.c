/* editor: a text editor whose document is a rope, a balanced tree over pieces of text that is never changed in place.
 * The current document and those of the last two hundred changes, for undo, share most of their pieces; an old one
 * lets only what it does not share die. Between changes the screen is drawn and words are searched. By hand, ropes
 * count their owners.
 */
#include "program.h"
#include "text.h"

/* A piece of text, or two ropes one behind the other. */
typedef struct Rope {
    struct Rope *left, *right;
    Text *piece;
    long length, height;
    BY_HAND(long owners;)
} Rope;
TALLY_ACYCLIC_TYPE(Rope, left, right, piece);

typedef struct History {
    uint64_t length;
    Rope *at[];
} History;
TALLY_ARRAY_TYPE(History, length, at);

typedef struct Editor {
    History *history; /* a ring; the current document is at `now` */
    long first, now, last, cursor;
} Editor;
TALLY_TYPE(Editor, history);

enum { KEPT = 200, PIECE = 256, SCREEN = 1500 };

#ifdef FREED_BY_HAND
static Rope *keep(Rope *rope) {
    if (rope) rope->owners++;
    return rope;
}

static void release(Rope *rope) {
    while (rope && --rope->owners == 0) {
        Rope *right = rope->right;
        release(rope->left);
        free(rope->piece);
        free(rope);
        rope = right;
    }
}
#else
#define keep(rope) (rope)
#define release(rope) ((void)(rope))
#endif

static Rope *new_leaf(Text *piece) {
    TALLY_ROOT(piece);
    Rope *rope = TALLY_NEW(Rope);
    rope->length = piece->length;
    rope->height = 0;
    BY_HAND(rope->owners = 1;)
    TALLY_WRITE(rope, piece, piece);
    return rope;
}

/* The rope of two that it owns from now on, as do all functions here that put ropes together. */
static Rope *both(Rope *left, Rope *right) {
    TALLY_ROOT(left, right);
    Rope *rope = TALLY_NEW(Rope);
    rope->length = left->length + right->length;
    rope->height = 1 + (left->height > right->height ? left->height : right->height);
    BY_HAND(rope->owners = 1;)
    TALLY_WRITE(rope, left, left);
    TALLY_WRITE(rope, right, right);
    return rope;
}

static Rope *balanced(Rope *left, Rope *right) {
    TALLY_ROOT(left, right);
    Rope *a = NULL, *b = NULL, *c = NULL, *d = NULL, *split = NULL, *low = NULL;
    TALLY_ROOT(a, b, c, d, split, low);
    if (right->height > left->height + 1) {
        split = right;
        b = keep(right->left);
        d = keep(right->right);
        a = left;
    } else if (left->height > right->height + 1) {
        split = left;
        a = keep(left->left);
        b = keep(left->right);
        d = right;
    } else {
        return both(left, right);
    }
    release(split);
    int is_right = a == left;
    Rope *outer = is_right ? d : a;
    if (b->height <= outer->height) {
        if (is_right) {
            low = both(a, b);
            return both(low, d);
        }
        low = both(b, d);
        return both(a, low);
    }
    split = b;
    b = keep(split->left);
    c = keep(split->right);
    release(split);
    low = both(a, b);
    Rope *high = both(c, d);
    return both(low, high);
}

static Rope *joined(Rope *left, Rope *right) {
    if (!left || left->length == 0) {
        release(left);
        return right;
    }
    if (!right || right->length == 0) {
        release(right);
        return left;
    }
    TALLY_ROOT(left, right);
    if (left->piece && right->piece && left->length + right->length <= PIECE) {
        Text *piece = TALLY_NEW_ARRAY(Text, left->length + right->length);
        memcpy(piece->bytes, left->piece->bytes, left->length);
        memcpy(piece->bytes + left->length, right->piece->bytes, right->length);
        release(left);
        release(right);
        return new_leaf(piece);
    }
    Rope *outer = NULL, *inner = NULL;
    TALLY_ROOT(outer, inner);
    if (left->height > right->height + 1) {
        outer = keep(left->left);
        inner = keep(left->right);
        release(left);
        inner = joined(inner, right);
        return balanced(outer, inner);
    }
    if (right->height > left->height + 1) {
        outer = keep(right->right);
        inner = keep(right->left);
        release(right);
        inner = joined(left, inner);
        return balanced(inner, outer);
    }
    return both(left, right);
}

static Rope *part_of_rope(Rope *rope, long from, long to) {
    if (from >= to) return NULL;
    if (from == 0 && to == rope->length) return keep(rope);
    TALLY_ROOT(rope);
    if (rope->piece) return new_leaf(part_of(rope->piece, from, to));
    long middle = rope->left->length;
    if (to <= middle) return part_of_rope(rope->left, from, to);
    if (from >= middle) return part_of_rope(rope->right, from - middle, to - middle);
    Rope *left = part_of_rope(rope->left, from, middle);
    TALLY_ROOT(left);
    Rope *right = part_of_rope(rope->right, 0, to - middle);
    return joined(left, right);
}

/* Copies bytes of the rope. */
static void read_bytes(Rope *rope, long from, long to, char *bytes) {
    while (!rope->piece) {
        long middle = rope->left->length;
        TALLY_ROOT(rope);
        if (from < middle && to > middle) {
            read_bytes(rope->left, from, middle, bytes);
            bytes += middle - from;
            from = middle;
        }
        if (to <= middle) {
            rope = rope->left;
        } else {
            rope = rope->right;
            from -= middle;
            to -= middle;
        }
    }
    memcpy(bytes, rope->piece->bytes + from, to - from);
}

static Rope *document(Editor *editor) { return editor->history->at[editor->now % KEPT]; }

/* Makes a rope the current document. What was undone is forgotten, and what is too long ago. */
static void become(Editor *editor, Rope *rope) {
    TALLY_ROOT(editor, rope);
    while (editor->last > editor->now) {
        release(editor->history->at[editor->last % KEPT]);
        TALLY_WRITE(editor->history, at[editor->last % KEPT], NULL);
        editor->last--;
    }
    editor->last = ++editor->now;
    if (editor->last - editor->first == KEPT) release(editor->history->at[editor->first++ % KEPT]);
    TALLY_WRITE(editor->history, at[editor->now % KEPT], rope);
}

/* The document with other text, which is owned by it then, in the place of a part. */
static void exchange(Editor *editor, long from, long to, Rope *inserted) {
    TALLY_ROOT(editor, inserted);
    Rope *rope = document(editor);
    TALLY_ROOT(rope);
    editor->cursor = from + (inserted ? inserted->length : 0);
    Rope *before = part_of_rope(rope, 0, from);
    TALLY_ROOT(before);
    Rope *after = part_of_rope(rope, to, rope->length);
    TALLY_ROOT(after);
    before = joined(before, inserted);
    become(editor, joined(before, after));
}

static Rope *new_word(void) {
    char bytes[12];
    int length = 1 + random_below(10);
    for (int i = 0; i < length; i++) bytes[i] = 'a' + random_below(26);
    bytes[length] = random_below(12) ? ' ' : '\n';
    return new_leaf(new_text(bytes, length + 1));
}

/* Counts the lines of the screen around the cursor, and hashes what it shows. */
static uint64_t draw(Editor *editor) {
    TALLY_ROOT(editor);
    char screen[SCREEN];
    Rope *rope = document(editor);
    TALLY_ROOT(rope);
    long from = editor->cursor > SCREEN / 2 ? editor->cursor - SCREEN / 2 : 0;
    long to = from + SCREEN < rope->length ? from + SCREEN : rope->length;
    read_bytes(rope, from, to, screen);
    uint64_t lines = 0;
    for (long i = 0; i < to - from; i++) lines += screen[i] == '\n';
    return hash_of(screen, to - from) + lines;
}

/* The next place of two letters behind the cursor, or the beginning. */
static long search(Editor *editor, const char *letters) {
    TALLY_ROOT(editor);
    char bytes[PIECE];
    Rope *rope = document(editor);
    TALLY_ROOT(rope);
    for (long from = editor->cursor; from + PIECE < rope->length && from < editor->cursor + 40 * PIECE; from += PIECE - 1) {
        read_bytes(rope, from, from + PIECE, bytes);
        for (int i = 0; i + 1 < PIECE; i++)
            if (bytes[i] == letters[0] && bytes[i + 1] == letters[1]) return from + i;
    }
    return 0;
}

static void edit(Editor *editor) {
    TALLY_ROOT(editor);
    long length = document(editor)->length, cursor = editor->cursor;
    uint32_t choice = random_below(100);
    if (choice < 60) {
        exchange(editor, cursor, cursor, new_word());
    } else if (choice < 75) {
        long to = cursor + 1 + random_below(30);
        exchange(editor, cursor, to < length ? to : length, NULL);
    } else if (choice < 80) { /* copies some lines to another place */
        long from = random_below(length), to = from + 100 + random_below(5000);
        Rope *copied = part_of_rope(document(editor), from, to < length ? to : length);
        exchange(editor, cursor, cursor, copied);
        if (document(editor)->length > 2 * 1000 * 1000) exchange(editor, 0, 1000 * 1000, NULL);
    } else if (choice < 85) {
        editor->cursor = random_below(length);
    } else if (choice < 90) {
        editor->cursor = search(editor, "qz");
    } else {
        int steps = 1 + random_below(5), is_undo = choice < 97;
        for (; steps > 0 && is_undo && editor->now > editor->first; steps--) editor->now--;
        for (; steps > 0 && !is_undo && editor->now < editor->last; steps--) editor->now++;
        length = document(editor)->length;
        if (editor->cursor > length) editor->cursor = length;
    }
}

static uint64_t editor(long size) {
    Editor *editor = TALLY_NEW(Editor);
    TALLY_ROOT(editor);
    editor->first = editor->now = editor->last = editor->cursor = 0;
    TALLY_WRITE(editor, history, TALLY_NEW_ARRAY(History, KEPT));
    TALLY_WRITE(editor->history, at[0], new_word());
    long words = size < 1000 ? 20 : 60000;
    for (long word = 0; word < words; word++) {
        Rope *added = new_word();
        exchange(editor, editor->cursor, editor->cursor, added);
        tick();
    }
    uint64_t sum = 0;
    for (long step = 0; step < size; step++) {
        edit(editor);
        if (step % 4 == 0) sum = mix(sum, draw(editor));
        tick();
    }
    return mix(sum, document(editor)->length);
}
PROGRAM(editor, 200000, 500, 40)
