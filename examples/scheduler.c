/* Tasks that take turns: a scheduler with a queue, and channels on which tasks wait.
 *
 *     tally run examples/scheduler.c
 *
 * The scheduler runs on the thread's own stack and switches to the first task of its queue; a task that has nothing to do yet puts
 * itself on a list and switches back. A task that waits for ever, on a channel that nothing refers to any more, is garbage: the
 * collector finds the cycle of channel, task and frame. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Task {
    struct Task *next;
    void *stack;
    struct Channel *in, *out;
    long number;
} Task;
TALLY_TYPE(Task, next, stack, in, out);

typedef struct Queue {
    Task *first, *last;
} Queue;
TALLY_TYPE(Queue, first, last);

typedef struct Message {
    struct Message *next;
    long value;
} Message;
TALLY_TYPE(Message, next);

typedef struct Channel {
    Message *first, *last;
    Queue *waiting;
} Channel;
TALLY_TYPE(Channel, first, last, waiting);

static Queue *ready;
static Task *running;
static long turns, finished;

static void enqueue(Queue *queue, Task *task) {
    TALLY_ROOT(queue, task);
    TALLY_WRITE(task, next, NULL);
    if (queue->last) TALLY_WRITE(queue->last, next, task);
    else TALLY_WRITE(queue, first, task);
    TALLY_WRITE(queue, last, task);
}

static Task *dequeue(Queue *queue) {
    Task *task = queue->first;
    if (!task) return NULL;
    TALLY_WRITE(queue, first, task->next);
    if (!queue->first) TALLY_WRITE(queue, last, NULL);
    TALLY_WRITE(task, next, NULL);
    return task;
}

static Channel *channel(void) {
    Channel *made = TALLY_NEW(Channel);
    TALLY_ROOT(made);
    TALLY_WRITE(made, waiting, TALLY_NEW(Queue));
    return made;
}

/* Lets the others have their turn; this task goes on when it is on the queue again. */
static void stop(void) { tally_stack_switch(NULL, NULL); }

static void send(Channel *to, long value) {
    Message *message = NULL;
    Task *task = NULL;
    TALLY_ROOT(to, message, task);
    message = TALLY_NEW(Message);
    message->value = value;
    if (to->last) TALLY_WRITE(to->last, next, message);
    else TALLY_WRITE(to, first, message);
    TALLY_WRITE(to, last, message);
    task = dequeue(to->waiting);
    if (task) enqueue(ready, task);
}

static long receive(Channel *from) {
    TALLY_ROOT(from);
    while (!from->first) {
        enqueue(from->waiting, running);
        stop();
    }
    long value = from->first->value;
    TALLY_WRITE(from, first, from->first->next);
    if (!from->first) TALLY_WRITE(from, last, NULL);
    return value;
}

static void start(void *(*entry)(void *), Channel *in, Channel *out, long number) {
    Task *task = NULL;
    TALLY_ROOT(in, out, task);
    task = TALLY_NEW(Task);
    task->number = number;
    TALLY_WRITE(task, in, in);
    TALLY_WRITE(task, out, out);
    TALLY_WRITE(task, stack, tally_stack_new(entry, 0));
    enqueue(ready, task);
}

/* Runs tasks until none is ready. */
static void run(void) {
    for (; ready->first; turns++) {
        TALLY_WRITE_GLOBAL(running, dequeue(ready));
        tally_stack_switch(running->stack, running);
        if (tally_stack_status(running->stack) == TALLY_STACK_FINISHED) finished++;
    }
    TALLY_WRITE_GLOBAL(running, NULL);
}

/* A sieve: each task passes on the numbers that its prime does not divide. */
static void *sieve(void *argument) {
    Task *self = argument;
    TALLY_ROOT(self);
    long prime = receive(self->in);
    printf("%ld ", prime);
    if (self->number > 1) {
        TALLY_WRITE(self, out, channel());
        start(sieve, self->out, NULL, self->number - 1);
    }
    for (;;) {
        long value = receive(self->in);
        if (value % prime && self->out) send(self->out, value);
    }
}

static void *numbers(void *argument) {
    Task *self = argument;
    TALLY_ROOT(self);
    for (long i = 2; i < 120; i++) {
        send(self->out, i);
        if (i % 10 == 0) {
            enqueue(ready, running);
            stop();
        }
    }
    return NULL;
}

int main(void) {
    TALLY_WRITE_GLOBAL(ready, TALLY_NEW(Queue));
    Channel *first = NULL;
    TALLY_ROOT(first);
    for (int round = 0; round < 3; round++) {
        first = channel();
        start(sieve, first, NULL, 20);
        start(numbers, NULL, first, 0);
        run();
        /* Twenty tasks wait on their channels, which lead to them. */
        first = NULL;
        printf("\n%ld turns, %ld finished\n", turns, finished);
    }
    TALLY_WRITE_GLOBAL(ready, NULL);
    return 0;
}
