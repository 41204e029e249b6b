//! proptest strategies for op programs.
//!
//! A program leans towards one [`Taste`]: uniformly random graphs seldom build the shapes that break collectors, so
//! each taste makes one family likely (rings, lists, a hub with many spokes, fields toggled between epochs, arrays
//! moved over themselves, tagged words) and includes all the other ops rarely. Few registers and low slot numbers
//! make sharing and overwriting common. Shrinking drops ops and makes numbers smaller; `shrink.rs` goes on from
//! there.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tally_heap::services::weak_map::WeakMode;

use crate::op::{Deed, Op, Place, Register, Service, StackOp, Value};
use crate::shape::Kind;

/// The main subject of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taste {
    /// Everything in even measure.
    Mixed,
    /// Rings, overlapping and dropped.
    Rings,
    /// Lists and trees, dropped and cut.
    Lists,
    /// Objects with many referents and many referrers.
    Hubs,
    /// The same few fields overwritten between polls.
    Toggles,
    /// Arrays written, copied over themselves, filled.
    Arrays,
    /// Words that are sometimes references.
    Tagged,
    /// Much dead allocation, little that lives.
    Churn,
    /// Weak references, ephemerons, weak maps and sets.
    Weak,
    /// Finalizers and their deeds.
    Finalizers,
    /// Handles, and a collector that is stopped, worked in parts, short of memory.
    Control,
    /// Stacks and their frames.
    Stacks,
    /// Objects that are written to without a barrier while they are open.
    Open,
}

/// All tastes.
pub const TASTES: [Taste; 13] = [
    Taste::Mixed,
    Taste::Rings,
    Taste::Lists,
    Taste::Hubs,
    Taste::Toggles,
    Taste::Arrays,
    Taste::Tagged,
    Taste::Churn,
    Taste::Weak,
    Taste::Finalizers,
    Taste::Control,
    Taste::Stacks,
    Taste::Open,
];

impl Taste {
    /// The taste of that name, in lower case.
    pub fn named(name: &str) -> Option<Taste> {
        TASTES.into_iter().find(|taste| format!("{taste:?}").eq_ignore_ascii_case(name))
    }
}

/// A program of at most `ops_max` ops of any taste.
pub fn program(ops_max: usize) -> BoxedStrategy<Vec<Op>> {
    proptest::sample::select(&TASTES[..]).prop_flat_map(move |taste| program_of(taste, ops_max)).boxed()
}

/// A program of at most `ops_max` ops of one taste.
pub fn program_of(taste: Taste, ops_max: usize) -> BoxedStrategy<Vec<Op>> {
    vec(op(taste), 1..=ops_max).boxed()
}

/// Program number `number` of the endless series that `seed` stands for: always the same one.
pub fn nth_program(seed: u64, number: u64, ops_max: usize) -> Vec<Op> {
    draw(program(ops_max), seed, number)
}

/// The same of a series of programs of one taste.
pub fn nth_program_of(taste: Taste, seed: u64, number: u64, ops_max: usize) -> Vec<Op> {
    draw(program_of(taste, ops_max), seed, number)
}

fn draw(programs: BoxedStrategy<Vec<Op>>, seed: u64, number: u64) -> Vec<Op> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    programs.new_tree(&mut runner).expect("these strategies reject nothing").current()
}

/// One op as the taste likes it.
pub fn op(taste: Taste) -> BoxedStrategy<Op> {
    let more = |when: &[Taste], weight: u32| if when.contains(&taste) { weight } else { 2 };
    prop_oneof![
        14 => allocation(taste),
        more(&[Taste::Churn], 12) => garbage(),
        26 => mutation(taste),
        more(&[Taste::Arrays, Taste::Tagged], 14) => block_move(),
        10 => roots(),
        more(&[Taste::Rings], 10) => ring(),
        more(&[Taste::Lists], 10) => list_or_tree(),
        more(&[Taste::Hubs], 6) => (1u32..400, register()).prop_map(|(count, into)| Op::Hub { count, into }),
        more(&[Taste::Toggles], 14) => toggle(),
        more(&[Taste::Weak], 36) => weak(),
        more(&[Taste::Finalizers], 24) => finalizer(),
        more(&[Taste::Control, Taste::Weak], 10) => handles(),
        more(&[Taste::Control], 8) => control(),
        more(&[Taste::Open], 40) => open(),
        if taste == Taste::Stacks { 80 } else { 8 } => stack(),
        12 => collection(),
    ]
    .boxed()
}

fn register() -> impl Strategy<Value = Register> {
    prop_oneof![8 => 0u8..5, 2 => 5u8..16]
}

