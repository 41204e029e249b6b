//! The programs of these tests: what their C begins with, and the plan under which they are compiled.
//!
//! A process has one plan, so the tests of one process all run under the same: the deferred one, unless the environment names
//! another in `BOUNDARIES_PLAN`. `main.rs` runs them all once more that way. What a test writes is the same for both.

use std::ops::Deref;

use tally_llvm::lower::{Plan, STRATEGY};
use tally_llvm::pipeline::CompileOptions;

use tally_kit::folder::{self, Outcome};

/// The variable that names the plan.
pub const VARIABLE: &str = "BOUNDARIES_PLAN";

/// Lists and rings. `push` roots its parameter; `garbage` makes rings; `work` makes garbage of both kinds, keeps one
/// list through it and answers its sum, `rounds * (rounds - 1) / 2`.
const NODES: &str = r#"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tally.h>
#include <tally_gc.h>
typedef struct Node { struct Node *next, *other; long value; } Node;
TALLY_TYPE(Node, next, other);
static Node *push(Node *list, long value) {
    TALLY_ROOT(list);
    Node *node = TALLY_NEW(Node);
    node->value = value;
    TALLY_WRITE(node, next, list);
    return node;
}
static void garbage(long count) {
    Node *ring = NULL;
    TALLY_ROOT(ring);
    for (long i = 0; i < count; i++) {
        ring = push(NULL, i);
        TALLY_WRITE(ring, other, push(ring, i));
    }
}
static long sum_of(Node *n) {
    long sum = 0;
    for (; n; n = n->next) sum += n->value;
    return sum;
}
static long work(long rounds) {
    Node *kept = NULL;
    TALLY_ROOT(kept);
    for (long i = 0; i < rounds; i++) {
        kept = push(kept, i);
        garbage(1);
    }
    return sum_of(kept);
}
"#;

/// A program over nodes.
pub fn of_nodes(main: &str) -> String {
    format!("{NODES}{main}")
}

/// The plan of this process.
pub fn plan() -> Plan {
    std::env::var(VARIABLE)
        .map_or(Plan::Deferred, |name| name.parse().unwrap_or_else(|error| panic!("{VARIABLE}: {error}")))
}

/// For sessions.
pub fn options() -> CompileOptions {
    CompileOptions { gc_names: vec![(STRATEGY.to_owned(), plan())], ..CompileOptions::default() }
}

/// `keep(object)` stores the object to a global variable.
pub const KEEPER: &str = r#"
@kept = global ptr null
declare void @llvm.gcwrite(ptr, ptr, ptr)
define void @keep(ptr %object) gc "refcount" {
  call void @llvm.gcwrite(ptr %object, ptr @kept, ptr @kept)
  ret void
}
"#;

/// A folder whose files are compiled under the plan.
pub struct Folder(folder::Folder);

impl Deref for Folder {
    type Target = folder::Folder;

    fn deref(&self) -> &folder::Folder {
        &self.0
    }
}

impl Folder {
    pub fn with(files: &[(&str, &str)]) -> Folder {
        Folder(folder::Folder::compiling_once(files))
    }

    pub fn tally(&self, arguments: &[&str]) -> Outcome {
        self.0.tally(&under_the_plan(arguments))
    }

    pub fn tally_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Outcome {
        self.0.tally_with(variables, &under_the_plan(arguments))
    }

    pub fn build(&self, arguments: &[&str]) {
        self.0.build(&[&["--plan", plan().strategy()], arguments].concat());
    }
}

/// The subcommand, the plan, the rest.
fn under_the_plan<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&arguments[..1], &["--plan", plan().strategy()], &arguments[1..]].concat()
}
