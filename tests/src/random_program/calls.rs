//! Calls of random programs: the function, its arguments, and the use of its result.
//!
//! At most one argument is itself a call, so that no unrooted result waits while another call runs. A function that
//! is not managed gets rooted variables only, because it roots nothing and only its callers' roots keep its
//! arguments.

use super::body::Body;
use super::function::{Shape, Signature};

/// A call of a function of this shape, as an expression; none if there is no such function.
pub(super) fn call_expression(body: &mut Body, shape: Shape) -> Option<String> {
    let functions = body.functions;
    let all: Vec<&Signature> = functions.iter().filter(|function| function.shape == shape).collect();
    if all.is_empty() {
        return None;
    }
    let name = body.dice.pick(&all).name.clone();
    let (mut one, mut other) = (body.reference(), body.reference());
    let number = body.number();
    if matches!(shape, Shape::Reference | Shape::QuietReference) && body.dice.one_in(7) {
        let nested = call_expression(body, Shape::Reference)?;
        // At most one argument is a call: with two, the first result would be in no root.
        *if body.dice.one_in(2) { &mut one } else { &mut other } = nested;
    }
    Some(match shape {
        Shape::Reference if body.dice.one_in(4) => {
            format!("methods[(unsigned long){number} % methods_count]({one}, {other}, {number}, depth - 1)")
        }
        Shape::Number if body.dice.one_in(4) => {
            format!("measures[(unsigned long){number} % measures_count]({one}, {other}, {number}, depth - 1)")
        }
        Shape::LowWord => format!("{name}({}, {one}, {number}, depth - 1)", body.word_value("Low", "LOW")),
        Shape::NanWord => format!("{name}({one}, {}, {number}, depth - 1)", body.word_value("Nan", "NAN")),
        Shape::Variadic => {
            let count = body.dice.below(4);
            let rest: String = (0..count).map(|_| format!(", {}", body.reference())).collect();
            format!("{name}(depth - 1, 4 * {number} + {count}{rest})")
        }
        Shape::ByValue => {
            let third = body.reference();
            format!("{name}((Three){{{one}, {other}, {number}}}, (Two){{{third}, {number}}}, depth - 1)")
        }
        Shape::Out => {
            let slot = if !body.fews.is_empty() && body.dice.one_in(3) { body.few_slot() } else { body.target() };
            format!("{name}(&{slot}, {one}, {number}, depth - 1)")
        }
        Shape::Quiet | Shape::QuietReference => format!("{name}({one}, {other}, {number})"),
        Shape::Native => {
            // It roots nothing: its arguments are in roots here.
            let (one, other) = (body.variable().name, body.variable().name);
            format!("{name}(measures[(unsigned long){number} % measures_count], {one}, {other}, {number}, depth - 1)")
        }
        _ => format!("{name}({one}, {other}, {number}, depth - 1)"),
    })
}

/// A call whose result is used: rooted, or read, before any other call.
pub(super) fn call(body: &mut Body) {
    let shape = *body.dice.pick(&Shape::ALL);
    let Some(expression) = call_expression(body, shape) else { return };
    let target = body.target();
    let line = match shape {
        Shape::Reference | Shape::Variadic | Shape::ByValue | Shape::QuietReference => {
            format!("{target} = {expression};")
        }
        Shape::Number | Shape::Native => format!("{{ long x = {expression}; MIX(x); }}"),
        Shape::LowWord => format!("{{ Low x = {expression}; LOW_SEE(x); {target} = LOW_REF(x); }}"),
        Shape::NanWord => format!("{{ Nan x = {expression}; NAN_SEE(x); {target} = NAN_REF(x); }}"),
        Shape::Two => format!("{{ Two x = {expression}; {target} = x.a; MIX(x.n); }}"),
        Shape::Three => {
            let other = body.target();
            format!("{{ Three x = {expression}; {target} = x.a; {other} = x.b; MIX(x.n); }}")
        }
        Shape::LongDouble => format!("{{ long double x = {expression}; MIX((long)(x * 2)); }}"),
        Shape::Vector => format!("{{ Long4 x = {expression}; MIX(x[0] ^ x[1] ^ x[2] ^ x[3]); }}"),
        Shape::Out | Shape::Quiet => format!("{expression};"),
    };
    body.line(&line);
}
