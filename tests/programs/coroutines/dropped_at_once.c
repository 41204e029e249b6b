/* Under the prompt plan: what only the frames of a dropped, or closed, or finished stack have held dies at the next safepoint. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct File { struct File *next; long number; } File;
/* In which order they die is not promised. */
static long dead[16], deaths;
static void finalize(File *file) {
    long at = deaths++;
    for (; at > 0 && dead[at - 1] > file->number; at--) dead[at] = dead[at - 1];
    dead[at] = file->number;
}
TALLY_FINALIZED_TYPE(File, finalize, next);

static File *open_file(long number) {
    File *file = TALLY_NEW(File);
    file->number = number;
    return file;
}
static void swap(File **one, File **other) {
    File *first = *one;
    *one = *other;
    *other = first;
}
static void descend(long depth, File *above) {
    File *mine = NULL, *lent = NULL;
    TALLY_ROOT(above, mine, lent);
    mine = open_file(depth);
    if (depth == 2) lent = open_file(20), swap(&lent, &mine);
    if (depth > 1) descend(depth - 1, mine);
    else tally_stack_switch(NULL, mine);
    if (mine->number + lent->number < 0) puts("never");
}
static void *entry(void *value) {
    File *kept = value;
    TALLY_ROOT(kept);
    if (kept) descend(kept->number, kept);
    return kept;
}
static void died(const char *what) {
    for (long at = 0; at < deaths; at++) printf("%ld ", dead[at]);
    deaths = 0;
    printf("| %s\n", what);
}

int main(void) {
    void *stack = NULL;
    File *kept = NULL;
    TALLY_ROOT(stack, kept);
    stack = tally_stack_new(entry, 0);
    tally_stack_switch(stack, open_file(1));
    stack = NULL;
    tally_safepoint();
    died("dropped");

    stack = tally_stack_new(entry, 0);
    tally_stack_switch(stack, open_file(1));
    tally_collect();
    stack = NULL;
    tally_safepoint();
    died("dropped after a collection");

    stack = tally_stack_new(entry, 0);
    kept = tally_stack_switch(stack, open_file(1));
    tally_stack_close(stack);
    tally_safepoint();
    died("closed, one kept");
    kept = NULL;
    tally_safepoint();
    died("not kept");

    stack = tally_stack_new(entry, 0);
    kept = tally_stack_switch(stack, NULL);
    tally_safepoint();
    died("finished with nothing");

    for (int round = 0; round < 2; round++) {
        stack = tally_stack_new(entry, 0);
        tally_stack_switch(stack, open_file(2));
        if (round) tally_collect();
        tally_stack_close(stack);
        tally_safepoint();
        died("with a variable that another function has changed");
    }
    return 0;
}
