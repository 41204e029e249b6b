//! Statements of managed functions, which may call, and so be safepoints.
//!
//! Each keeps the rules of `tally_gc.h` by itself. A value used after a call is a rooted variable; a result that is
//! not rooted yet is rooted, or used up, before the next call; objects and indices are named by variables, so that
//! nothing is computed twice. A statement is one line or a block, the unit that `reduce.rs` removes.

use super::body::Body;
use super::calls::{call, call_expression};
use super::function::Shape;
use super::kinds::{KINDS, Kind};
use super::quiet;
use super::temporary::temporary;

/// Blocks in blocks.
const NESTING_MAX: usize = 3;

/// Several statements.
pub(super) fn several(body: &mut Body, count: usize, nesting: usize) {
    for _ in 0..count {
        statement(body, nesting);
    }
}

fn statement(body: &mut Body, nesting: usize) {
    match body.dice.below(55) {
        0..=8 => make(body),
        9..=12 => write(body),
        13..=15 => read(body),
        16..=22 => call(body),
        23..=27 if nesting < NESTING_MAX => block(body, nesting),
        28..=30 => {
            let count = 1 + body.dice.below(4);
            quiet::stretch(body, count);
        }
        31 => derived(body, nesting),
        32 => rows(body),
        33 => sort(body),
        34 | 35 => words(body),
        36 => structs(body),
        37 => global(body),
        38 => {
            let (name, steps) = (body.variable().name, body.dice.below(12));
            body.line(&format!("look({name}, {steps});"));
        }
        39 => {
            let target = body.target();
            let value = body.reference();
            body.line(&format!("{target} = {value};"));
        }
        40 => {
            let target = body.target();
            body.line(&format!("{target} = NULL;"));
        }
        41 => {
            let (how_often, control) = (["15", "63"][body.dice.below(2)], ["tally_collect()", "tally_safepoint()"]);
            let control = *body.dice.pick(&control);
            body.line(&format!("if (!(ROLL(256) & {how_often})) {control};"));
        }
        42 => body.line("{ char text[24]; snprintf(text, sizeof text, \"%lx\", sum); MIX(text[0]); }"),
        43 | 44 => attempt(body),
        45 => {
            let now = body.number();
            body.line(&format!("RAISE(ROLL(40) ^ {now});"));
        }
        48 | 49 => body.line("audit();"),
        51..=54 => temporary(body, nesting.max(NESTING_MAX - 1)),
        46 | 47 if nesting < NESTING_MAX => guarded(body, nesting),
        _ => {
            let name = body.variable().name;
            body.line(&format!("SEE({name});"));
        }
    }
}

/// A call that stops exceptions thrown in it.
fn attempt(body: &mut Body) {
    let (one, other, number) = (body.reference(), body.reference(), body.number());
    let measure = format!("measures[(unsigned long){number} % measures_count]");
    body.line(&format!("{{ long x = ATTEMPT({measure}, {one}, {other}, {number}, depth - 1); MIX(x); }}"));
}

/// A scope with code that runs at its end, also when an exception leaves it: its calls are then invokes.
fn guarded(body: &mut Body, nesting: usize) {
    let (name, guard, number) = (body.variable(), body.fresh_name("g"), body.number());
    let scope = body.open("{");
    if name.rooted && body.dice.one_in(2) {
        body.line(&format!("__attribute__((cleanup(left_with))) Any **{guard} = &{};", name.name));
    } else {
        body.line(&format!("__attribute__((cleanup(left))) long {guard} = {number};"));
    }
    inner(body, 2, nesting);
    body.close(scope);
}

/// A new object, filled, and put into a variable.
fn make(body: &mut Body) {
    let total: usize = KINDS.iter().map(|kind| kind.weight).sum();
    let mut at = body.dice.below(total);
    let kind = KINDS
        .iter()
        .find(|kind| {
            let here = at < kind.weight;
            at = at.wrapping_sub(if here { 0 } else { kind.weight });
            here
        })
        .expect("the weights add up");
    let target = body.target();
    let name = kind.name;
    let made = if kind.is_array {
        let length = match body.dice.below(60) {
            0 => "4000 + ROLL(3000)".to_owned(),
            1..=4 => "60 + ROLL(300)".to_owned(),
            _ => "ROLL(9)".to_owned(),
        };
        format!("TALLY_NEW_ARRAY({name}, {length})")
    } else {
        format!("TALLY_NEW({name})")
    };
    let mut text = format!("{{ {name} *o = {made}; o->tag = TAG({name}); ");
    if kind.is_finalized() {
        text.push_str("BORN(o); ");
    }
    if !kind.is_array {
        for field in kind.numbers.iter().filter(|field| !field.starts_with("pad")) {
            text.push_str(&format!("o->{field} = {}; ", body.number()));
        }
        if name == "Big" {
            text.push_str("memset(o->pad, 3, sizeof o->pad); ");
        }
        for _ in 0..body.dice.below(3) {
            text.push_str(&field_write(body, kind, "o", "o"));
        }
    }
    body.line(&format!("{text}{target} = (Any *)o; }}"));
    body.suppose(&target, kind);
}

