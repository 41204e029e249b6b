//! Programs between which a heap of the deferred plan begins to count, or to mark again. Each was found by the soak.

use tally_tests::setup::check;

/// The bits of the last backup mark are not those of a mark that begins.
#[test]
fn heap_marks_again_after_a_backup_mark() {
    check(
        "allocate triple 0 r13\nlist tagged x 339 r1\nallocate link 0 r4\nset r2 = r13\nfill r2.0 x 1 = r4\npart\n\
         list medium x 97 r4\n",
    );
}

/// An owner that was left to a later collection is looked for as a young object when the heap counts.
#[test]
fn owner_that_waits_for_itself_is_finalized_when_the_heap_counts() {
    check(
        "finalizable owner clear r3\nfinalizable owner again 3 r2\nwrite r3.0 = r3\nallocate newest 0 r3\n\
         list aligned-16 x 336 r2\nepoch\nfinalizable newest nothing r15\npart\n",
    );
}

/// Large objects that were mature are young when the mark that was to find them is given up.
#[test]
fn large_object_is_young_when_the_first_mark_is_given_up() {
    check(
        "hub x 79 r2\nallocate aligned-array 2040 r4\npoll\nwrite r2.0 = address r3\nallocate wide-records 17 r2\n\
         garbage owner 0 x 1\nepoch\nhub x 0 r3\n",
    );
    check(
        "hub x 46 r1\nallocate huge-traced 0 r1\nepoch\nallocate huge-traced 0 r4\nallocate-into r4.0 link 0\n\
         hub x 44 r1\nallocate huge-traced 0 r4\n",
    );
}

/// Objects with finalizers that are young change hands with those that have been found.
#[test]
fn young_objects_with_finalizers_stay_listed_when_the_heap_marks() {
    check(
        "tree 5 r3\nlist medium x 10 r1\nfinalizable newest collect r0\nlist medium x 13 r0\nallocate pair 0 r1\n\
         step 127\nwrite r3.0 = address r2\nset r0 = null\nlist medium x 17 r2\n",
    );
}
