//! Functions of random programs: their signatures, parameters, frames and results.
//!
//! The shapes differ in how references are passed: in registers, in memory of the caller, in structs that come back
//! in registers or through memory, in results that no register holds (which the lowering routes through thunks), as
//! tagged words, through `va_arg`, or by the address of the caller's root. Each function roots its parameters before
//! its first safepoint; the two quiet shapes reach none and root nothing.

use super::body::Body;
use super::{quiet, statement};
use tally_kit::dice::Dice;

/// The way in which references are passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `Any *f(Any *p, Any *q, long n, int depth)`, callable through `methods`.
    Reference,
    /// `long f(…)`, callable through `measures`.
    Number,
    /// Low words in and out.
    LowWord,
    /// NaN-boxed words in and out.
    NanWord,
    /// Returns a struct of two words.
    Two,
    /// Returns a struct through memory.
    Three,
    /// Returns a value that no integer register holds.
    LongDouble,
    /// Returns a vector of four numbers.
    Vector,
    /// References in variable arguments: `n & 3` of them.
    Variadic,
    /// A struct with references by value.
    ByValue,
    /// The address of the caller's root.
    Out,
    /// No call inside, no roots: writes and loops.
    Quiet,
    /// The same, returning a reference.
    QuietReference,
    /// Not managed: calls back through a pointer and then uses its arguments.
    Native,
}

impl Shape {
    pub const ALL: [Shape; 17] = [
        Shape::Reference,
        Shape::Reference,
        Shape::Reference,
        Shape::Number,
        Shape::LowWord,
        Shape::NanWord,
        Shape::Two,
        Shape::Three,
        Shape::LongDouble,
        Shape::Vector,
        Shape::Variadic,
        Shape::ByValue,
        Shape::Out,
        Shape::Quiet,
        Shape::QuietReference,
        Shape::QuietReference,
        Shape::Native,
    ];
}

/// A function that others may call.
#[derive(Debug, Clone)]
pub(super) struct Signature {
    pub name: String,
    pub shape: Shape,
    /// The module that defines it.
    pub module: usize,
    qualifiers: &'static str,
}

/// Qualifiers in a program of one module, and in one of several.
const QUALIFIERS: [&[&str]; 2] = [
    &["static ", "static ", "", "static __attribute__((noinline)) ", "static inline "],
    &["static ", "", "", "", "static __attribute__((noinline)) ", "static inline "],
];

impl Signature {
    /// The first three are known to all modules.
    pub fn new(dice: &mut Dice, number: usize, shape: Shape, modules: usize) -> Signature {
        let several = modules > 1;
        let qualifiers = if several && number < 3 { "" } else { *dice.pick(QUALIFIERS[usize::from(several)]) };
        Signature { name: format!("f{number}"), shape, module: dice.below(modules), qualifiers }
    }

    /// Whether functions of that module may call it.
    pub fn is_visible_in(&self, module: usize) -> bool {
        self.module == module || !self.qualifiers.starts_with("static")
    }

    /// Declaration without the semicolon.
    pub fn head(&self) -> String {
        let (result, parameters) = match self.shape {
            Shape::Reference => ("Any *", "Any *p, Any *q, long n, int depth"),
            Shape::Number => ("long ", "Any *p, Any *q, long n, int depth"),
            Shape::LowWord => ("Low ", "Low u, Any *p, long n, int depth"),
            Shape::NanWord => ("Nan ", "Any *p, Nan u, long n, int depth"),
            Shape::Two => ("Two ", "Any *p, Any *q, long n, int depth"),
            Shape::Three => ("Three ", "Any *p, Any *q, long n, int depth"),
            Shape::LongDouble => ("long double ", "Any *p, Any *q, long n, int depth"),
            Shape::Vector => ("Long4 ", "Any *p, Any *q, long n, int depth"),
            Shape::Variadic => ("Any *", "int depth, long n, ..."),
            Shape::ByValue => ("Any *", "Three t, Two u, int depth"),
            Shape::Out => ("void ", "Any **out, Any *p, long n, int depth"),
            Shape::Quiet => ("void ", "Any *p, Any *q, long n"),
            Shape::QuietReference => ("Any *", "Any *p, Any *q, long n"),
            Shape::Native => ("long ", "Measure *measure, Any *p, Any *q, long n, int depth"),
        };
        format!("{}{result}{}({parameters})", self.qualifiers, self.name)
    }
}

