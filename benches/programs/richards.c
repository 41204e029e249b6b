/* richards: the kernel of an operating system, after Martin Richards and "Are We Fast Yet". Six tasks, what each
 * knows, and eight packets live for ten thousand steps in which the packets go from queue to queue; then all die.
 * Little is allocated, and much is written: links of packets, and which task holds them.
 */
#include "program.h"

enum { IDLER, WORKER, HANDLER_A, HANDLER_B, DEVICE_A, DEVICE_B, TASKS };
enum { DEVICE_PACKET, WORK_PACKET };
enum { DATA_SIZE = 4, STEPS = 10000 };

typedef struct Data {
    uint64_t length;
    int at[];
} Data;
TALLY_DATA_ARRAY_TYPE(Data, length, at);

typedef struct Packet {
    struct Packet *link;
    Data *data;
    int identity, kind, datum;
} Packet;
TALLY_TYPE(Packet, link, data);

/* What a task knows between two of its runs: queues of packets, or numbers. */
typedef struct Knowledge {
    Packet *work, *devices, *pending;
    int control, count, destination;
} Knowledge;
TALLY_TYPE(Knowledge, work, devices, pending);

struct Scheduler;
typedef struct Task {
    struct Task *link;
    Packet *input;
    Knowledge *knowledge;
    struct Task *(*run)(struct Scheduler *, struct Task *, Packet *);
    int identity, priority;
    char has_packet, is_waiting, is_holding;
} Task;
TALLY_TYPE(Task, link, input, knowledge);

typedef struct Scheduler {
    Task *list, *current, *table[TASKS];
    long queued, held;
} Scheduler;
TALLY_TYPE(Scheduler, list, current, table[0], table[1], table[2], table[3], table[4], table[5]);

static Packet *new_packet(Packet *link, int identity, int kind) {
    TALLY_ROOT(link);
    Packet *packet = TALLY_NEW(Packet);
    TALLY_ROOT(packet);
    packet->identity = identity;
    packet->kind = kind;
    packet->datum = 0;
    TALLY_WRITE(packet, link, link);
    TALLY_WRITE(packet, data, TALLY_NEW_ARRAY(Data, DATA_SIZE));
    memset(packet->data->at, 0, DATA_SIZE * sizeof(int));
    return packet;
}

/* The queue with a packet at its end. */
static Packet *with_last(Packet *queue, Packet *packet) {
    TALLY_WRITE(packet, link, NULL);
    if (!queue) return packet;
    Packet *last = queue;
    while (last->link) last = last->link;
    TALLY_WRITE(last, link, packet);
    return queue;
}

/* What a task does at its end: it waits, is held, lets another go on, or sends a packet. Each says which task is next. */
static Task *wait_for_packet(Scheduler *scheduler) {
    scheduler->current->is_waiting = 1;
    return scheduler->current;
}

static Task *hold_self(Scheduler *scheduler) {
    scheduler->held++;
    scheduler->current->is_holding = 1;
    return scheduler->current->link;
}

static Task *release(Scheduler *scheduler, int identity) {
    Task *task = scheduler->table[identity];
    task->is_holding = 0;
    return task->priority > scheduler->current->priority ? task : scheduler->current;
}

static Task *send(Scheduler *scheduler, Packet *packet) {
    TALLY_ROOT(scheduler);
    Task *task = scheduler->table[packet->identity], *sender = scheduler->current;
    TALLY_ROOT(task, sender);
    scheduler->queued++;
    packet->identity = sender->identity;
    int was_empty = !task->input;
    TALLY_WRITE(task, input, with_last(task->input, packet));
    if (!was_empty) return sender;
    task->has_packet = 1;
    return task->priority > sender->priority ? task : sender;
}

static Task *run_idler(Scheduler *scheduler, Task *task, Packet *packet) {
    (void)packet;
    Knowledge *self = task->knowledge;
    if (--self->count == 0) return hold_self(scheduler);
    if ((self->control & 1) == 0) {
        self->control /= 2;
        return release(scheduler, DEVICE_A);
    }
    self->control = self->control / 2 ^ 53256;
    return release(scheduler, DEVICE_B);
}

static Task *run_worker(Scheduler *scheduler, Task *task, Packet *packet) {
    if (!packet) return wait_for_packet(scheduler);
    Knowledge *self = task->knowledge;
    self->destination = self->destination == HANDLER_A ? HANDLER_B : HANDLER_A;
    packet->identity = self->destination;
    packet->datum = 0;
    for (int i = 0; i < DATA_SIZE; i++) {
        if (++self->count > 26) self->count = 1;
        packet->data->at[i] = 'A' + self->count - 1;
    }
    return send(scheduler, packet);
}

static Task *run_handler(Scheduler *scheduler, Task *task, Packet *packet) {
    Knowledge *self = task->knowledge;
    TALLY_ROOT(scheduler, self);
    if (packet) {
        if (packet->kind == WORK_PACKET)
            TALLY_WRITE(self, work, with_last(self->work, packet));
        else
            TALLY_WRITE(self, devices, with_last(self->devices, packet));
    }
    Packet *work = self->work;
    TALLY_ROOT(work);
    if (!work) return wait_for_packet(scheduler);
    if (work->datum >= DATA_SIZE) {
        TALLY_WRITE(self, work, work->link);
        return send(scheduler, work);
    }
    Packet *device = self->devices;
    TALLY_ROOT(device);
    if (!device) return wait_for_packet(scheduler);
    TALLY_WRITE(self, devices, device->link);
    device->datum = work->data->at[work->datum++];
    return send(scheduler, device);
}

