//! Programs with destructors as C.

use super::{FIELDS, GLOBALS, Kind, LOCALS, MORE, Place, Program, Statement};

const PRELUDE: &str = "#include <stdio.h>
#include <stdlib.h>
#include <tally_gc.h>
typedef struct Node { struct Node *first; long id; struct Node *second; double between; struct Node *third; } Node;
typedef struct Node Cutter;
typedef struct Node Maker;
typedef struct Row { struct Node *first; long id; struct Node *second; double between; struct Node *third; uint64_t length; Node *more[]; } Row;
#if MODULES == 1
#define SHARED static
#elif MODULE == 0
#define SHARED
#else
#define SHARED extern
#endif
SHARED long serial, step, fuel;
static void died(Node *);
static void cut(Cutter *);
static void make_one(Maker *);
static void row_died(Row *);
TALLY_FINALIZED_TYPE(Node, died, first, second, third);
TALLY_FINALIZED_TYPE(Cutter, cut, first, second, third);
TALLY_FINALIZED_TYPE(Maker, make_one, first, second, third);
TALLY_FINALIZED_ARRAY_TYPE(Row, row_died, length, more, first, second, third);
MAKEstatic void died(Node *o) { printf(\"-%ld\\n\", o->id); }
static void row_died(Row *o) { printf(\"-%ld\\n\", o->id); }
static void cut(Cutter *o) {
    TALLY_ROOT(o);
    printf(\"-%ld\\n\", o->id);
    TALLY_WRITE(o, second, NULL);
    printf(\"~%ld\\n\", o->id);
}
static void make_one(Maker *o) {
    TALLY_ROOT(o);
    printf(\"-%ld\\n\", o->id);
    Node *n = make(0);
    if (may_refer(o, n)) TALLY_WRITE(o, first, n);
    printf(\"~%ld\\n\", o->id);
}
SHARED Node *g0, *g1;
";

/// One function for all kinds: its result comes from several allocations. The other modules call it.
const MAKE: &str = "SHARED Node *make(int kind);
#if MODULE == 0
SHARED Node *make(int kind) {
    printf(\"+%ld\\n\", ++serial * 4 + kind);
    Node *o = kind == 3 ? (Node *)TALLY_NEW_ARRAY(Row, MORE) : kind == 2 ? TALLY_NEW(Maker) : kind == 1 ? TALLY_NEW(Cutter) : TALLY_NEW(Node);
    o->id = serial * 4 + kind;
    return o;
}
#endif
";

/// A function for each.
const MAKE_EACH: &str = "#define make(kind) make##kind()
#define MAKER(kind, new) static Node *make##kind(void) { \\
    printf(\"+%ld\\n\", ++serial * 4 + kind); Node *o = (Node *)new; o->id = serial * 4 + kind; return o; }
MAKER(0, TALLY_NEW(Node))
MAKER(1, TALLY_NEW(Cutter))
MAKER(2, TALLY_NEW(Maker))
MAKER(3, TALLY_NEW_ARRAY(Row, MORE))
";

const RANKS: &str = "#define RANK(v) (((unsigned long)(v)->id * 2654435761u & 0xffff) << 32 | (unsigned long)(v)->id)
#define may_refer(o, v) ((o) && (!(v) || RANK(o) > RANK(v)))
#define FLIP() (step = step * 5 + 3 & 0xffffff, step >> 9 & 1)
";

const NAMES: [&str; FIELDS] = ["first", "second", "third"];

/// Returns the program as C.
pub(super) fn text(program: &Program) -> String {
    let make = if program.makes_in_one_function { MAKE } else { MAKE_EACH };
    let modules = program.modules;
    let mut text = format!("#define MODULES {modules}\n#define MORE {MORE}\n{RANKS}{}", PRELUDE.replace("MAKE", make));
    for number in 0..program.functions.len() {
        text.push_str(&format!("SHARED Node *f{number}(Node *v0, Node *v1);\n"));
    }
    for (number, (body, result)) in program.functions.iter().enumerate() {
        text.push_str(&format!("#if MODULE == {}\nSHARED Node *f{number}(Node *v0, Node *v1) {{\n", number % modules));
        text.push_str("    TALLY_ROOT(v0, v1);\n");
        for local in 2..LOCALS {
            text.push_str(&format!("    Node *v{local} = NULL; TALLY_ROOT(v{local});\n"));
        }
        text.push_str("    if (--fuel < 0) return NULL;\n");
        body.iter().for_each(|one| statement(&mut text, one, 1));
        text.push_str(&format!("    return {};\n}}\n#endif\n", place(result)));
    }
    let clear: String = (0..GLOBALS)
        .map(|global| format!("    TALLY_WRITE_GLOBAL(g{global}, NULL);\n    printf(\".\\n\");\n"))
        .collect();
    text.push_str(&format!(
        "#if MODULE == 0\nint main(int argc, char **argv) {{\n    for (int i = 0; i < 3; i++) {{\n        fuel = argc > 1 ? atol(argv[1]) : 12;\n        \
         f0(NULL, NULL);\n        printf(\"round %d\\n\", i);\n    }}\n{clear}}}\n#endif\n"
    ));
    text
}

fn place(place: &Place) -> String {
    match place {
        Place::Null => "(Node *)NULL".to_owned(),
        Place::Local(local) => format!("v{local}"),
        Place::Global(global) => format!("g{global}"),
        Place::Field(local, field) => format!("(v{local} ? v{local}->{} : NULL)", NAMES[*field]),
    }
}

fn number(kind: Kind) -> usize {
    Kind::ALL.iter().position(|one| *one == kind).expect("a kind of the list")
}

fn statement(text: &mut String, statement: &Statement, depth: usize) {
    let indent = "    ".repeat(depth);
    let mut line = |words: String| text.push_str(&format!("{indent}{words}\n"));
    match statement {
        Statement::Make(local, kind) => line(format!("v{local} = make({});", number(*kind))),
        Statement::Set(local, from) => line(format!("v{local} = {};", place(from))),
        Statement::Swap(one, other) => line(format!("{{ Node *t = v{one}; v{one} = v{other}; v{other} = t; }}")),
        Statement::Write(object, field, from) => line(format!(
            "{{ Node *t = {}; if (may_refer(v{object}, t)) TALLY_WRITE(v{object}, {}, t); }}",
            place(from),
            NAMES[*field]
        )),
        Statement::WriteElement(object, element, from) => line(format!(
            "{{ Node *t = {}; if (may_refer(v{object}, t) && (v{object}->id & 3) == 3) TALLY_WRITE((Row *)v{object}, more[{element}], t); }}",
            place(from)
        )),
        Statement::Hand(object, field, local) => line(format!(
            "if (may_refer(v{object}, v{local})) {{ TALLY_WRITE(v{object}, {}, v{local}); v{local} = NULL; }}",
            NAMES[*field]
        )),
        Statement::WriteNew(object, field, kind) => line(format!(
            "if (v{object}) {{ Node *t = make({}); if (may_refer(v{object}, t)) TALLY_WRITE(v{object}, {}, t); }}",
            number(*kind),
            NAMES[*field]
        )),
        Statement::SetGlobal(global, from) => line(format!("TALLY_WRITE_GLOBAL(g{global}, {});", place(from))),
        Statement::Call(to, function, first, second) => {
            let to = to.map(|local| format!("v{local} = ")).unwrap_or_default();
            line(format!("{to}f{function}({}, {});", place(first), place(second)));
        }
        Statement::If(one, other) => {
            line("if (FLIP()) {".to_owned());
            one.iter().for_each(|one| self::statement(text, one, depth + 1));
            text.push_str(&format!("{indent}}} else {{\n"));
            other.iter().for_each(|one| self::statement(text, one, depth + 1));
            text.push_str(&format!("{indent}}}\n"));
        }
        Statement::Repeat(times, body) => {
            line(format!("for (int i{depth} = 0; i{depth} < {times}; i{depth}++) {{"));
            body.iter().for_each(|one| self::statement(text, one, depth + 1));
            text.push_str(&format!("{indent}}}\n"));
        }
        Statement::Return(from) => return line(format!("return {};", place(from))),
    }
    text.push_str(&format!("{indent}printf(\".\\n\");\n"));
}
