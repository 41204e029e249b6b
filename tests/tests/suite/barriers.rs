//! What the write barrier must get right (scenarios, group G): aliasing, moves between slots, block moves, and writes at
//! every moment of an epoch.

use tally_tests::setup::check;

/// scenario 125: a slot is assigned the value it has.
#[test]
fn slot_assigned_to_itself() {
    check(
        "allocate pair 0 r0
         allocate-into r0.0 leaf 0
         epoch
         load r1 = r0.0
         write r0.0 = r1
         set r1 = null
         epoch
         swap r0.0 r0.0
         copy r0.0 = r0.0 x 2
         epoch
         epoch",
    );
}

/// scenario 126: the last reference to an object is overwritten with one of its own fields.
#[test]
fn p_becomes_p_next() {
    check(&format!("list pair x 30 r0\nepoch\n{}", "load r0 = r0.0\npoll\nepoch\n".repeat(30)));
}

/// scenario 126: the same through a field of a live object.
#[test]
fn field_becomes_its_own_next() {
    let step = "load r1 = r0.0\nload r1 = r1.0\nwrite r0.0 = r1\nset r1 = null\nflip\nstep 2\n";
    check(&format!("allocate pair 0 r0\nlist pair x 20 r1\nwrite r0.0 = r1\nepoch\n{}", step.repeat(20)));
}

/// scenario 128: overwritten many times within one epoch: the first old and the last new value count.
#[test]
fn field_overwritten_many_times_in_one_epoch() {
    check(
        "allocate pair 0 r0
         allocate-into r0.0 leaf 0
         epoch
         allocate-into r0.0 leaf 0
         allocate-into r0.0 pair 0
         toggle r0.0 r0 x 40
         allocate-into r0.0 leaf 0
         epoch
         epoch",
    );
}

/// scenario 129: a temporary is used and dropped.
#[test]
fn temporary_used_and_dropped() {
    check(
        "allocate pair 0 r0
         epoch
         list pair x 3 r1
         load r2 = r1.0
         set r1 = null
         write r0.0 = r2
         set r2 = null
         flip
         write r0.0 = null
         epoch
         epoch",
    );
}

/// scenario 134: an array is grown into a larger one while its elements are candidates.
#[test]
fn array_grows_while_its_elements_are_candidates() {
    check(
        "hub x 60 r0
         epoch
         allocate array 200 r1
         copy r1.0 = r0.0 x 60
         epoch
         set r0 = null
         flip
         step 5
         allocate array 3000 r2
         copy r2.100 = r1.0 x 200
         set r1 = null
         epoch
         epoch
         set r2 = null
         collect",
    );
}

/// scenario 135: what a tagged word holds changes from reference to number and back.
#[test]
fn tagged_word_changes_its_nature() {
    let program: String = ["tagged", "boxed", "traced"]
        .map(|kind| {
            format!(
                "allocate {kind} 0 r0
                 allocate leaf 0 r1
                 write r0.0 = r1
                 epoch
                 write r0.0 = address r1
                 epoch
                 set r1 = null
                 epoch
                 epoch
                 allocate pair 0 r2
                 write r0.0 = int 4711
                 write r0.0 = r2
                 flip
                 write r0.0 = int 3
                 set r2 = null
                 epoch
                 write r0.0 = immortal 1
                 epoch
                 epoch\n"
            )
        })
        .concat();
    check(&program);
}

/// scenario 139: writes to every chunk of a large array between the slices of an epoch.
#[test]
fn chunks_of_a_large_array_written_between_slices() {
    let writes: String = (0..30)
        .map(|index| format!("flip\nstep {index}\nwrite r0.{} = r1\nwrite r0.0 = r2\nstep 1\n", index * 97))
        .collect();
    check(&format!(
        "allocate array 3000 r0\nring pair x 3 r1\nallocate leaf 0 r2\nepoch\n{writes}set r1 = null\nset r2 = null\nepoch
         fill r0.50 x 2000 = null\nepoch\nepoch\nepoch"
    ));
}

/// Overlapping copies in both directions within an array, small and large.
#[test]
fn overlapping_copies() {
    for length in [40, 5000] {
        let count = length - 10;
        check(&format!(
            "hub x {length} r0
             epoch
             copy r0.7 = r0.0 x {count}
             epoch
             copy r0.0 = r0.9 x {count}
             flip
             copy r0.1 = r0.0 x {count}
             step 7
             copy r0.0 = r0.1 x {count}
             epoch
             epoch
             epoch"
        ));
    }
}

/// Records and traced pairs are copied whole, tags and data included.
#[test]
fn records_and_pairs_are_copied_whole() {
    for kind in ["records", "traced-array"] {
        check(&format!(
            "allocate {kind} 900 r0
             list pair x 5 r1
             write r0.1 = r1
             write r0.3 = r1
             write r0.600 = r0
             set r1 = null
             epoch
             copy r0.5 = r0.1 x 800
             flip
             step 4
             copy r0.1 = r0.5 x 800
             epoch
             copy r0.300 = r0.1 x 200
             epoch
             epoch"
        ));
    }
}

/// A pending object (young at the flip, not yet promoted) is written before its slice comes.
#[test]
fn pending_objects_are_written_before_they_are_promoted() {
    let rounds: String = (0..20)
        .map(|units| {
            format!("list pair x 40 r0\nload r1 = r0.0\nflip\nstep {units}\nwrite r1.0 = null\nwrite r0.1 = r1\nset r1 = null\nstep 2\n")
        })
        .collect();
    check(&format!("{rounds}epoch\nepoch\nepoch"));
}

/// scenario 37: garbage goes eventually without an explicit call.
#[test]
fn polls_alone_keep_a_toggled_field_from_leaking() {
    check(
        "allocate pair 0 r0
         ring pair x 50 r1
         toggle r0.0 r1 x 500
         garbage leaf 0 x 3000
         epoch",
    );
}

/// Words between the references of an array's elements are none, whatever they look like: some of these are addresses
/// of the heap.
#[test]
fn copied_elements_hold_numbers_that_look_like_addresses() {
    check(
        "allocate wide-records 67 r4
         scribble r4 0
         copy r4.0 = r4.18 x 58
         epoch
         copy r4.18 = r4.0 x 20
         collect",
    );
}
