/* A global struct has a reference among its members.
 * verify: is stored plainly to the global variable @state
 * zeal: `Node`
 */
#include "node.h"

static struct State {
    long count;
    Node *newest;
} state;

int main(void) {
    state.newest = make(1); // warned
    state.count = work();
    printf("%ld\n", state.newest->value); // stops
}
