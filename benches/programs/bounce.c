/* bounce: balls in a box, after "Are We Fast Yet". A hundred balls and the list of them live for fifty steps, then
 * all die.
 */
#include "program.h"
#include "vector.h"

enum { BALLS = 100, STEPS = 50, SIDE = 500 };

typedef struct Ball {
    int x, y, x_speed, y_speed;
} Ball;
TALLY_TYPE(Ball);

/* The generator that the benchmark prescribes. */
static int seed;
static int next_number(void) { return seed = (seed * 1309 + 13849) & 65535; }

static Ball *new_ball(void) {
    Ball *ball = TALLY_NEW(Ball);
    TALLY_ROOT(ball);
    ball->x = next_number() % SIDE;
    ball->y = next_number() % SIDE;
    ball->x_speed = next_number() % 300 - 150;
    ball->y_speed = next_number() % 300 - 150;
    return ball;
}

/* Whether the ball hits a wall; both places and both speeds are as after it. */
static int bounces(Ball *ball) {
    int does = 0;
    ball->x += ball->x_speed;
    ball->y += ball->y_speed;
    if (ball->x > SIDE) ball->x = SIDE, ball->x_speed = -abs(ball->x_speed), does = 1;
    if (ball->x < 0) ball->x = 0, ball->x_speed = abs(ball->x_speed), does = 1;
    if (ball->y > SIDE) ball->y = SIDE, ball->y_speed = -abs(ball->y_speed), does = 1;
    if (ball->y < 0) ball->y = 0, ball->y_speed = abs(ball->y_speed), does = 1;
    return does;
}

static uint64_t bounce(long size) {
    uint64_t sum = 0;
    for (long round = 0; round < size; round++) {
        seed = 74755 + (int)round;
        Vector *balls = new_vector(BALLS);
        TALLY_ROOT(balls);
        for (int i = 0; i < BALLS; i++) append(balls, new_ball());
        long hits = 0;
        for (int step = 0; step < STEPS; step++)
            for (long i = 0; i < balls->length; i++) hits += bounces(balls->items->at[i]);
        sum = mix(sum, hits);
        BY_HAND(for (long i = 0; i < balls->length; i++) free(balls->items->at[i]);)
        free_vector(balls);
        tick();
    }
    return sum;
}
PROGRAM(bounce, 30000, 200, 1)
