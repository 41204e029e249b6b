//! Allocation sites: which objects have one, that it ends with the object, and that what is recorded changes nothing. Under all plans, in
//! heaps that count and in one that marks, in slices, and under zeal.

use std::cell::Cell;
use std::sync::Arc;
use tally_collector::Mutator;
use tally_heap::descriptor::TypeDescriptor;
use tally_heap::plan::Plan;
use tally_heap::services::alloc_site::{CodePlace, SiteFinder, text_of_site};
use tally_heap::{HeapOptions, ObjectRef};
use tally_kit::nodes::{new_mutator, nothing_is_left, set, type_of};

static NODE: TypeDescriptor = TypeDescriptor::plain(c"Node", 24, &[0, 8]);
static OTHER: TypeDescriptor = TypeDescriptor::plain(c"Other", 24, &[]);
static ARRAY: TypeDescriptor = TypeDescriptor::plain(c"Array", 8, &[]).with_tail(0, 8, &[0]);

thread_local! {
    /// The line at which the program is said to be, and which code is loaded.
    static AT: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    /// How often names were asked for.
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

/// The program allocates at `line` of the code with that number from now on.
fn at(line: u64, code: u64) {
    AT.set((line, code));
}

/// Names return addresses as lines of `program`, and counts how often it is asked.
#[derive(Debug)]
struct Lines;

impl SiteFinder for Lines {
    fn find(&mut self, returns: &mut Vec<u64>) -> u64 {
        let (line, code) = AT.get();
        returns.push(line);
        code
    }

    fn places(&mut self, returns: &[u64]) -> Vec<CodePlace> {
        ASKED.set(ASKED.get() + 1);
        let (_, code) = AT.get();
        let place =
            |&line: &u64| CodePlace { function: format!("f{code}").into(), file: "a.c".into(), line: line as u32 };
        returns.iter().map(place).collect()
    }
}

fn options(alloc_sites: Option<u64>) -> impl Iterator<Item = HeapOptions> {
    Plan::ALL.into_iter().flat_map(move |plan| {
        let of = HeapOptions { plan, alloc_sites, ..HeapOptions::default() };
        let marks = HeapOptions { mark_ns: u64::MAX, ..of.clone() };
        let sliced = HeapOptions { slice_units: Some(60), pause_goal_ns: Some(1_000_000), ..of.clone() };
        let zeal = HeapOptions { zeal: true, ..of.clone() };
        [of, marks, sliced, zeal]
    })
}

fn for_all_heaps(alloc_sites: Option<u64>, situation: impl Fn(&mut Mutator)) {
    for options in options(alloc_sites) {
        let said = format!("{options:?}");
        let mut m = new_mutator(options).expect("room");
        m.heap().find_sites_with(Box::new(Lines));
        at(1, 0);
        situation(&mut m);
        m.collect();
        m.verify().unwrap_or_else(|violation| panic!("{said}: {violation}"));
        nothing_is_left(&mut m);
        assert_eq!(live(&mut m), 0, "{said}: no record is left");
    }
}

fn node(m: &mut Mutator) -> ObjectRef {
    m.allocate(type_of(&NODE)).expect("room")
}

fn site(m: &mut Mutator, object: ObjectRef) -> String {
    m.heap().alloc_site(object).map_or_else(|| "not known".to_owned(), |site| text_of_site(&site))
}

/// Objects with a site that are there.
fn live(m: &mut Mutator) -> u64 {
    m.heap().alloc_sites().iter().map(|row| row.live_objects).sum()
}

#[test]
fn every_object_has_the_site_of_its_allocation() {
    for_all_heaps(Some(0), |m| {
        for line in 1..50 {
            at(line, 0);
            let object = node(m);
            m.push_root(Some(object));
            assert_eq!(site(m, object), format!("in `f0` at a.c:{line}"));
        }
        let large = m.allocate_array(type_of(&ARRAY), 10_000).expect("room");
        assert_eq!(site(m, large), "in `f0` at a.c:49");
        m.truncate_roots(0);
    });
}

#[test]
fn dead_object_leaves_no_site_to_the_next_in_its_cell() {
    for_all_heaps(Some(0), |m| {
        (0..500).for_each(|_| _ = node(m));
        m.collect();
        assert_eq!(live(m), 0);
        at(2, 0);
        for _ in 0..500 {
            let object = node(m);
            assert_eq!(site(m, object), "in `f0` at a.c:2");
        }
        m.heap().record_alloc_sites(None);
        m.collect();
        for _ in 0..500 {
            let object = node(m);
            assert_eq!(site(m, object), "not known");
        }
    });
}

#[test]
fn mature_object_keeps_its_site_and_its_record_goes_with_it() {
    for_all_heaps(Some(0), |m| {
        let first = node(m);
        let root = m.push_root(Some(first));
        at(7, 0);
        let second = node(m);
        set(m, first, 0, Some(second));
        set(m, second, 0, Some(first));
        (0..4).for_each(|_| m.epoch());
        assert_eq!((site(m, second).as_str(), live(m)), ("in `f0` at a.c:7", 2));
        let rows = m.heap().alloc_sites();
        assert!(rows.iter().all(|row| row.allocated_objects == 1 && row.live_bytes == 32), "{rows:?}");
        m.truncate_roots(root.0);
        m.collect();
        assert_eq!(live(m), 0, "a cycle of two");
    });
}

#[test]
fn sampled_object_may_be_weakly_held_and_be_resized() {
    for_all_heaps(Some(0), |m| {
        let owner = node(m);
        m.push_root(Some(owner));
        let weak = m.new_weak(owner).expect("room");
        m.push_root(Some(weak));
        let storage = m.allocate_array(type_of(&ARRAY), 2).expect("room");
        set(m, owner, 0, Some(storage));
        let slot = owner.slot(0);
        assert_eq!(m.heap().resize_refuses(owner, slot), None);
        at(9, 0);
        let grown = m.heap().resize(owner, slot, 3000).expect("room");
        assert_eq!(site(m, grown), "in `f0` at a.c:9");
        let observer = m.new_weak(grown).expect("room");
        m.push_root(Some(observer));
        assert!(m.heap().resize_refuses(owner, slot).is_some(), "weakly held storage is not replaced");
        m.truncate_roots(0);
    });
}

#[test]
fn host_is_the_site_where_no_code_runs() {
    let mut m = new_mutator(HeapOptions { alloc_sites: Some(0), ..HeapOptions::default() }).expect("room");
    let object = node(&mut m);
    assert_eq!(site(&mut m, object), "by the host");
}

/// Every eighth object is of another type; the sample is to see that, whatever the pattern.
#[test]
fn sample_estimates_what_was_allocated_at_each_site() {
    for plan in Plan::ALL {
        let options = HeapOptions { plan, alloc_sites: Some(4096), ..HeapOptions::default() };
        let mut m = new_mutator(options).expect("room");
        m.heap().find_sites_with(Box::new(Lines));
        let kept = m.allocate_array(type_of(&ARRAY), 20_000).expect("room");
        m.push_root(Some(kept));
        for index in 0..160_000 {
            let (line, of) = if index % 8 == 7 { (2, &OTHER) } else { (1, &NODE) };
            at(line, 0);
            let object = m.allocate(type_of(of)).expect("room");
            if line == 2 {
                m.write(kept, kept.slot(8 + index / 8 * 8), object.address());
            }
        }
        let rows = m.heap().alloc_sites();
        let row = |name: &str| rows.iter().find(|row| row.type_name == name).expect("a row").clone();
        let near = |found: u64, wanted: u64| found.abs_diff(wanted) * 5 < wanted;
        let (nodes, others) = (row("Node"), row("Other"));
        assert!(
            near(nodes.allocated_objects, 140_000) && near(nodes.allocated_bytes, 140_000 * 32),
            "{plan:?}: {nodes:?}"
        );
        assert!(near(others.allocated_objects, 20_000) && near(others.live_objects, 20_000), "{plan:?}: {others:?}");
        assert!(m.heap().estimates_alloc_sites());
        assert_eq!((nodes.site.len(), others.site[0].line), (1, 2));
        m.truncate_roots(0);
        m.collect();
        nothing_is_left(&mut m);
        assert_eq!(live(&mut m), 0);
    }
}

/// Names are asked for once; code that is loaded anew may lie where other code was, whose objects keep the names that they had.
#[test]
fn names_outlive_the_code_that_they_were_found_in() {
    let mut m = new_mutator(HeapOptions { alloc_sites: Some(0), ..HeapOptions::default() }).expect("room");
    m.heap().find_sites_with(Box::new(Lines));
    at(3, 1);
    let old = node(&mut m);
    m.push_root(Some(old));
    (0..100).for_each(|_| _ = node(&mut m));
    assert_eq!(ASKED.get(), 1);
    at(3, 2);
    let new = node(&mut m);
    assert_eq!((site(&mut m, old), site(&mut m, new)), ("in `f1` at a.c:3".to_owned(), "in `f2` at a.c:3".to_owned()));
    let site = m.heap().alloc_site(old).expect("known");
    assert!(Arc::ptr_eq(&site, &m.heap().alloc_site(old).expect("known")));
}

/// The number of objects is not known there: what died in a collection is none rather than less.
#[test]
fn collections_of_a_heap_that_counts_no_inline_allocation() {
    let options = HeapOptions { plan: Plan::Trace, count_objects: false, ..HeapOptions::default() };
    let mut m = new_mutator(options).expect("room");
    m.allocate_array(type_of(&ARRAY), 5000).expect("room");
    m.collect();
    (0..100).for_each(|_| {
        let object = node(&mut m);
        m.push_root(Some(object));
    });
    m.collect();
    m.truncate_roots(0);
    m.collect();
}
