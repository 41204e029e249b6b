/* A state ends before the program does: all finalizers run, the newest first, of objects that live, too. */
#include <stdio.h>
#include <tally_gc.h>

typedef struct Log {
    struct Log *next;
    long number;
} Log;
static Log *late;
static void end(Log *log);
TALLY_FINALIZED_TYPE_AS(Log, TALLY_FINALIZE_REVERSE, end, next);

static Log *new_log(long number, Log *next) {
    TALLY_ROOT(next);
    Log *log = TALLY_NEW(Log);
    TALLY_ROOT(log);
    log->number = number;
    TALLY_WRITE(log, next, next);
    return log;
}

static void end(Log *log) {
    TALLY_ROOT(log);
    printf("end of %ld\n", log->number);
    if (log->number == 4) tally_finalize_all(); /* this one has yet to return */
    if (log->number == 2) TALLY_WRITE_GLOBAL(late, new_log(20, NULL));
    if (log->number == 1) tally_collect();
}

static long sum(Log *log) {
    long sum = 0;
    for (; log; log = log->next) sum += log->number;
    return sum;
}

int main(void) {
    Log *logs = NULL, *other = NULL;
    TALLY_ROOT(logs, other);
    tally_finalize_all();
    for (long number = 1; number <= 5; number++) logs = new_log(number, logs);
    other = new_log(6, logs);
    puts("all");
    tally_finalize_all();
    printf("the sum is still %ld, and %ld\n", sum(logs), other->number + late->number);
    tally_finalize_all();
    logs = new_log(7, logs);
    tally_finalize_register(logs->next);
    puts("those that are new, and the one that is registered anew");
    tally_finalize_all();
    printf("the sum is %ld\n", sum(logs));
    logs = other = NULL;
    TALLY_WRITE_GLOBAL(late, NULL);
    tally_collect();
    printf("%lu are alive\n", tally_count_of_type(&tally_type_Log));
    return 0;
}
