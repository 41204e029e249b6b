/* Finalizers under either plan: of rings, in an order, on request, twice, and when the program ends.
 *
 * Under the prompt plan what no ring holds is finalized when its last reference goes (prompt_files.c). Under the deferred plan it is
 * found by the next epoch, as rings are under both; here tally_collect() says when. What this prints is the same.
 *
 *     tally run examples/finalizers.c
 *     tally run --plan refcount-prompt examples/finalizers.c
 */
#include <stdio.h>
#include <tally_gc.h>

/* Members of a dead ring are all whole when the first of them is finalized. */
typedef struct Peer { struct Peer *next; int number; } Peer;
static int hung_up, whole;
static void hang_up(Peer *peer) {
    hung_up++;
    whole += peer->next->next->next == peer;
}
TALLY_FINALIZED_TYPE(Peer, hang_up, next);

static void ring(void) {
    Peer *first = TALLY_NEW(Peer);
    TALLY_ROOT(first);
    Peer *second = TALLY_NEW(Peer);
    TALLY_ROOT(second);
    Peer *third = TALLY_NEW(Peer);
    TALLY_ROOT(third);
    TALLY_WRITE(first, next, second);
    TALLY_WRITE(second, next, third);
    TALLY_WRITE(third, next, first);
}

/* Layers that were put on last come off first. */
typedef struct Layer { struct Layer *below, *top; int number; } Layer;
static void take_off(Layer *layer) { printf("  layer %d\n", layer->number); }
TALLY_FINALIZED_TYPE_AS(Layer, TALLY_FINALIZE_REVERSE, take_off, below, top);

static void layers(void) {
    Layer *bottom = TALLY_NEW(Layer);
    TALLY_ROOT(bottom);
    bottom->number = 1;
    Layer *top = bottom;
    TALLY_ROOT(top);
    for (int number = 2; number <= 4; number++) {
        Layer *layer = TALLY_NEW(Layer);
        TALLY_ROOT(layer);
        layer->number = number;
        TALLY_WRITE(layer, below, top);
        top = layer;
    }
    TALLY_WRITE(bottom, top, top); /* a ring: they die together */
}

/* A stream is flushed before the file below it is closed, whoever was made first. */
typedef struct Stream { struct Stream *file, *self; const char *name; } Stream;
static void finish(Stream *stream) { printf("  %s\n", stream->name); }
TALLY_FINALIZED_TYPE_AS(Stream, TALLY_FINALIZE_OWNER_FIRST, finish, file, self);

static Stream *stream(const char *name, Stream *file) {
    TALLY_ROOT(file);
    Stream *made = TALLY_NEW(Stream);
    TALLY_ROOT(made);
    made->name = name;
    TALLY_WRITE(made, file, file);
    return made;
}

static void streams(void) {
    Stream *buffered = stream("flush", stream("compress", stream("close", NULL)));
    TALLY_ROOT(buffered);
}

/* Only tables that have something to put away are finalized; this one is put away twice. */
typedef struct Table { struct Table *self; int times; } Table;
static Table *saved;
static void put_away(Table *table) {
    TALLY_ROOT(table);
    printf("  put away for the %d. time\n", ++table->times);
    if (table->times == 1) {
        TALLY_WRITE_GLOBAL(saved, table); /* it lives on */
        tally_finalize_register(table); /* and will be finalized once more */
    }
}
TALLY_FINALIZED_TYPE_AS(Table, TALLY_FINALIZE_REGISTERED, put_away, self);

static void tables(void) {
    for (int i = 0; i < 10; i++) {
        Table *table = TALLY_NEW(Table);
        TALLY_ROOT(table);
        table->times = 0;
        TALLY_WRITE(table, self, table);
        if (i == 3 || i == 7) tally_finalize_register(table);
        if (i == 7) tally_finalize_forget(table);
    }
}

/* What nothing finds dead is finalized at the end. */
typedef struct Log { struct Log *next; const char *name; } Log;
static Log *program_log;
static void close_log(Log *log) {
    printf("  close the %s log\n", log->name);
    TALLY_WRITE_GLOBAL(program_log, NULL); /* or --leak-check would name it */
}
TALLY_FINALIZED_TYPE(Log, close_log, next);

int main(void) {
    printf("a ring\n");
    ring();
    tally_collect();
    printf("  %d hung up, %d were whole\n", hung_up, whole);
    printf("in reverse order\n");
    layers();
    tally_collect();
    printf("owners first\n");
    streams();
    tally_collect();
    printf("on request\n");
    tables();
    tally_collect();
    TALLY_WRITE_GLOBAL(saved, NULL);
    tally_collect();
    printf("at the end\n");
    Log *log = TALLY_NEW(Log);
    log->name = "program's";
    TALLY_WRITE_GLOBAL(program_log, log);
}
