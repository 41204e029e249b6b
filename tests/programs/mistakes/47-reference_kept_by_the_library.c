/* A library keeps what it is given: its memory is no root.
 * verify: silent, it cannot see what a callee keeps
 * zeal: `Node`
 */
#include <pthread.h>
#include "node.h"

int main(void) {
    pthread_key_t key;
    pthread_key_create(&key, NULL);
    pthread_setspecific(key, make(1));
    work();
    printf("%ld\n", ((Node *)pthread_getspecific(key))->value); // stops
}