fn place() -> impl Strategy<Value = Place> {
    let slot = prop_oneof![12 => 0u32..4, 3 => 0u32..70, 2 => 0u32..5000];
    (register(), slot).prop_map(|(object, slot)| Place { object, slot })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        10 => register().prop_map(Value::Object),
        4 => Just(Value::Null),
        1 => any::<u32>().prop_map(Value::Integer),
        3 => register().prop_map(Value::Address),
        1 => (0u8..4).prop_map(Value::Immortal),
    ]
}

fn kind(taste: Taste) -> BoxedStrategy<Kind> {
    let any = proptest::sample::select(&Kind::ALL[..]);
    let small = proptest::sample::select(vec![Kind::Pair, Kind::Triple, Kind::Leaf, Kind::Link]);
    let favourites = match taste {
        Taste::Arrays => vec![
            Kind::Array,
            Kind::Records,
            Kind::TracedArray,
            Kind::WideRecords,
            Kind::ValueRecords,
            Kind::Nodes,
            Kind::AlignedArray,
        ],
        Taste::Tagged => vec![
            Kind::Tagged,
            Kind::Boxed,
            Kind::Traced,
            Kind::TracedArray,
            Kind::HugeTraced,
            Kind::Valued,
            Kind::ValueRecords,
            Kind::Upvalue,
            Kind::Nodes,
            Kind::BoxedCell,
        ],
        Taste::Churn => vec![Kind::Leaf, Kind::Text, Kind::Medium, Kind::Array],
        Taste::Hubs => vec![Kind::Array, Kind::Pair],
        Taste::Weak => vec![Kind::Pair, Kind::Watcher, Kind::Keyed, Kind::Link],
        Taste::Finalizers => vec![Kind::Pair, Kind::File, Kind::Newest, Kind::Owner, Kind::Requested],
        _ => vec![Kind::Pair, Kind::Triple, Kind::Link],
    };
    prop_oneof![3 => small, 5 => proptest::sample::select(favourites), 2 => any].boxed()
}

fn length(taste: Taste) -> impl Strategy<Value = u32> {
    let large = if taste == Taste::Arrays { 5 } else { 1 };
    prop_oneof![10 => 0u32..12, 6 => 12u32..200, 2 => 200u32..1100, large => 1100u32..6000]
}

fn allocation(taste: Taste) -> BoxedStrategy<Op> {
    prop_oneof![
        3 => (kind(taste), length(taste), register()).prop_map(|(kind, length, into)| Op::Allocate { kind, length, into }),
        1 => (kind(taste), length(taste), place())
            .prop_map(|(kind, length, place)| Op::AllocateInto { kind, length, place }),
    ]
    .boxed()
}

fn garbage() -> impl Strategy<Value = Op> {
    let small = (kind(Taste::Mixed), 0u32..20, 1u32..200);
    let big = (kind(Taste::Churn), length(Taste::Churn), 1u32..12);
    prop_oneof![small, big].prop_map(|(kind, length, count)| Op::Garbage { kind, length, count })
}

fn mutation(taste: Taste) -> BoxedStrategy<Op> {
    let load_weight = if taste == Taste::Lists { 8 } else { 3 };
    prop_oneof![
        12 => (place(), value()).prop_map(|(place, value)| Op::Write { place, value }),
        load_weight => (place(), register()).prop_map(|(place, into)| Op::Load { place, into }),
        3 => (place(), place()).prop_map(|(a, b)| Op::Swap { a, b }),
        1 => (register(), any::<u32>()).prop_map(|(object, data)| Op::Scribble { object, data }),
    ]
    .boxed()
}

fn block_move() -> impl Strategy<Value = Op> {
    let count = prop_oneof![4 => 1u32..10, 2 => 1u32..200, 2 => 1u32..3000];
    let copy = (place(), place(), count.clone()).prop_map(|(to, from, count)| Op::Copy { to, from, count });
    let shift = (place(), 0u32..80, count.clone()).prop_map(|(to, distance, count)| {
        let from = Place { slot: to.slot + distance, ..to };
        Op::Copy { to, from, count }
    });
    let fill = (place(), count, value()).prop_map(|(place, count, value)| Op::Fill { place, count, value });
    let length = prop_oneof![4 => 0u32..12, 4 => 12u32..200, 2 => 200u32..6000];
    let resize = (place(), length).prop_map(|(place, length)| Op::Resize { place, length });
    prop_oneof![2 => copy, 2 => shift, 2 => fill, 3 => resize]
}