/// The text of a function; `all` are those that it may call.
pub(super) fn definition(dice: &mut Dice, signature: &Signature, all: &[Signature]) -> String {
    let mut body = Body::new(dice, all);
    match signature.shape {
        Shape::Native => native(&mut body),
        Shape::Quiet | Shape::QuietReference => {
            body.know("p", false);
            body.know("q", false);
            let count = 1 + body.dice.below(3);
            quiet::stretch(&mut body, count);
            if signature.shape == Shape::QuietReference {
                let value = body.reference();
                body.line(&format!("return {value};"));
            }
        }
        shape => managed(&mut body, shape),
    }
    format!("\n{} {{\n{}}}\n", signature.head(), body.text)
}

/// A function that is not lowered as managed: nothing in it names an intrinsic or a managed function.
fn native(body: &mut Body) {
    body.line("long before = p ? p->tag : 5;");
    body.line("long result = depth > 0 && --fuel > 0 ? measure(p, q, n + 1, depth - 1) : 3;");
    if body.dice.one_in(2) {
        body.line("if (depth > 1 && fuel > 0) result ^= measure(q, p, n, depth - 2);");
    }
    body.line("if (p && p->tag != before) MIX(4711);");
    body.line("SEE(q);");
    body.line("return result + (p ? p->tag : 1);");
}

fn managed(body: &mut Body, shape: Shape) {
    body.line("ENTER;");
    let early = parameters(body, shape);
    frame(body);
    if early {
        let refuse = result(body, shape);
        body.line(&format!("if (depth <= 0 || --fuel < 0) {refuse}"));
    }
    let locals = 1 + body.dice.below(4);
    for _ in 0..locals {
        body.declare_reference();
    }
    if body.dice.one_in(2) {
        body.declare_word("Low");
    }
    if body.dice.one_in(3) {
        body.declare_word("Nan");
    }
    if body.dice.one_in(3) {
        body.declare_few();
    }
    if !early {
        let refuse = result(body, shape);
        body.line(&format!("if (depth <= 0 || --fuel < 0) {refuse}"));
    }
    let count = 3 + body.dice.below(9);
    statement::several(body, count, 0);
    if let Some(check) = body.frame_check.clone() {
        body.line(&check);
    }
    let end = tail_call(body, shape).unwrap_or_else(|| result(body, shape));
    body.line(&end);
}

/// Now and then a tail call to another function of its kind; not if the size of the frame is known only at run time.
fn tail_call(body: &mut Body, shape: Shape) -> Option<String> {
    if !matches!(shape, Shape::Reference | Shape::Number) || body.frame_check.is_some() || !body.dice.one_in(4) {
        return None;
    }
    let functions = body.functions;
    let all: Vec<&Signature> = functions.iter().filter(|function| function.shape == shape).collect();
    let (one, other, number) = (body.reference(), body.reference(), body.number());
    let callee = match body.dice.below(3) {
        0 if shape == Shape::Reference => format!("methods[(unsigned long){number} % methods_count]"),
        0 => format!("measures[(unsigned long){number} % measures_count]"),
        _ => body.dice.pick(&all).name.clone(),
    };
    Some(format!("LEAVE; __attribute__((musttail)) return {callee}({one}, {other}, {number}, depth - 1);"))
}

