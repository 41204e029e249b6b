/* Null is stored plainly to a global where nothing else can stand there: at the start of main and of a constructor. */
#include "../node.h"

static Node *list, *table[4];
static Node *made_by_a_constructor;

__attribute__((constructor)) static void begin(void) {
    made_by_a_constructor = NULL;
    TALLY_WRITE_GLOBAL(made_by_a_constructor, make(1));
}

int main(void) {
    list = NULL;
    table[2] = NULL;
    TALLY_WRITE_GLOBAL(list, make(2));
    TALLY_WRITE_GLOBAL(table[2], make(3));
    work();
    printf("%ld %ld %ld\n", made_by_a_constructor->value, list->value, table[2]->value);
    TALLY_WRITE_GLOBAL(list, NULL);
}
