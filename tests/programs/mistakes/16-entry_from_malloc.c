/* An entry of a table of the program's own, from malloc, names an object.
 * verify: is stored plainly to memory from malloc
 * zeal: `Node`
 */
#include "node.h"

struct Entry {
    const char *key;
    Node *value;
};

static struct Entry *entry(const char *key, Node *value) {
    TALLY_ROOT(value);
    struct Entry *entry = malloc(sizeof *entry);
    entry->key = key;
    entry->value = value; // warned
    return entry;
}

int main(void) {
    struct Entry *one = entry("one", make(1));
    work();
    printf("%s %ld\n", one->key, one->value->value); // stops
    free(one);
}
