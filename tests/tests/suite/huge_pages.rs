//! Pages of 2 MiB: the system is asked for them where they save time, and not where clearing one takes longer than a stop may.
//!
//! The program looks at how the system maps its heap (`VmFlags` of proc_pid_smaps(5); `hg`: huge pages were asked for).

use tally_kit::folder::{Folder, Outcome};

/// Holds 64 MiB, and says whether huge pages were asked for anywhere from the heap's first address on.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next; long words[15]; } Node;
TALLY_TYPE(Node, next);
int main(void) {
    Node *list = NULL;
    TALLY_ROOT(list);
    for (long i = 0; i < (64 << 20) / (long)sizeof(Node); i++) {
        Node *node = TALLY_NEW(Node);
        TALLY_WRITE(node, next, list);
        list = node;
    }
    unsigned long start = 0, heap = (unsigned long)list >> 40 << 40;
    int asked = 0, seen = 0;
    char line[4096];
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long low, high;
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2) start = low;
        if (strncmp(line, "VmFlags:", 8) || start < heap || start >= heap + (1UL << 40)) continue;
        seen = 1;
        if (strstr(line, " hg")) asked = 1;
    }
    puts(!seen ? "no heap" : asked ? "asked" : "not asked");
}
"#;

fn says(plan: &str, variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let folder = Folder::with(&[("program.c", PROGRAM)]);
    let Outcome { status, stdout, stderr } =
        folder.tally_with(variables, &[&["run", "--plan", plan], arguments, &["program.c"]].concat());
    assert_eq!((status, stderr.as_str()), (Some(0), ""), "{stdout}");
    stdout
}

/// Whether the system has such pages at all.
fn system_has_huge_pages() -> bool {
    std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists()
}

#[test]
fn a_short_pause_goal_asks_for_no_huge_pages() {
    for plan in ["refcount", "refcount-prompt"] {
        for goal in ["1ms", "9ms"] {
            assert_eq!(says(plan, &[], &["--pause-goal", goal]), "not asked\n", "{plan} {goal}");
        }
    }
}

#[test]
fn without_a_goal_with_a_long_one_or_on_demand_they_are_asked_for() {
    let expected = if system_has_huge_pages() { "asked\n" } else { "not asked\n" };
    for plan in ["refcount", "refcount-prompt"] {
        assert_eq!(says(plan, &[], &[]), expected, "{plan}");
        assert_eq!(says(plan, &[], &["--pause-goal", "10ms"]), expected, "{plan}");
        let demand = [("TALLY_HUGE_PAGES", "1GiB")];
        assert_eq!(says(plan, &demand, &["--pause-goal", "1ms"]), expected, "{plan}");
    }
}
