//! Objects that do not say what they are, for `tally_trace_with`: metadata of roots does, to a callback of the program.

use super::stock::{LEVELS, collects, counted, llc};
use tally_kit::folder::{Folder, Outcome};

/// Trees, lists, a large object, objects with two descriptions, numbers that look like references, objects with a type.
const SITUATIONS: &str = include_str!("typed_by_roots.c");
const SUMS: &str =
    "list 45000150000\ntree 16278\nlarge 240\ntwo 55210\nring 70007\nnumber dead\ntyped 5\nlist 45000150000\n";
const FEW_SUMS: &str = "list 5050\ntree 16\nlarge 240\ntwo 55210\nring 35\nnumber dead\ntyped 5\nlist 5050\n";

fn run(folder: &Folder, options: &[&str], file: &str) -> Outcome {
    folder.tally(&[&["run"], options, &[file]].concat())
}

#[test]
fn situations_in_c_under_every_level_and_zeal() {
    let folder = Folder::with(&[("typed.c", SITUATIONS)]);
    for level in super::LEVELS {
        let options = ["--plan", "trace", "--opt", level, "--epoch-bytes", "256KiB", "--leak-check"];
        let ran = run(&folder, &options, "typed.c");
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), SUMS), "{level}: {ran:?}");
        let ran = folder.tally(&["run", "--plan", "trace", "--opt", level, "--zeal", "typed.c", "--", "few"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), FEW_SUMS), "{level}: {ran:?}");
    }
    let built = folder.tally(&["build", "--plan", "trace", "typed.c", "-o", "program"]);
    assert_eq!(built.status, Some(0), "{built:?}");
    let ran = folder.program(&[("TALLY_EPOCH_BYTES", "256KiB"), ("TALLY_STATS", "1")], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), SUMS), "{ran:?}");
    assert!(counted(&ran, "freed_objects") > 300_000, "{ran:?}");
}

/// The callback runs between the call of an allocation and its end, and notes no place.
#[test]
fn zeal_names_the_place_where_an_object_was_made() {
    let forgets = SITUATIONS.replace(
        "    Tree *all = ",
        "    Cell *lost = new_cell(NULL, 3);\n    list_of(3);\n    printf(\"%ld\\n\", lost->number);\n    Tree *all = ",
    );
    let made =
        1 + SITUATIONS.lines().position(|line| line.contains("Cell *made = llvm_gc_allocate")).expect("it makes cells");
    let folder = Folder::with(&[("typed.c", &forgets)]);
    let ran = folder.tally(&["run", "--plan", "trace", "--zeal", "typed.c", "--", "few"]);
    assert_eq!(ran.status, Some(5), "{ran:?}");
    assert!(ran.stderr.contains(&format!("made:   typed.c:{made}: in function `new_cell`")), "{ran:?}");
}

/// The program that all strategies share, with inverted links and with metadata, as a frontend writes it. `META` is a constant
/// that looks like a descriptor without references.
fn in_ir(strategy: &str) -> String {
    let stored = |value: &str, place: &str| {
        format!(
            "  %link.{value} = ptrtoint ptr %{value} to i64\n  %inverted.{value} = xor i64 %link.{value}, -1\n  \
             store i64 %inverted.{value}, ptr %{place}\n"
        )
    };
    let loaded = |value: &str, place: &str| {
        format!(
            "  %inverted.{value} = load i64, ptr %{place}\n  %link.{value} = xor i64 %inverted.{value}, -1\n  \
             %{value} = inttoptr i64 %link.{value} to ptr\n"
        )
    };
    let text = super::program(strategy)
        .replace("ptr %root, ptr null", "ptr %root, ptr @META")
        .replace("ptr %list, ptr null", "ptr %list, ptr @META")
        .replace("  store ptr %kept, ptr %cell\n", &stored("kept", "cell"))
        .replace("  store ptr %second, ptr %kept\n", &stored("second", "kept"))
        .replace("  %behind = load ptr, ptr %at\n", &loaded("behind", "at"))
        .replace("entry:\n", "entry:\n  call void @tally_trace_with(ptr @read_object)\n");
    text + r#"
@META = constant [16 x i64] [i64 1, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0]
declare void @tally_trace_with(ptr)
define void @read_object(ptr %slot, ptr %meta, ptr %visit) uwtable {
  %object = load ptr, ptr %slot
  %inverted = load i64, ptr %object
  %link = xor i64 %inverted, -1
  %next = alloca i64
  store i64 %link, ptr %next
  call void %visit(ptr %next, ptr %meta)
  ret void
}
"#
}

