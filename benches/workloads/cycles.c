/* cycles: rings of four sizes and two shapes, each walked once and dropped. All garbage is cyclic. */
#include "node.h"
#include "workload.h"

enum { BACKWARD, RANDOM_CHORDS, SHAPES };

/* The sum of the values of a ring by `a` whose nodes refer by `b` to their predecessor, or to a node somewhere before. */
static __attribute__((noinline)) long sum_of_ring(int length, int shape) {
    Node *first = new_node(0), *previous = first, *chord = first;
    TALLY_ROOT(first, previous, chord);
    TALLY_WRITE(first, b, first);
    for (int i = 1; i < length; i++) {
        Node *node = new_node(i & 255);
        TALLY_WRITE(previous, a, node);
        TALLY_WRITE(node, b, shape == BACKWARD ? previous : chord);
        previous = node;
        if (shape == RANDOM_CHORDS) chord = (random_word() >> 30) == 0 ? previous : chord->a;
    }
    TALLY_WRITE(previous, a, first);
    if (shape == BACKWARD) TALLY_WRITE(first, b, previous);

    long sum = 0;
    Node *node = first;
    for (int i = 0; i < length; i++, node = node->a) sum += node->value;
    return sum;
}

long cycles(void) {
    long sum = 0, since_tick = 0;
    first_tick();
    for (int size = 0; size < 4; size++) {
        int length = sizes.ring_length[size], rings = (1 << sizes.cycle_bits) / length;
        for (int shape = 0; shape < SHAPES; shape++) {
            for (int i = 0; i < rings; i++) {
                sum += sum_of_ring(length, shape);
                since_tick += length;
                if (since_tick >= 256) {
                    since_tick = 0;
                    tick();
                }
            }
        }
    }
    return sum;
}