fn roots() -> impl Strategy<Value = Op> {
    let optional = || proptest::option::of(register());
    prop_oneof![
        6 => (register(), optional()).prop_map(|(register, from)| Op::Set { register, from }),
        2 => register().prop_map(|register| Op::Push { register }),
        2 => (0u8..32, register()).prop_map(|(index, into)| Op::Peek { index, into }),
        2 => (0u8..8).prop_map(|depth| Op::Truncate { depth }),
        2 => (0u8..4, optional()).prop_map(|(global, from)| Op::Global { global, from }),
    ]
}

fn linkable() -> impl Strategy<Value = Kind> {
    proptest::sample::select(vec![
        Kind::Link,
        Kind::Pair,
        Kind::Triple,
        Kind::Tagged,
        Kind::Boxed,
        Kind::Traced,
        Kind::Aligned16,
        Kind::Aligned64,
        Kind::Medium,
    ])
}

fn ring() -> impl Strategy<Value = Op> {
    let count = prop_oneof![6 => 1u32..8, 2 => 8u32..150, 1 => 150u32..700];
    (linkable(), count, register()).prop_map(|(kind, count, into)| Op::Ring { kind, count, into })
}

fn list_or_tree() -> impl Strategy<Value = Op> {
    let count = prop_oneof![4 => 1u32..20, 2 => 20u32..700];
    prop_oneof![
        3 => (linkable(), count, register()).prop_map(|(kind, count, into)| Op::List { kind, count, into }),
        1 => (1u8..7, register()).prop_map(|(depth, into)| Op::Tree { depth, into }),
    ]
}

fn toggle() -> impl Strategy<Value = Op> {
    (place(), register(), 1u32..60).prop_map(|(place, with, count)| Op::Toggle { place, with, count })
}

fn weak() -> impl Strategy<Value = Op> {
    let mode = proptest::sample::select(vec![WeakMode::Keys, WeakMode::Values, WeakMode::Both]);
    let (r, optional) = (register, || proptest::option::of(register()));
    // Registers that little else is put into: a map or a set that is overwritten before anything has died in it tells nothing.
    let (map, set) = (|| prop_oneof![3 => 12u8..14, 2 => register()], || prop_oneof![3 => 14u8..16, 2 => register()]);
    prop_oneof![
        6 => (r(), r(), any::<bool>()).prop_map(|(into, target, called)| Service::Weak { into, target, called }),
        6 => (place(), optional()).prop_map(|(place, target)| Service::WeakWrite { place, target }),
        6 => (r(), place()).prop_map(|(into, place)| Service::Upgrade { into, place }),
        4 => (r(), r(), optional()).prop_map(|(into, key, value)| Service::Ephemeron { into, key, value }),
        2 => (mode, map()).prop_map(|(mode, into)| Service::Map { mode, into }),
        6 => (map(), r(), r()).prop_map(|(map, key, value)| Service::MapSet { map, key, value }),
        4 => (r(), map(), r()).prop_map(|(into, map, key)| Service::MapGet { into, map, key }),
        1 => (map(), r()).prop_map(|(map, key)| Service::MapRemove { map, key }),
        2 => set().prop_map(|into| Service::Set { into }),
        8 => (set(), r()).prop_map(|(set, member)| Service::SetAdd { set, member }),
        4 => (r(), set(), r()).prop_map(|(into, set, like)| Service::SetFind { into, set, like }),
        1 => (set(), r()).prop_map(|(set, member)| Service::SetRemove { set, member }),
    ]
    .prop_map(Op::Service)
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        5 => Just(Deed::Nothing),
        2 => (0u8..4).prop_map(Deed::Keep),
        2 => (0u8..4).prop_map(Deed::Hang),
        2 => (0u8..4).prop_map(Deed::Write),
        1 => Just(Deed::Clear),
        2 => Just(Deed::Allocate),
        1 => (0u8..4).prop_map(Deed::Drop),
        2 => (1u8..4).prop_map(Deed::Again),
        1 => Just(Deed::Panic),
        1 => Just(Deed::Collect),
        1 => Just(Deed::Poll),
    ]
}

fn finalizer() -> impl Strategy<Value = Op> {
    let kind = proptest::sample::select(vec![Kind::File, Kind::Newest, Kind::Owner, Kind::Owner, Kind::Requested]);
    prop_oneof![
        10 => (kind, deed(), register()).prop_map(|(kind, deed, into)| Service::Finalizable { kind, deed, into }),
        2 => register().prop_map(|object| Service::Register { object }),
        1 => register().prop_map(|object| Service::Forget { object }),
    ]
    .prop_map(Op::Service)
}