static Task *run_device(Scheduler *scheduler, Task *task, Packet *packet) {
    Knowledge *self = task->knowledge;
    if (packet) {
        TALLY_WRITE(self, pending, packet);
        return hold_self(scheduler);
    }
    packet = self->pending;
    TALLY_ROOT(packet);
    if (!packet) return wait_for_packet(scheduler);
    TALLY_WRITE(self, pending, NULL);
    return send(scheduler, packet);
}

static void add_task(Scheduler *scheduler, int identity, int priority, Packet *input,
                     Task *(*run)(Scheduler *, Task *, Packet *), char is_waiting) {
    TALLY_ROOT(scheduler, input);
    Task *task = TALLY_NEW(Task);
    TALLY_ROOT(task);
    task->run = run;
    task->identity = identity;
    task->priority = priority;
    task->has_packet = input != NULL;
    task->is_waiting = is_waiting;
    task->is_holding = 0;
    TALLY_WRITE(task, input, input);
    TALLY_WRITE(task, link, scheduler->list);
    TALLY_WRITE(scheduler, list, task);
    TALLY_WRITE(scheduler, table[identity], task);
    Knowledge *knowledge = TALLY_NEW(Knowledge);
    knowledge->control = 1;
    knowledge->count = 0;
    knowledge->destination = HANDLER_A;
    TALLY_WRITE(task, knowledge, knowledge);
}

static Task *run_task(Scheduler *scheduler, Task *task) {
    TALLY_ROOT(scheduler, task);
    Packet *packet = NULL;
    TALLY_ROOT(packet);
    if (task->has_packet && task->is_waiting) {
        packet = task->input;
        TALLY_WRITE(task, input, packet->link);
        task->is_waiting = 0;
        task->has_packet = task->input != NULL;
    }
    return task->run(scheduler, task, packet);
}

static void schedule(Scheduler *scheduler) {
    TALLY_ROOT(scheduler);
    Task *task = scheduler->list;
    TALLY_ROOT(task);
    while (task) {
        TALLY_WRITE(scheduler, current, task);
        int cannot_run = task->is_holding || (!task->has_packet && task->is_waiting);
        task = cannot_run ? task->link : run_task(scheduler, task);
    }
}

static Packet *new_packets(int count, int identity, int kind) {
    Packet *queue = NULL;
    TALLY_ROOT(queue);
    while (count-- > 0) queue = new_packet(queue, identity, kind);
    return queue;
}

/* A system that stops when its idler has run `steps` times. */
static Scheduler *new_system(long steps) {
    Scheduler *scheduler = TALLY_NEW(Scheduler);
    TALLY_ROOT(scheduler);
    scheduler->queued = scheduler->held = 0;
    add_task(scheduler, IDLER, 0, NULL, run_idler, 0);
    add_task(scheduler, WORKER, 1000, new_packets(2, WORKER, WORK_PACKET), run_worker, 1);
    add_task(scheduler, HANDLER_A, 2000, new_packets(3, DEVICE_A, DEVICE_PACKET), run_handler, 1);
    add_task(scheduler, HANDLER_B, 3000, new_packets(3, DEVICE_B, DEVICE_PACKET), run_handler, 1);
    add_task(scheduler, DEVICE_A, 4000, NULL, run_device, 1);
    add_task(scheduler, DEVICE_B, 5000, NULL, run_device, 1);
    scheduler->table[IDLER]->knowledge->count = steps;
    return scheduler;
}

#ifdef FREED_BY_HAND
static void free_packets(Packet *packet) {
    while (packet) {
        Packet *link = packet->link;
        free(packet->data);
        free(packet);
        packet = link;
    }
}

static void free_system(Scheduler *scheduler) {
    for (int i = 0; i < TASKS; i++) {
        Task *task = scheduler->table[i];
        free_packets(task->input);
        free_packets(task->knowledge->work);
        free_packets(task->knowledge->devices);
        Packet *pending = task->knowledge->pending; /* one: its link is of the queue that it has left */
        if (pending) free(pending->data);
        free(pending);
        free(task->knowledge);
        free(task);
    }
    free(scheduler);
}
#endif

static uint64_t richards(long size) {
    uint64_t sum = 0;
    for (long left = size; left > 0; left -= STEPS) {
        int steps = left < STEPS ? left : STEPS;
        Scheduler *scheduler = new_system(steps);
        TALLY_ROOT(scheduler);
        schedule(scheduler);
        int is_as_original = scheduler->queued == 23246 && scheduler->held == 9297;
        if (steps == STEPS && !is_as_original) abort();
        sum = mix(sum, scheduler->queued + scheduler->held + scheduler->table[WORKER]->knowledge->count);
        BY_HAND(free_system(scheduler);)
        tick();
    }
    return sum;
}
PROGRAM(richards, 15000000, 30000, 100)
