/* A destructor stores its object in a global, plainly.
 * verify: is stored plainly to the global variable @last
 * zeal: `File`
 */
#include "node.h"

typedef struct File {
    Node *data;
    long number;
} File;
static File *last;

static void closed(File *file) {
    last = file; // warned
    work();
}
TALLY_FINALIZED_TYPE(File, closed, data);

static void open_and_forget(void) {
    File *file = TALLY_NEW(File);
    file->number = 1;
}

int main(void) {
    open_and_forget();
    for (int i = 0; i < 5; i++) work();
    tally_collect();
    tally_collect();
    printf("%ld\n", last->number); // stops
}
