//! Stretches without a call, in which a reference needs no root.
//!
//! Reading, writing and arithmetic are no safepoints, loops included. So a stretch loads references into variables,
//! structs, arrays, unions and words of its own, clears their holders, and goes on reading and writing through its
//! copies. The lowering may put polls into loops that write, but not where a poll would expose one of these. At the
//! end the references that are still needed go back into a rooted variable.

use super::body::{Body, Variable};
use super::kinds::KINDS;

/// A block without a call.
pub(super) fn stretch(body: &mut Body, count: usize) {
    let scope = body.open("{");
    let mine = 1 + body.dice.below(3);
    for _ in 0..mine {
        let (name, value) = (body.fresh_name("t"), taken(body));
        body.line(&format!("Any *{name} = {value};"));
        loose(body, &name);
    }
    for _ in 0..body.dice.below(3) {
        carrier(body);
    }
    if body.dice.one_in(2) {
        let let_go = target(body);
        body.line(&format!("{let_go} = NULL;"));
    }
    for _ in 0..count {
        statement(body, 0);
    }
    let (target, value) = (target(body), body.variable().name);
    body.line(&format!("SEE({value});"));
    body.line(&format!("{target} = {value};"));
    body.close(scope);
}

fn loose(body: &mut Body, name: &str) {
    let likely = body.dice.below(KINDS.len());
    body.variables.push(Variable { name: name.to_owned(), likely, rooted: false, assignable: true });
}

/// Any variable that may be assigned to.
fn target(body: &mut Body) -> String {
    let all: Vec<String> =
        body.variables.iter().filter(|variable| variable.assignable).map(|variable| variable.name.clone()).collect();
    body.dice.pick(&all).clone()
}

/// A reference from a variable, or out of an object.
fn taken(body: &mut Body) -> String {
    if body.dice.one_in(3) {
        return body.reference();
    }
    let (name, kind) = body.typed(|kind| !kind.references.is_empty());
    let index = body.number();
    let field = kind.field(kind.references[body.dice.below(kind.references.len())], &name, &index);
    format!("IS_{}({name}) ? (({0} *){name})->{field} : NULL", kind.name)
}

/// A local that holds references and is no single pointer.
fn carrier(body: &mut Body) {
    let (name, one, other) = (body.fresh_name("c"), body.reference(), body.reference());
    match body.dice.below(6) {
        0 => {
            body.line(&format!("Three {name} = {{{one}, {other}, 1}};"));
            loose(body, &format!("{name}.a"));
            loose(body, &format!("{name}.b"));
        }
        1 => {
            body.line(&format!("Any *{name}[3] = {{{one}, {other}, NULL}};"));
            loose(body, &format!("{name}[0]"));
            loose(body, &format!("{name}[2]"));
        }
        2 => {
            body.line(&format!("Either {name}; {name}.r = {one};"));
            loose(body, &format!("{name}.r"));
        }
        3 => {
            let value = body.word_value("Low", "LOW");
            body.line(&format!("Low {name} = {value};"));
            body.words.push((name, "Low"));
        }
        4 => {
            let value = body.word_value("Nan", "NAN");
            body.line(&format!("Nan {name}[2] = {{{value}, 0}};"));
            body.words.push((format!("{name}[0]"), "Nan"));
            body.words.push((format!("{name}[1]"), "Nan"));
        }
        _ => {
            let value = body.word_value("Low", "LOW");
            body.line(&format!("struct {{ long n; Low w; }} {name} = {{3, {value}}};"));
            body.words.push((format!("{name}.w"), "Low"));
        }
    }
}

fn statement(body: &mut Body, nesting: usize) {
    match body.dice.below(14) {
        0..=3 => write(body),
        4 | 5 if nesting < 2 => repeated(body, nesting),
        6 if nesting < 2 => {
            let condition = body.number();
            let scope = body.open(&format!("if ({condition} & 1) {{"));
            statement(body, nesting + 1);
            body.close(scope);
        }
        7 | 8 => {
            let (target, value) = (target(body), taken(body));
            body.line(&format!("{target} = {value};"));
        }
        9 => {
            let (global, value) = (*body.dice.pick(&super::GLOBALS), body.reference());
            body.line(&format!("TALLY_WRITE_GLOBAL({global}, {value});"));
        }
        10 if !body.words.is_empty() => {
            let (name, word) = body.dice.pick(&body.words).clone();
            let macros = if word == "Low" { "LOW" } else { "NAN" };
            let value = body.word_value(word, macros);
            let target = target(body);
            if body.dice.one_in(2) {
                body.line(&format!("{name} = {value};"));
            } else {
                body.line(&format!("{macros}_SEE({name}); {target} = {macros}_REF({name});"));
            }
        }
        11 => {
            let (target, value) = (target(body), body.reference());
            body.line(&format!("{target} = {value};"));
        }
        _ => {
            let name = body.variable().name;
            body.line(&format!("SEE({name});"));
        }
    }
}

fn write(body: &mut Body) {
    let (name, kind) = body.typed(|kind| !kind.references.is_empty() || !kind.words.is_empty());
    let (of, index) = (kind.name, body.number());
    if kind.references.is_empty() {
        let (word, macros) = kind.word();
        let value = body.word_value(word, macros);
        let field = kind.field(kind.words[body.dice.below(kind.words.len())], &name, &index);
        body.line(&format!("if (IS_{of}({name})) TALLY_WRITE_TAGGED(({of} *){name}, {field}, {value});"));
    } else {
        let value = body.reference();
        let field = kind.field(kind.references[body.dice.below(kind.references.len())], &name, &index);
        body.line(&format!("if (IS_{of}({name})) TALLY_WRITE(({of} *){name}, {field}, {value});"));
    }
}

/// A loop that writes, so that the lowering may add a poll.
fn repeated(body: &mut Body, nesting: usize) {
    let times = [4, 30, 200][body.dice.below(3)];
    let label = body.fresh_name("i");
    let scope =
        body.open(&format!("for (long {label} = 0, e{label} = ROLL({times}); {label} < e{label}; {label}++) {{"));
    body.numbers.push(label);
    write(body);
    for _ in 0..body.dice.below(3) {
        statement(body, nesting + 1);
    }
    body.close(scope);
}
