//! Objects that are temporary: made, used and left in a block, as values of a vector or a pair are. From -O2 on they may be on the stack.
//!
//! Now and then one is not: it is assigned to a variable that outlives the block, written to by a function, or carried round a loop.

use super::body::Body;
use super::kinds::{KINDS, Kind};
use super::statement::{field_write, several};

/// A block with such an object.
pub(super) fn temporary(body: &mut Body, nesting: usize) {
    let plain: Vec<&'static Kind> = KINDS.iter().filter(|kind| kind.is_plain()).collect();
    let kind = **body.dice.pick(&plain);
    let (of, name, times) = (kind.name, body.fresh_name("t"), body.fresh_name("i"));
    let scope = match body.dice.below(3) {
        0 => body.open(&format!("for (long {times} = 0, e{times} = ROLL(4); {times} < e{times}; {times}++) {{")),
        _ => body.open("{"),
    };
    let (one, other) = (body.reference(), body.reference());
    let made = match of {
        "Pair" if body.dice.one_in(2) => format!("pair_of({one}, {other})"),
        "Leaf" if body.dice.one_in(2) => format!("leaf_of({})", body.number()),
        _ => format!("TALLY_NEW({of})"),
    };
    body.line(&format!("{of} *{name} = {made}; TALLY_ROOT({name}); {name}->tag = TAG({of});"));
    for field in kind.numbers {
        let number = body.number();
        body.line(&format!("{name}->{field} = {number};"));
    }
    for _ in 0..body.dice.below(4) {
        use_it(body, &kind, &name);
        if body.dice.one_in(2) {
            several(body, 1, nesting);
        }
    }
    match body.dice.below(8) {
        0 => {
            let target = body.target();
            body.line(&format!("{target} = (Any *){name};"));
        }
        1 => body.line(&format!("{name} = NULL;")),
        _ => body.line(&format!("MIX({name}->{});", kind.numbers[0])),
    }
    body.close(scope);
}

fn use_it(body: &mut Body, kind: &Kind, name: &str) {
    let (target, number) = (body.target(), body.number());
    let write = field_write(body, kind, name, name);
    match (body.dice.below(6), kind.references) {
        (0, [first, ..]) => body.line(&format!("{target} = {name}->{first}; SEE({target});")),
        (1, [.., last]) => body.line(&format!("{target} = TALLY_READ({name}, {last});")),
        (2, [..]) if kind.name == "Pair" => body.line(&format!("pair_turned({name}); MIX({name}->x);")),
        (3, _) => body.line(&format!("{name}->{} += {number};", kind.numbers[0])),
        (4, _) => body.line(&format!("SEE({name});")),
        _ => body.line(&write),
    }
}
