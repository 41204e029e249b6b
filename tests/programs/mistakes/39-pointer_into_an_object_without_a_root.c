/* A pointer into an object keeps nothing alive.
 * verify: sits in no root
 * zeal: `Text`
 */
#include "node.h"

int main(void) {
    Text *text = TALLY_NEW_ARRAY(Text, 8);
    char *bytes = text->bytes;
    strcpy(bytes, "abc");
    work();
    bytes[0] = 'A'; // warned, stops
    puts(bytes);
}
