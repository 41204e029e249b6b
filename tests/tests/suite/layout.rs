//! Sizes, alignments and the borders between the small, medium and large paths of allocation (scenarios, group H).

use tally_tests::setup::check;

/// scenario 141: zero-sized objects, and tails of sizes that are no multiple of a word.
#[test]
fn zero_sized_and_odd_sizes() {
    let mut program = String::from("allocate array 60 r0\nallocate-into r0.0 empty 0\n");
    for length in 0..50 {
        program.push_str(&format!("allocate-into r0.{} text {length}\n", length + 1));
    }
    program.push_str("epoch\ngarbage empty 0 x 3000\nepoch\nfill r0.5 x 20 = null\nepoch\nepoch\nepoch\n");
    check(&program);
}

/// scenario 142: over-aligned objects among others, in fresh and in recycled blocks.
#[test]
fn over_aligned_objects() {
    let mut program = String::from("allocate array 300 r0\n");
    for index in 0..300 {
        let kind = ["aligned-64 0", "leaf 0", "aligned-16 0", "text 3", "empty 0"][index % 5];
        program.push_str(&format!("allocate-into r0.{index} {kind}\n"));
    }
    program.push_str("epoch\n");
    for index in (0..300).step_by(3) {
        program.push_str(&format!("write r0.{index} = null\n"));
    }
    program.push_str("epoch\nepoch\n");
    for index in (0..300).step_by(3) {
        program.push_str(&format!("allocate-into r0.{index} aligned-64 0\n"));
    }
    program.push_str("epoch\nring aligned-64 x 50 r1\nring aligned-16 x 50 r2\nepoch\nset r1 = null\ncollect\n");
    check(&program);
}

/// scenario 146: every size around the border between small and large cells, and around a whole block.
#[test]
fn sizes_around_the_borders() {
    let mut program = String::from("allocate array 200 r0\nepoch\n");
    let borders = [128, 8192, 16_384, 32_768, 65_536];
    let mut index = 0;
    for border in borders {
        for bytes in (border - 40..border + 40).step_by(8) {
            program.push_str(&format!("allocate-into r0.{index} text {bytes}\n"));
            index += 1;
        }
    }
    program.push_str("epoch\n");
    for border in borders {
        for bytes in (border - 24..border + 24).step_by(8) {
            let length = bytes / 8;
            program.push_str(&format!("allocate array {length} r1\nwrite r1.{} = r0\nwrite r1.0 = r1\n", length - 1));
        }
    }
    program.push_str("epoch\nset r1 = null\nfill r0.10 x 60 = null\nepoch\ncollect\n");
    check(&program);
}

/// Large objects that die young give their blocks back; large ones that live are counted by chunk.
#[test]
fn large_objects_young_and_old() {
    check(
        "garbage array 5000 x 50
         allocate huge 0 r0
         allocate array 9000 r1
         write r0.2 = r1
         write r1.8999 = r0
         epoch
         garbage text 40000 x 20
         set r1 = null
         write r0.1 = r0
         epoch
         write r0.1 = null
         epoch
         set r0 = null
         collect
         garbage array 5000 x 20
         epoch",
    );
}

/// scenario 149: many types side by side in one structure.
#[test]
fn every_kind_in_one_structure() {
    let kinds = [
        "empty",
        "leaf",
        "pair",
        "triple",
        "label",
        "tagged",
        "boxed",
        "traced",
        "medium",
        "aligned-16",
        "aligned-64",
        "aligned-page",
        "huge",
        "huge-traced",
    ];
    let tails = ["text", "array", "records", "traced-array", "wide-records", "aligned-array"];
    let mut program = String::from("allocate array 40 r0\n");
    for (index, kind) in kinds.iter().enumerate() {
        program.push_str(&format!("allocate {kind} 0 r1\nwrite r0.{index} = r1\nwrite r1.0 = r0\n"));
    }
    for (index, kind) in tails.iter().enumerate() {
        program.push_str(&format!("allocate {kind} 20 r1\nwrite r0.{} = r1\nwrite r1.3 = r0\n", 20 + index));
    }
    program.push_str("set r1 = null\nepoch\nscribble r0 1\nepoch\nset r0 = null\nepoch\ncollect\n");
    check(&program);
}
