/* The runtime of Tiny in C: what compiled code calls, for the frontends in C and C++. It is ordinary C and has no roots: while a function
 * of it runs, its caller's roots keep the arguments. Values are tagged words: a number n is 2n + 1, nil is 0, all else is a reference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>
#include <tally.h>

typedef uint64_t Word;
enum { CELL = 1, TEXT = 2, FUNCTION = 3 };
typedef struct { uint64_t kind; Word head, tail; } Cell;
typedef struct { uint64_t kind, length; char bytes[]; } Text;
typedef struct { uint64_t kind; void *code; uint64_t arity; } Function;

/* Makes a text of so many bytes: compiled code, which the host or the program's `main` names. */
Text *(*tiny_make_text)(uint64_t length);

Word tiny_error(Word value);
static void *object(Word word, uint64_t kind) {
    return word != 0 && word % 2 == 0 && *(uint64_t *)word == kind ? (void *)word : NULL;
}

Word tiny_text(const char *bytes, uint64_t length) {
    Text *text = tiny_make_text(length);
    memcpy(text->bytes, bytes, length);
    return (Word)text;
}

static Word fail(const char *message) { return tiny_error(tiny_text(message, strlen(message))); }

Word tiny_cell(Word word) { return object(word, CELL) ? word : fail("not a cell"); }

uint64_t tiny_number(Word word) { return word % 2 ? (uint64_t)((int64_t)word >> 1) : fail("not a number"); }

/* The code of a function with so many parameters. */
void *tiny_code(Word word, uint64_t arity) {
    Function *function = object(word, FUNCTION);
    return function && function->arity == arity ? function->code : (void *)fail("not a function of so many parameters");
}

static void show(Word word) {
    Cell *cell = object(word, CELL);
    Text *text = object(word, TEXT);
    if (word % 2) {
        printf("%ld", (long)((int64_t)word >> 1));
    } else if (text) {
        fwrite(text->bytes, 1, text->length, stdout);
    } else if (!cell) {
        fputs(word ? "function" : "nil", stdout);
    } else {
        putchar('(');
        show(cell->head);
        for (; object(cell->tail, CELL); cell = object(cell->tail, CELL)) {
            putchar(' ');
            show(((Cell *)cell->tail)->head);
        }
        if (cell->tail) {
            fputs(" . ", stdout);
            show(cell->tail);
        }
        putchar(')');
    }
}

Word tiny_print(Word word) {
    show(word);
    putchar('\n');
    return word;
}

Word tiny_join(Word left, Word right) {
    Text *first = object(left, TEXT), *second = object(right, TEXT);
    if (!first || !second) return fail("not a text");
    Text *joined = tiny_make_text(first->length + second->length); /* the caller keeps the two meanwhile */
    memcpy(joined->bytes, first->bytes, first->length);
    memcpy(joined->bytes + first->length, second->bytes, second->length);
    return (Word)joined;
}

Word tiny_live(void) {
    tally_collect();
    return tally_live_bytes() << 1 | 1;
}

/* An error: its value is kept alive by a handle, until `tiny_raised` has it. */
static Word raised;
static tally_global *kept;

void tiny_keep(Word value) {
    raised = value;
    kept = tally_global_new(value % 2 ? NULL : (void *)value);
}

Word tiny_raised(void) {
    tally_global_free(kept);
    return raised;
}

static _Unwind_Reason_Code uncaught(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                    struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *data) {
    (void)version, (void)class, (void)exception, (void)context, (void)data;
    if (!(actions & _UA_END_OF_STACK)) return _URC_NO_REASON;
    fputs("an error that nothing caught\n", stderr);
    exit(1);
}

/* Unwinds to the landing pad of the innermost `try`. A host in C++ throws instead, by a function of its own. */
__attribute__((weak)) Word tiny_error(Word value) {
    static struct _Unwind_Exception exception;
    tiny_keep(value);
    _Unwind_ForcedUnwind(&exception, uncaught, NULL);
    abort();
}
