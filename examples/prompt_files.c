/* Files that close and locks that open themselves, each at a known moment: what the prompt plan promises.
 *
 * A finalizer is a destructor here. It runs when the last reference goes: of a local at the return, the last declared first;
 * of a field that is overwritten, before the next statement; of what an object holds, after the object, in the order of its fields.
 * Nothing is left to a collection but what holds itself: the destructors of a ring run when it is found, in no promised order.
 *
 *     tally run --plan refcount-prompt examples/prompt_files.c
 */
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>

static int locks_held;

/* A file: its lines go to a buffer until it is closed. */
typedef struct File { struct File *next; char name[16]; char lines[64]; } File;
static void close_file(File *file) { printf("  close %s:%s%s\n", file->name, file->lines, locks_held ? " (locked)" : ""); }
TALLY_FINALIZED_TYPE(File, close_file, next);

/* A lock: held as long as somebody refers to it. */
typedef struct Lock { int number; } Lock;
static void unlock(Lock *lock) { printf("  unlock %d, %d held\n", lock->number, --locks_held); }
TALLY_FINALIZED_TYPE(Lock, unlock);

/* What a transaction holds goes in the order of its fields: the files are closed before the lock opens. */
typedef struct Transaction { File *journal, *data; Lock *lock; const char *state; } Transaction;
static void end(Transaction *transaction) {
    printf("  %s\n", transaction->state);
    if (transaction->journal) strcat(transaction->journal->lines, " end");
}
TALLY_FINALIZED_TYPE(Transaction, end, journal, data, lock);

/* Files in a directory, and the directory itself. */
typedef struct Directory { uint64_t count; File *files[]; } Directory;
static void leave(Directory *directory) { printf("  leave a directory of %lu\n", (unsigned long)directory->count); }
TALLY_FINALIZED_ARRAY_TYPE(Directory, leave, count, files);

/* Half of a connection: it holds the other half. */
typedef struct Peer { struct Peer *other; } Peer;
static int peers_gone;
static void hang_up(Peer *peer) { peers_gone += peer->other != NULL; }
TALLY_FINALIZED_TYPE(Peer, hang_up, other);

static File *open_file(const char *name) {
    File *file = TALLY_NEW(File);
    TALLY_ROOT(file);
    snprintf(file->name, sizeof file->name, "%s", name);
    file->lines[0] = 0;
    printf("  open %s\n", name);
    return file;
}

static void append(File *file, const char *line) {
    strcat(strcat(file->lines, " "), line);
}

static Lock *take_lock(int number) {
    Lock *lock = TALLY_NEW(Lock);
    TALLY_ROOT(lock);
    lock->number = number;
    locks_held++;
    printf("  lock %d\n", number);
    return lock;
}

static void two_locals(void) {
    File *first = open_file("first");
    TALLY_ROOT(first);
    File *second = open_file("second");
    TALLY_ROOT(second);
    append(second, "two");
    append(first, "one");
    printf("  at the end of two_locals\n");
}

static void transfer(int fails) {
    Transaction *transaction = TALLY_NEW(Transaction);
    TALLY_ROOT(transaction);
    transaction->state = "rolled back";
    TALLY_WRITE(transaction, lock, take_lock(7));
    TALLY_WRITE(transaction, journal, open_file("journal"));
    TALLY_WRITE(transaction, data, open_file("data"));
    append(transaction->data, "+100");
    if (fails) return;
    append(transaction->data, "-100");
    transaction->state = "committed";
}

/* A log whose file changes: the old one is closed as soon as nobody writes to it. */
static void rotate(void) {
    File *log = open_file("log.1");
    TALLY_ROOT(log);
    append(log, "a");
    log = open_file("log.2");
    printf("  log.1 was closed a moment ago\n");
    append(log, "b");
    log = NULL;
    printf("  and log.2\n");
}

static File *newest(Directory *directory) { return directory->files[directory->count - 1]; }

static void directory(void) {
    File *kept = NULL;
    TALLY_ROOT(kept);
    Directory *directory = TALLY_NEW_ARRAY(Directory, 3);
    TALLY_ROOT(directory);
    for (uint64_t i = 0; i < directory->count; i++) {
        char name[] = {(char)('a' + i), '.', 'c', 0};
        TALLY_WRITE(directory, files[i], open_file(name));
    }
    kept = newest(directory);
    directory = NULL;
    printf("  %s is open yet\n", kept->name);
}

static void connection(void) {
    Peer *one = TALLY_NEW(Peer);
    TALLY_ROOT(one);
    Peer *two = TALLY_NEW(Peer);
    TALLY_ROOT(two);
    TALLY_WRITE(one, other, two);
    TALLY_WRITE(two, other, one);
}

int main(void) {
    printf("locals\n");
    two_locals();
    printf("a transaction that fails\n");
    transfer(1);
    printf("a transaction\n");
    transfer(0);
    printf("a variable\n");
    rotate();
    printf("a directory\n");
    directory();
    printf("a ring\n");
    connection();
    tally_collect();
    printf("  collected: both halves were whole when they hung up: %s\n", peers_gone == 2 ? "yes" : "no");
    printf("%d locks held\n", locks_held);
}
