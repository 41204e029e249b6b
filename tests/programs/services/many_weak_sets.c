/* Weak sets that nothing refers to any more make room for others: a heap has 4,095 at a time. */
#include <stdio.h>
#include <tally_gc.h>

int main(void) {
    void *kept = tally_weak_set_new(0);
    TALLY_ROOT(kept);
    for (int i = 0; i < 20000; i++) tally_weak_set_new(0);
    printf("%lu members\n", tally_weak_set_count(kept));
}