/// `TALLY_WRITE` of a field of `object`; empty if the type has no references. `name` is the name for AT.
pub(super) fn field_write(body: &mut Body, kind: &Kind, object: &str, name: &str) -> String {
    if let Some(field) = kind.references.get(body.dice.below(kind.references.len().max(1))) {
        let (index, value) = (body.number(), body.reference());
        let field = kind.field(field, name, &index);
        return format!("TALLY_WRITE({object}, {field}, {value}); ");
    }
    if let Some(field) = kind.words.get(body.dice.below(kind.words.len().max(1))) {
        let (word, macros) = kind.word();
        let (index, value) = (body.number(), body.word_value(word, macros));
        let field = kind.field(field, name, &index);
        return format!("TALLY_WRITE_TAGGED({object}, {field}, {value}); ");
    }
    String::new()
}

fn write(body: &mut Body) {
    let (name, kind) = body.typed(|kind| !kind.references.is_empty() || !kind.words.is_empty());
    let object = format!("({} *){name}", kind.name);
    let calls = if kind.references.is_empty() { None } else { call_expression(body, Shape::Reference) };
    let text = match calls.filter(|_| body.dice.one_in(3)) {
        // The value is a call: object and index are computed after it.
        Some(value) => {
            let (field, index) = (*body.dice.pick(kind.references), body.number());
            format!("TALLY_WRITE({object}, {}, {value});", kind.field(field, &name, &index))
        }
        None => field_write(body, kind, &object, &name),
    };
    body.line(&format!("if (IS_{}({name})) {text}", kind.name));
}

fn read(body: &mut Body) {
    let (name, kind) = body.typed(|kind| !kind.references.is_empty() || !kind.words.is_empty());
    let (target, index) = (body.target(), body.number());
    let test = format!("if (IS_{}({name}))", kind.name);
    if let Some(field) = kind.numbers.first().filter(|_| body.dice.one_in(5)) {
        let field = kind.field(field, &name, &index);
        body.line(&format!(
            "{test} {{ MIX((({} *){name})->{field}); (({0} *){name})->{field} += {index}; }}",
            kind.name
        ));
        return;
    }
    if kind.references.is_empty() {
        let (_, macros) = kind.word();
        let field = kind.field(kind.words[body.dice.below(kind.words.len())], &name, &index);
        let word = body.fresh_name("x");
        let of = kind.word().0;
        body.line(&format!(
            "{test} {{ {of} {word} = (({} *){name})->{field}; {macros}_SEE({word}); {target} = {macros}_REF({word}); }}",
            kind.name
        ));
        return;
    }
    let field = kind.field(kind.references[body.dice.below(kind.references.len())], &name, &index);
    if body.dice.one_in(4) {
        body.line(&format!("{test} {target} = TALLY_READ(({} *){name}, {field});", kind.name));
    } else {
        body.line(&format!("{test} {target} = (({} *){name})->{field};", kind.name));
    }
}

/// A loop, a branch, or a plain block, with variables of its own.
fn block(body: &mut Body, nesting: usize) {
    let (condition, count) = (body.number(), 1 + body.dice.below(5));
    let label = body.fresh_name("i");
    match body.dice.below(7) {
        0 => {
            let scope = body.open(&format!("if ({condition} & 1) {{"));
            several(body, count, nesting + 1);
            if body.dice.one_in(2) {
                body.close_with(scope, "} else {");
                let scope = body.open("/* otherwise */");
                several(body, count, nesting + 1);
                body.close(scope);
            } else {
                body.close(scope);
            }
        }
        1 | 2 => {
            let times = 2 + body.dice.below(5);
            let scope = body
                .open(&format!("for (long {label} = 0, e{label} = ROLL({times}); {label} < e{label}; {label}++) {{"));
            body.numbers.push(label);
            inner(body, count, nesting);
            if body.dice.one_in(3) {
                let (leave, when) = (["break", "continue"][body.dice.below(2)], body.number());
                body.line(&format!("if (!({when} & 3)) {leave};"));
                inner(body, 1, nesting);
            }
            body.close(scope);
        }
        3 => {
            body.line(&format!("long {label} = ROLL(4);"));
            let scope = body.open(&format!("while ({label}-- > 0) {{"));
            inner(body, count, nesting);
            body.close(scope);
        }
        4 => {
            let scope = body.open(&format!("switch ({condition} & 3) {{"));
            for case in 0..3 {
                let part = body.open(&format!("case {case}: {{"));
                several(body, 1, nesting + 1);
                body.close_with(part, ["} break;", "}"][body.dice.clone().below(2)]);
            }
            body.close(scope);
        }
        5 => {
            // A loop without a C keyword.
            body.line(&format!("long {label} = 0;"));
            let scope = body.open(&format!("again{label}: if ({label}++ < ROLL(4)) {{"));
            inner(body, count, nesting);
            body.line(&format!("goto again{label};"));
            body.close(scope);
        }
        _ => {
            let scope = body.open("{");
            inner(body, count, nesting);
            body.close(scope);
        }
    }
}

