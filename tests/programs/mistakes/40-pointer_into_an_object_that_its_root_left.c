/* The root of a line is given the next line while a pointer into the first is in use.
 * verify: sits in no root
 * zeal: `Text`
 */
#include "node.h"

static Text *line(const char *what) {
    Text *text = TALLY_NEW_ARRAY(Text, strlen(what) + 1);
    for (long i = 0; what[i]; i++) text->bytes[i] = what[i];
    return text;
}

int main(void) {
    Text *current = line("key: value");
    TALLY_ROOT(current);
    char *key = current->bytes;
    current = line("next: value");
    work();
    printf("%c\n", *key); // warned, stops
}