/// The flag that gives metadata of the size of a descriptor to the callback.
const ALL_METADATA: &str = "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"tally.trace_with\", i32 1}\n";

#[test]
fn metadata_of_ir_that_tally_compiles() {
    for strategy in ["trace", "ocaml", "erlang"] {
        let small = in_ir(strategy).replace("[16 x i64] [i64 1, ", "[15 x i64] [");
        super::all_ways(&small, &[]);
    }
    super::all_ways(&(in_ir("trace") + ALL_METADATA), &[]);
    super::all_ways(&in_ir("shadow-stack"), &[]);
    let number = in_ir("refcount").replace("ptr @META", "ptr inttoptr (i64 8 to ptr)");
    super::all_ways(&number, &["--plan", "trace"]);
}

#[test]
fn metadata_of_the_shadow_stack_that_stock_llc_made() {
    let folder = Folder::with(&[("list.ll", &in_ir("shadow-stack"))]);
    for (level, _) in LEVELS {
        llc(&folder, "list", &[level]);
        folder.build(&["list.o"]);
        collects(&folder, "500500\n", level);
    }
}

#[test]
fn metadata_without_a_callback_is_named() {
    let without = in_ir("trace").replace("  call void @tally_trace_with(ptr @read_object)\n", "") + ALL_METADATA;
    let folder = Folder::with(&[("list.ll", &without)]);
    let ran = run(&folder, &["--epoch-bytes", "4KiB"], "list.ll");
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("metadata of root `"), "{ran:?}");
    assert!(ran.stderr.contains("no callback of tally_trace_with says what it means"), "{ran:?}");
}

#[test]
fn plans_that_count_have_no_callback() {
    let folder = Folder::with(&[("typed.c", SITUATIONS)]);
    for plan in ["refcount", "refcount-prompt"] {
        let refused = run(&folder, &["--plan", plan], "typed.c");
        assert_eq!(refused.status, Some(2), "{plan}: {refused:?}");
        assert!(refused.stderr.contains("@cell: a type descriptor has 128 bytes"), "{plan}: {refused:?}");
        let plain = "#include <tally_gc.h>\nstatic void read(void **slot, const void *meta, tally_visit_slot visit) { (void)slot; (void)meta; \
                     (void)visit; }\nint main(void) { tally_trace_with(read); return 0; }\n";
        let folder = Folder::with(&[("plain.c", plain)]);
        let ran = run(&folder, &["--plan", plan], "plain.c");
        assert_eq!(ran.status, Some(2), "{plan}: {ran:?}");
        assert!(ran.stderr.contains("under the trace plan only"), "{plan}: {ran:?}");
    }
}

#[test]
fn a_root_of_two_words_has_no_metadata_of_a_callback() {
    let wide = in_ir("trace").replace("%root = alloca ptr", "%root = alloca [2 x ptr]") + ALL_METADATA;
    let refused = run(&Folder::with(&[("list.ll", &wide)]), &[], "list.ll");
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("gcroot of 16 bytes with metadata that is no tally_type"), "{refused:?}");
}

/// The callback is called inside a collection.
#[test]
fn a_callback_with_roots_is_refused() {
    let rooted = in_ir("trace").replace(
        "ptr %visit) uwtable {\n",
        "ptr %visit) gc \"trace\" {\n  %held = alloca ptr\n  call void @llvm.gcroot(ptr %held, ptr null)\n",
    ) + ALL_METADATA;
    let refused = run(&Folder::with(&[("list.ll", &rooted)]), &[], "list.ll");
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("@read_object has roots, and is called in the middle of a collection"),
        "{refused:?}"
    );
}

/// What a sleeping stack holds is copied without its metadata.
#[test]
fn coroutines_and_metadata_of_roots_refuse_each_other() {
    const NEW: &str = "tally_stack_new(entry, 0);";
    const WITH: &str = "tally_trace_with(each);";
    for (first, second, says) in
        [(WITH, NEW, "tally_stack_new: after tally_trace_with"), (NEW, WITH, "tally_trace_with: ")]
    {
        let text = format!(
            "#include <tally_gc.h>\nstatic void *entry(void *value) {{ return value; }}\n\
             static void each(void **slot, const void *meta, void (*visit)(void **, const void *)) {{ (void)slot, (void)meta, (void)visit; }}\n\
             int main(void) {{ {first} {second} }}\n"
        );
        let ran = run(&Folder::with(&[("both.c", &text)]), &["--plan", "trace"], "both.c");
        assert!(ran.status == Some(2) && ran.stderr.contains(says), "{ran:?}");
    }
}