/// Declares and roots the parameters; returns whether their roots come before everything else.
fn parameters(body: &mut Body, shape: Shape) -> bool {
    let early = body.dice.one_in(2);
    match shape {
        Shape::LowWord | Shape::NanWord => {
            let word = if shape == Shape::LowWord { "Low" } else { "Nan" };
            body.line(&format!("TALLY_ROOT(p); TALLY_ROOT_TAGGED({word}, u);"));
            body.know("p", true);
            body.words.push(("u".to_owned(), word));
        }
        Shape::Variadic => {
            body.line("Any *p = NULL, *q = NULL, *r = NULL; TALLY_ROOT(p, q, r);");
            body.line(
                "{ va_list rest; va_start(rest, n); if ((n & 3) > 0) p = va_arg(rest, Any *); \
                 if ((n & 3) > 1) q = va_arg(rest, Any *); if ((n & 3) > 2) r = va_arg(rest, Any *); va_end(rest); }",
            );
            for name in ["p", "q", "r"] {
                body.know(name, true);
            }
        }
        Shape::ByValue => {
            body.line("Any *p = t.a, *q = t.b, *r = u.a; long n = t.n ^ u.n; TALLY_ROOT(p, q, r);");
            for name in ["p", "q", "r"] {
                body.know(name, true);
            }
        }
        Shape::Out => {
            body.line("TALLY_ROOT(p);");
            body.know("p", true);
        }
        _ => {
            body.line("TALLY_ROOT(p, q);");
            body.know("p", true);
            body.know("q", true);
        }
    }
    early
}

/// Sometimes a frame that is large, aligned more than the stack, or of a size known at run time.
fn frame(body: &mut Body) {
    let lines = match body.dice.below(12) {
        0 => ["volatile char large[6000]; large[0] = (char)n; large[5999] = 1;", "MIX(large[0] + large[5999]);"],
        1 => ["_Alignas(128) volatile long aligned[3] = {n, 2, 3};", "MIX(aligned[0] + ((uintptr_t)aligned & 127));"],
        2 => [
            "volatile long sized[(n & 31) + 1]; sized[0] = n; sized[n & 31] = n ^ 3;",
            "MIX(sized[0] + sized[n & 31]);",
        ],
        3 => [
            "_Alignas(64) volatile long aligned[2] = {n, 4}; volatile char sized[(n & 255) + 9]; sized[8] = 3;",
            "MIX(aligned[0] + sized[8] + ((uintptr_t)aligned & 63));",
        ],
        _ => return,
    };
    body.line(lines[0]);
    body.frame_check = Some(lines[1].to_owned());
}

/// The statement that returns.
fn result(body: &mut Body, shape: Shape) -> String {
    let (one, other, index) = (body.reference(), body.reference(), body.number());
    let (name, other_name) = (body.variable().name, body.variable().name);
    match shape {
        Shape::Reference | Shape::Variadic | Shape::ByValue => format!("{{ LEAVE; return {one}; }}"),
        Shape::Number => format!("{{ LEAVE; return ({name} ? {name}->tag : 3) + {index}; }}"),
        Shape::LowWord | Shape::NanWord => {
            let (word, macros) = if shape == Shape::LowWord { ("Low", "LOW") } else { ("Nan", "NAN") };
            let value = body.word_value(word, macros);
            format!("{{ LEAVE; return {value}; }}")
        }
        Shape::Two => format!("{{ LEAVE; return (Two){{{one}, {index}}}; }}"),
        Shape::Three => format!("{{ Three result = {{{one}, {other}, {index}}}; LEAVE; return result; }}"),
        Shape::LongDouble => format!("{{ LEAVE; return (long double)({index} & 0xffff) * 0.5L; }}"),
        Shape::Vector => {
            format!(
                "{{ LEAVE; return (Long4){{{index}, {name} ? {name}->tag : 1, {other_name} ? {other_name}->tag : 2, 4}}; }}"
            )
        }
        Shape::Out => format!("{{ *out = {one}; LEAVE; return; }}"),
        Shape::Quiet | Shape::QuietReference | Shape::Native => unreachable!("they end otherwise"),
    }
}