fn inner(body: &mut Body, count: usize, nesting: usize) {
    match body.dice.below(5) {
        0 | 1 => body.declare_reference(),
        2 => body.declare_few(),
        3 => body.declare_word("Low"),
        _ => {}
    }
    several(body, count, nesting + 1);
}

/// A pointer into an object whose base stays rooted and unchanged, used across calls.
fn derived(body: &mut Body, nesting: usize) {
    let (name, kind) = body.typed(|kind| !kind.references.is_empty());
    let (base, slot, index) = (body.fresh_name("b"), body.fresh_name("s"), body.number());
    let of = kind.name;
    let field = kind.field(kind.references[body.dice.below(kind.references.len())], &base, &index);
    let scope = body.open(&format!("if (IS_{of}({name})) {{"));
    body.line(&format!("{of} *{base} = ({of} *){name}; TALLY_ROOT({base});"));
    body.line(&format!("Any **{slot} = &{base}->{field};"));
    several(body, 2, nesting.max(NESTING_MAX - 1));
    let (target, value) = (body.target(), body.reference());
    match body.dice.below(4) {
        0 => body.line(&format!("{target} = *{slot};")),
        1 => body.line(&format!("TALLY_WRITE_AT({base}, {slot}, {value});")),
        2 => body.line(&format!("{target} = TALLY_READ_AT({base}, {slot}); SEE({target});")),
        _ => body.line(&format!("SEE(*{slot});")),
    }
    body.close(scope);
}

/// Runs of references: copied, overlapping or not, and filled.
fn rows(body: &mut Body) {
    let (one, other) = (body.variable().name, body.variable().name);
    let value = body.reference();
    match body.dice.below(3) {
        0 => body.line(&format!(
            "if (IS_Row({one}) && IS_Row({other})) {{ Row *x = (Row *){one}, *y = (Row *){other}; \
             TALLY_COPY(x, &x->at[0], &y->at[0], x->length < y->length ? x->length : y->length); }}"
        )),
        1 => body.line(&format!(
            "if (IS_Row({one}) && ((Row *){one})->length > 2) {{ Row *x = (Row *){one}; \
             if (ROLL(2)) TALLY_COPY(x, &x->at[1], &x->at[0], x->length - 1); \
             else TALLY_COPY(x, &x->at[0], &x->at[2], x->length - 2); }}"
        )),
        _ => body.line(&format!(
            "if (IS_Row({one})) {{ Row *x = (Row *){one}; uint64_t from = AT(Row, {one}, ROLL(50)); \
             tally_fill_refs(x, &x->at[from], (uint64_t)(uintptr_t){value}, x->length - from); }}"
        )),
    }
}

/// Through libc: `compare` calls back into the program.
fn sort(body: &mut Body) {
    let name = body.variable().name;
    let scope = body.open("if (depth > 1 && fuel > 0) {");
    body.line("long many[5]; for (int i = 0; i < 5; i++) many[i] = ROLL(90);");
    body.line("qsort(many, 5, sizeof many[0], compare);");
    body.line(&format!("MIX(many[0] ^ many[4] << 8); SEE({name});"));
    body.close(scope);
}

fn words(body: &mut Body) {
    if body.words.is_empty() {
        return;
    }
    let (name, word) = body.dice.pick(&body.words).clone();
    let macros = if word == "Low" { "LOW" } else { "NAN" };
    let (target, value) = (body.target(), body.word_value(word, macros));
    match body.dice.below(3) {
        0 => body.line(&format!("{name} = {value};")),
        1 => body.line(&format!("{target} = {macros}_REF({name});")),
        _ => body.line(&format!("{macros}_SEE({name});")),
    }
}

fn structs(body: &mut Body) {
    if body.fews.is_empty() {
        return;
    }
    let (slot, value, target) = (body.few_slot(), body.reference(), body.target());
    let (one, other) = (body.dice.pick(&body.fews).clone(), body.dice.pick(&body.fews).clone());
    match body.dice.below(4) {
        0 => body.line(&format!("{slot} = {value};")),
        1 => body.line(&format!("{target} = {slot};")),
        2 => body.line(&format!("{one} = {other};")),
        _ => body.line(&format!("{one} = (Few){{{{{value}, NULL, {target}}}}};")),
    }
}

fn global(body: &mut Body) {
    let global = *body.dice.pick(&super::GLOBALS);
    let value = body.reference();
    match call_expression(body, Shape::Reference).filter(|_| body.dice.one_in(4)) {
        Some(call) => body.line(&format!("TALLY_WRITE_GLOBAL({global}, {call});")),
        None => body.line(&format!("TALLY_WRITE_GLOBAL({global}, {value});")),
    }
}