fn handles() -> impl Strategy<Value = Op> {
    let optional = proptest::option::of(register());
    prop_oneof![
        3 => Just(Service::OpenScope),
        6 => register().prop_map(|object| Service::Handle { object }),
        2 => (0u8..48, register()).prop_map(|(index, into)| Service::PeekHandle { index, into }),
        3 => Just(Service::CloseScope),
        1 => Just(Service::AbandonScope),
        1 => (register(), 0u32..20).prop_map(|(object, count)| Service::Raise { object, count }),
        3 => (0u8..4, optional).prop_map(|(handle, object)| Service::GlobalHandle { handle, object }),
        1 => (0u8..4).prop_map(|handle| Service::FreeHandle { handle }),
    ]
    .prop_map(Op::Service)
}

fn open() -> impl Strategy<Value = Op> {
    let optional = proptest::option::weighted(0.7, register());
    prop_oneof![
        2 => (0u8..3, optional).prop_map(|(number, object)| Service::Open { number, object }),
        7 => (place(), value()).prop_map(|(place, value)| Service::OpenWrite { place, value }),
    ]
    .prop_map(Op::Service)
}

fn control() -> impl Strategy<Value = Op> {
    let kib = prop_oneof![2 => Just(0u32), 2 => 1u32 << 10..8 << 10];
    prop_oneof![
        2 => Just(Service::Stop),
        6 => Just(Service::Restart),
        1 => kib.prop_map(|kib| Service::Limit { kib }),
        3 => (1u32..20).prop_map(|number| Service::Fail { number }),
        6 => Just(Service::Part),
    ]
    .prop_map(Op::Service)
}

fn stack() -> impl Strategy<Value = Op> {
    let (r, optional) = (register, || proptest::option::weighted(0.8, register()));
    let slots = prop_oneof![60 => 0u32..5, 4 => 5u32..40, 1 => 900u32..1500];
    let count = || prop_oneof![8 => 1u32..6, 4 => 6u32..40, 1 => 40u32..600];
    let making = prop_oneof![
        3 => r().prop_map(|into| StackOp::New { into }),
        1 => r().prop_map(|into| StackOp::Current { into }),
        3 => (count(), any::<bool>(), r()).prop_map(|(count, closed, into)| StackOp::Generator { count, closed, into }),
    ];
    let switching = prop_oneof![
        9 => r().prop_map(|to| StackOp::Switch { to }),
        5 => Just(StackOp::Yield),
        2 => Just(StackOp::Finish),
        2 => r().prop_map(|stack| StackOp::Close { stack }),
        3 => (r(), 0u32..8).prop_map(|(into, number)| StackOp::Find { into, number }),
        10 => (0u32..8).prop_map(|number| StackOp::Resume { number }),
        2 => (1u32..30).prop_map(|count| StackOp::Turns { count }),
    ];
    let framing = prop_oneof![
        8 => (slots, proptest::bool::weighted(0.1)).prop_map(|(slots, lends)| StackOp::Call { slots, lends }),
        5 => (1u32..4).prop_map(|count| StackOp::Return { count }),
        1 => (1u32..60).prop_map(|count| StackOp::Return { count }),
        1 => (0u32..12).prop_map(|depth| StackOp::Jump { depth }),
        2 => (count(), r()).prop_map(|(count, object)| StackOp::Recurse { count, object }),
        1 => prop_oneof![3 => 1u32..4, 1 => 4u32..60].prop_map(|frames| StackOp::AtOnce { frames }),
    ];
    let slots = prop_oneof![
        12 => (0u32..5, optional()).prop_map(|(slot, from)| StackOp::Write { slot, from }),
        4 => (r(), 0u32..5).prop_map(|(into, slot)| StackOp::Read { into, slot }),
        2 => (0u32..20, optional()).prop_map(|(slot, from)| StackOp::Lent { slot, from }),
    ];
    prop_oneof![4 => making, 7 => switching, 6 => framing, 7 => slots].prop_map(Op::Stack)
}

fn collection() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => Just(Op::Poll),
        5 => (1u32..300).prop_map(|units| Op::Step { units }),
        4 => Just(Op::Flip),
        4 => Just(Op::Epoch),
        1 => Just(Op::Collect),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{parse_program, program_text};

    #[test]
    fn the_nth_program_of_a_seed_is_always_the_same() {
        assert_eq!(nth_program(7, 3, 100), nth_program(7, 3, 100));
        assert_ne!(nth_program(7, 3, 100), nth_program(7, 4, 100));
        assert_ne!(nth_program(7, 3, 100), nth_program(8, 3, 100));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_program_survives_its_text_form(ops in program(200)) {
            prop_assert_eq!(parse_program(&program_text(&ops)).unwrap(), ops);
        }
    }
}
