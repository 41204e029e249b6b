/* Variables that are tagged words, with tags in low bits and as NaN boxes: each object must be alive as long as one of them holds it, and
 * be dead at the next safepoint. Kept over calls, overwritten by numbers and references, exchanged in loops, lent, handed on and
 * returned, kept while a jump comes back, and held by more frames than a count's byte can count. Prints "right" if all is. */
#include <setjmp.h>
#include <stdio.h>
#include <tally_gc.h>

enum { OBJECTS = 1 << 12, FRAMES = 300 };

static int dead[OBJECTS], born, faults;

typedef struct Thing { long id; struct Thing *other; } Thing;
static void note(Thing *thing) { dead[thing->id]++; }
TALLY_FINALIZED_TYPE(Thing, note, other);

static __attribute__((noinline)) Thing *make(void) {
    Thing *thing = TALLY_NEW(Thing);
    thing->id = born++;
    return thing;
}

/* The objects from `first` on: a letter for each, `a`live or `d`ead; at a safepoint. */
static __attribute__((noinline)) void are(const char *of, int first, const char *states, int line) {
    tally_safepoint();
    for (int place = 0; states[place]; place++) {
        if (dead[first + place] == (states[place] == 'd')) continue;
        printf("line %d, %s: object %d of %s died %d times\n", line, of, place, states, dead[first + place]);
        faults++;
    }
}
#define ARE(first, states) are(__func__, first, states, __LINE__)

typedef uint64_t Low;
TALLY_TAGGED_TYPE(Low, 3, 1, ~UINT64_C(3));
#define LOW_OF(thing) ((Low)(uintptr_t)(thing) | 1)
#define LOW_NUMBER(n) ((Low)(n) << 2 | 2)

typedef uint64_t Nan;
TALLY_TAGGED_TYPE(Nan, UINT64_C(0xffff) << 48, UINT64_C(0xfffc) << 48, (UINT64_C(1) << 48) - 1);
#define NAN_OF(thing) ((Nan)(uintptr_t)(thing) | UINT64_C(0xfffc) << 48)
/* A number whose low bits look like a reference is none. */
#define NAN_NUMBER(n) ((Nan)(n) | UINT64_C(0x3ff0) << 48 | UINT64_C(0x200000000000))

static jmp_buf back;
static __attribute__((noinline)) void jump(int how) { longjmp(back, how); }

#define TESTS(Word, OF, NUMBER)                                                                                        \
    static __attribute__((noinline)) void Word##_is_kept(void) {                                                       \
        int first = born;                                                                                              \
        Word word = OF(make());                                                                                        \
        TALLY_ROOT_TAGGED(Word, word);                                                                                 \
        ARE(first, "a");                                                                                               \
        ARE(first, "a");                                                                                               \
        word = NUMBER(7);                                                                                              \
        ARE(first, "d");                                                                                               \
        word = OF(make());                                                                                             \
        ARE(first, "da");                                                                                              \
        word = OF(make());                                                                                             \
        ARE(first, "dda");                                                                                             \
        word = 0;                                                                                                      \
        ARE(first, "ddd");                                                                                             \
        word = OF(make());                                                                                             \
    }                                                                                                                  \
    static __attribute__((noinline)) void Word##_are_exchanged(void) {                                                 \
        int first = born;                                                                                              \
        Word one = OF(make()), two = NUMBER(1), three = 0;                                                             \
        TALLY_ROOT_TAGGED(Word, one, two, three);                                                                      \
        for (int i = 0; i < 400; i++) {                                                                                \
            Word kept = one;                                                                                           \
            one = two;                                                                                                 \
            two = three;                                                                                               \
            three = kept;                                                                                              \
            ARE(first, "a");                                                                                           \
        }                                                                                                              \
        two = three;                                                                                                   \
        ARE(first, "a");                                                                                               \
        one = two = three = NUMBER(0);                                                                                 \
        ARE(first, "d");                                                                                               \
    }                                                                                                                  \
    static __attribute__((noinline)) void Word##_is_written_by_another(Word *out, int number) {                        \
        *out = number ? NUMBER(number) : OF(make());                                                                   \
        tally_safepoint();                                                                                             \
    }                                                                                                                  \
    static __attribute__((noinline)) void Word##_is_lent(void) {                                                       \
        int first = born;                                                                                              \
        Word word = 0;                                                                                                 \
        TALLY_ROOT_TAGGED(Word, word);                                                                                 \
        Word##_is_written_by_another(&word, 0);                                                                        \
        ARE(first, "a");                                                                                               \
        Word##_is_written_by_another(&word, 0);                                                                        \
        ARE(first, "da");                                                                                              \
        Word##_is_written_by_another(&word, 3);                                                                        \
        ARE(first, "dd");                                                                                              \
    }                                                                                                                  \
    static __attribute__((noinline)) void Word##_is_handed_on(Word word, int frames, int first) {                      \
        TALLY_ROOT_TAGGED(Word, word);                                                                                 \
        ARE(first, "a");                                                                                               \
        if (frames) Word##_is_handed_on(word, frames - 1, first);                                                      \
        ARE(first, "a");                                                                                               \
    }                                                                                                                  \
    static __attribute__((noinline)) Word Word##_is_returned(void) {                                                   \
        Word word = OF(make());                                                                                        \
        TALLY_ROOT_TAGGED(Word, word);                                                                                 \
        tally_safepoint();                                                                                             \
        return word;                                                                                                   \
    }                                                                                                                  \
    static __attribute__((noinline)) void Word##_is_there_after_a_jump(void) {                                         \
        int first = born;                                                                                              \
        volatile int rounds = 0;                                                                                       \
        Word word = OF(make());                                                                                        \
        Word other = NUMBER(1);                                                                                        \
        TALLY_ROOT_TAGGED(Word, word, other);                                                                          \
        setjmp(back);                                                                                                  \
        ARE(first, "a");                                                                                               \
        if (rounds++ < 5) jump(rounds);                                                                                \
        word = NUMBER(2);                                                                                              \
        ARE(first, "d");                                                                                               \
    }                                                                                                                  \
    static void Word##_tests(void) {                                                                                   \
        int first = born;                                                                                              \
        Word##_is_kept();                                                                                              \
        ARE(first, "dddd");                                                                                            \
        Word##_are_exchanged();                                                                                        \
        Word##_is_lent();                                                                                              \
        first = born;                                                                                                  \
        Word##_is_handed_on(OF(make()), FRAMES, first);                                                                \
        ARE(first, "d");                                                                                               \
        Word word = Word##_is_returned();                                                                              \
        TALLY_ROOT_TAGGED(Word, word);                                                                                 \
        ARE(first, "da");                                                                                              \
        word = Word##_is_returned();                                                                                   \
        ARE(first, "dda");                                                                                             \
        Word##_is_there_after_a_jump();                                                                                \
    }
TESTS(Low, LOW_OF, LOW_NUMBER)
TESTS(Nan, NAN_OF, NAN_NUMBER)

int main(void) {
    Low_tests();
    ARE(0, "dd");
    Nan_tests();
    tally_safepoint();
    for (int id = 0; id < born; id++) {
        if (dead[id] != 1) printf("object %d of %d died %d times\n", id, born, dead[id]), faults++;
    }
    if (!faults) puts("right");
    return faults != 0;
}
