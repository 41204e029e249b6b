//! Tables of references in global variables, written at computed places.

use tally_kit::folder::{Folder, Outcome};

const PROGRAM: &str = r#"
#include <stdio.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
static Node *table[8];
static struct { const char *name; long uses; Node *node; } records[3];
Node *grid[2][3];
static Node *make(long value) {
    Node *node = TALLY_NEW(Node);
    node->value = value;
    return node;
}
static void churn(void) {
    for (long i = 0; i < 3000; i++) make(-1);
    tally_collect();
    for (long i = 0; i < 3000; i++) make(-2);
}
static void fill(long more) {
    for (int i = 0; i < 8; i++) TALLY_WRITE_GLOBAL(table[i], make(more + i));
    for (int i = 0; i < 3; i++) {
        TALLY_WRITE_GLOBAL(records[i].node, make(more + 10 + i));
        records[i].name = "outside the heap";
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) TALLY_WRITE_GLOBAL(grid[i][j], make(more + 20 + 3 * i + j));
}
static long sum(void) {
    long all = 0;
    for (int i = 0; i < 8; i++) all += table[i] ? table[i]->value : 0;
    for (int i = 0; i < 3; i++) all += records[i].node ? records[i].node->value : 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) all += grid[i][j] ? grid[i][j]->value : 0;
    return all;
}
int main(void) {
    fill(1000);
    churn();
    long first = sum();
    fill(2000);
    TALLY_WRITE_GLOBAL(table[3], NULL);
    churn();
    printf("%ld %ld\n", first, sum());
    for (int i = 0; i < 8; i++) TALLY_WRITE_GLOBAL(table[i], NULL);
    for (int i = 0; i < 3; i++) TALLY_WRITE_GLOBAL(records[i].node, NULL);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) TALLY_WRITE_GLOBAL(grid[i][j], NULL);
}
"#;

/// 28 + 33 + 135, and 17 times 1,000 or 2,000, less the third of the table.
const PRINTED: &str = "17196 32193\n";

#[test]
fn what_computed_places_of_global_tables_hold_lives() {
    let folder = Folder::with(&[("table.c", PROGRAM)]);
    let expected = Outcome { status: Some(0), stdout: PRINTED.to_owned(), stderr: String::new() };
    for plan in ["refcount", "refcount-prompt"] {
        for level in ["0", "1", "2", "3"] {
            let run = ["run", "--plan", plan, "--opt", level, "--leak-check", "--epoch-bytes", "16KiB", "table.c"];
            assert_eq!(folder.tally(&run), expected, "{plan} --opt {level}");
        }
        assert_eq!(folder.tally(&["run", "--plan", plan, "--zeal", "table.c"]), expected, "{plan} --zeal");
        assert_eq!(folder.tally(&["build", "--plan", plan, "-o", "program", "table.c"]).status, Some(0));
        assert_eq!(folder.program(&[("TALLY_LEAK_CHECK", "1")], &[]), expected, "{plan}, built");
    }
}
