/* Drives SQLite in memory: inserts, an index, joins and aggregates. Prints a sum, to be the same for every build, and its
   CPU time. Started by `cargo xtask bench lowering`. */
#include "sqlite3.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long sum;

static int add(void *context, int columns, char **values, char **names) {
    (void)context, (void)names;
    for (int i = 0; i < columns; i++) sum += values[i] ? atoll(values[i]) : 1;
    return 0;
}

static void run(sqlite3 *db, const char *text) {
    char *message = NULL;
    if (sqlite3_exec(db, text, add, NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", text, message);
        exit(1);
    }
}

int main(void) {
    sqlite3 *db;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) return 1;
    run(db, "create table item (id integer primary key, kind integer, name text, price integer)");
    run(db, "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)"
            " insert into item select i, i % 97, 'item number ' || (i * 7919 % 100003), i * 31 % 1009 from n");
    run(db, "create index by_name on item (name)");
    for (int round = 0; round < 6; round++) {
        run(db, "select kind, count(*), sum(price), max(name) from item group by kind order by 3 desc");
        run(db, "select count(*) from item a join item b on a.name = b.name where a.id < b.id");
        run(db, "update item set price = price + 1 where kind % 3 = 0");
        run(db, "select sum(length(replace(name, 'item', 'thing'))) from item where name like '%7%'");
    }
    sqlite3_close(db);
    printf("sum=%lld seconds=%.3f\n", sum, (double)clock() / CLOCKS_PER_SEC);
}
