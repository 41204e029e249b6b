/* A destructor allocates and then reads its object: the runtime holds it meanwhile. */
#include "../node.h"

typedef struct File {
    Node *data;
    long number;
} File;
static Node *closed_last;

static void closed(File *file) {
    work();
    TALLY_WRITE_GLOBAL(closed_last, file->data);
    file->number = -1;
}
TALLY_FINALIZED_TYPE(File, closed, data);

static void open_and_forget(void) {
    File *file = TALLY_NEW(File);
    TALLY_ROOT(file);
    file->number = 1;
    TALLY_WRITE(file, data, make(4));
}

int main(void) {
    open_and_forget();
    for (int i = 0; i < 5; i++) work();
    tally_collect();
    tally_collect();
    printf("%ld\n", closed_last->value);
}
