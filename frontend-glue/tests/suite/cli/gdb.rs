//! gdb prints objects of a program that `tally build -g` made.

use tally_kit::folder::Folder;

const PROGRAM: &str = r#"
#include <tally_gc.h>
typedef struct Node { struct Node *next; long value; } Node;
TALLY_TYPE(Node, next);
typedef struct Row { uint64_t length; Node *at[]; } Row;
TALLY_ARRAY_TYPE(Row, length, at);
typedef struct Value { void *word; uint64_t tag; } Value;
TALLY_PAIR_TYPE(Value, tag, word, 0x40, 0x40);
typedef struct Held { Value first; Node *second; } Held;
TALLY_TYPE_OF_PAIRS(Held, Value, first, second);
void stop_here(Node *list, void *any, Row *row, Held *held) {
    __asm__ volatile("" :: "r"(list), "r"(any), "r"(row), "r"(held));
}
int main(void) {
    Node *list = NULL;
    Row *row = TALLY_NEW_ARRAY(Row, 2);
    Held *held = TALLY_NEW(Held);
    TALLY_ROOT(list, row, held);
    for (long i = 0; i < 2; i++) {
        Node *node = TALLY_NEW(Node);
        node->value = i + 7;
        TALLY_WRITE(node, next, list);
        TALLY_WRITE_AT(row, &row->at[i], node);
        list = node;
    }
    TALLY_WRITE_PAIR(held, first, ((Value){list, 0x40}));
    TALLY_WRITE(held, second, list->next);
    stop_here(list, row, row, held);
}
"#;

/// A type that debug information does not know.
const IN_IR: &str = r#"
@Cell = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Cell, !"size", i64 16, !"refs", !{i32 0}}
declare ptr @tally_new(ptr)
define void @stop_here(ptr %cell) noinline optnone {
  store volatile i64 42, ptr %cell
  ret void
}
define i32 @main() gc "refcount" {
  %cell = call ptr @tally_new(ptr @Cell)
  %value = getelementptr i8, ptr %cell, i64 8
  store i64 42, ptr %value
  call void @stop_here(ptr %cell)
  ret i32 0
}
"#;

/// A function that runs on a coroutine.
const COROUTINE: &str = r#"
#include <tally_gc.h>
void stop_here(long depth) { __asm__ volatile("" :: "r"(depth)); }
static void inner(long depth) {
    if (depth) inner(depth - 1);
    else stop_here(depth);
    __asm__ volatile("");
}
static void *entry(void *value) {
    inner(1);
    return value;
}
int main(void) {
    void *stack = tally_stack_new(entry, 0);
    TALLY_ROOT(stack);
    tally_stack_switch(stack, 0);
}
"#;

/// What gdb says to the commands where `stop_here` begins, those lines that begin so.
fn said(folder: &Folder, commands: &[String], begin: char) -> Vec<String> {
    let safe = format!("add-auto-load-safe-path {}", folder.path("").display());
    let mut words = vec!["-batch", "-nx", "-iex", &safe, "-ex", "break stop_here", "-ex", "run"];
    commands.iter().for_each(|command| words.extend(["-ex", command]));
    words.push("program");
    let outcome = folder.run("gdb", &words);
    outcome.stdout.lines().filter(|line| line.starts_with(begin)).map(str::to_owned).collect()
}

/// What gdb prints of the expressions there.
fn printed(folder: &Folder, expressions: &[&str]) -> String {
    let prints = expressions.iter().map(|expression| format!("print {expression}")).collect::<Vec<_>>();
    said(folder, &prints, '$').iter().map(|line| format!("{line}\n")).collect()
}

/// The same text with the number of each address in the place of the address.
fn numbered(text: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut numbered = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("0x") {
        let digits = behind.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(behind.len());
        let place = known.iter().position(|address| address == &behind[..digits]).unwrap_or_else(|| {
            known.push(behind[..digits].to_owned());
            known.len() - 1
        });
        numbered += &format!("{before}{}", char::from(b'A' + place as u8));
        rest = &behind[digits..];
    }
    numbered + rest
}

#[test]
fn objects_are_printed_by_the_types_in_their_headers() {
    let folder = Folder::with(&[("program.c", PROGRAM), ("cell.ll", IN_IR)]);
    for plan in ["refcount", "refcount-prompt"] {
        folder.build(&["-g", "-O0", "--plan", plan, "program.c"]);
        assert_eq!(
            numbered(&printed(
                &folder,
                &["list", "*list", "any", "list->next", "list->next->next", "held", "held->first"]
            )),
            "$1 = A Node = {next = B Node, value = 8}\n\
             $2 = Node = {next = B Node, value = 8}\n\
             $3 = C Row = {length = 2, at = {B Node, A Node}}\n\
             $4 = B Node = {next = D, value = 7}\n\
             $5 = (struct Node *) D\n\
             $6 = E Held = {first = {word = A Node, tag = 64}, second = B Node}\n\
             $7 = {word = A Node = {next = B Node, value = 8}, tag = 64}\n",
            "{plan}"
        );
    }
    folder.build(&["-g", "-O2", "cell.ll"]);
    assert_eq!(numbered(&printed(&folder, &["(void *)$rdi"])), "$1 = A Cell = {+0 = 0, +8 = 42}\n");
    // Others have none of it.
    folder.build(&["cell.ll"]);
    assert!(!folder.inspect("readelf", &["-sSW"]).contains("gdb"));
    assert!(!folder.inspect("nm", &[]).contains("tally_debugger"));
}

#[test]
fn frames_of_a_coroutine_are_seen_down_to_its_beginning() {
    let folder = Folder::with(&[("program.c", COROUTINE)]);
    for plan in ["refcount", "refcount-prompt", "trace"] {
        folder.build(&["-g", "-O0", "--plan", plan, "program.c"]);
        let frames = said(&folder, &["backtrace".to_owned()], '#');
        let functions = ["stop_here (depth=0)", "inner (depth=0)", "inner (depth=1)", "entry (value=0x0)"];
        let runtime = ["tally_call_managed ()", "tally_stack_begin ()"];
        let expected = functions.iter().chain(&runtime);
        assert_eq!(frames.len(), functions.len() + runtime.len(), "{plan}: {frames:?}");
        assert!(frames.iter().zip(expected).all(|(frame, name)| frame.contains(name)), "{plan}: {frames:?}");
    }
}
