/* A program asks while it runs which fields have closed the cycles that were collected. */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

typedef struct Pair {
    struct Pair *other;
    long value;
} Pair;
TALLY_TYPE(Pair, other);

static Pair *pair(void) {
    Pair *one = NULL, *two = NULL;
    TALLY_ROOT(one, two);
    one = TALLY_NEW(Pair);
    two = TALLY_NEW(Pair);
    TALLY_WRITE(one, other, two);
    TALLY_WRITE(two, other, one);
    return one;
}
/* It lives through a collection, so that all plans look at it when it is dead. */
static void collected(void) {
    Pair *kept = NULL;
    TALLY_ROOT(kept);
    kept = pair();
    tally_collect();
    if (kept->other->other != kept) puts("no cycle");
    kept = NULL;
    tally_collect();
}
static void line(const char *text, void *context) {
    if (strstr(text, " x ")) printf("%s: %s\n", (const char *)context, strstr(text, " x ") + 3);
}
int main(void) {
    collected();
    printf("before: %lu\n", (unsigned long)tally_cycle_report(line, "before"));
    tally_log_cycles(1);
    collected();
    printf("lines: %lu\n", (unsigned long)tally_cycle_report(line, "noted"));
    tally_log_cycles(0);
    collected();
    printf("after: %lu\n", (unsigned long)tally_cycle_report(NULL, NULL));
}
