/* cycles: rings of four sizes and two shapes, each walked once and freed. */
#include "../workload.h"
#include "node.h"

enum { BACKWARD, RANDOM_CHORDS, SHAPES };

static __attribute__((noinline)) long sum_of_ring(int length, int shape) {
    Node *first = new_node(0), *previous = first, *chord = first;
    first->b = first;
    for (int i = 1; i < length; i++) {
        Node *node = new_node(i & 255);
        previous->a = node;
        node->b = shape == BACKWARD ? previous : chord;
        previous = node;
        if (shape == RANDOM_CHORDS) chord = (random_word() >> 30) == 0 ? node : chord->a;
    }
    previous->a = first;
    if (shape == BACKWARD) first->b = previous;

    long sum = 0;
    Node *node = first;
    for (int i = 0; i < length; i++, node = node->a) sum += node->value;
    free_chain(first, length);
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
