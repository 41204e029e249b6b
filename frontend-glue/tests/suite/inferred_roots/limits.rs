//! What is refused where roots are inferred, what is left as it was, and what is no reason to refuse a module.

use super::PLANS;
use tally_kit::folder::Folder;

#[test]
fn references_in_vectors_and_atomic_stores_are_refused() {
    let refused = |body: &str, options: &[&str], message: &str| {
        let text = format!(
            "declare void @stop()\ndeclare <2 x ptr addrspace(1)> @two()\ndeclare <2 x ptr> @both()\ndefine void @f(ptr addrspace(1) %p, ptr %q) gc \"refcount\" {{\n{body}  call void @stop()\n  ret void\n}}\n"
        );
        let folder = Folder::with(&[("m.ll", &text)]);
        for command in [&["verify"][..], &["lower", "-o", "-"]] {
            let outcome = folder.tally(&[command, options, &["m.ll"]].concat());
            assert_eq!(outcome.status, Some(2), "{outcome:?}");
            assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
        }
    };
    // They come from a call, so they cannot be taken apart.
    let vector = "  %v = call <2 x ptr addrspace(1)> @two()\n";
    refused(vector, &[], "a vector of references, for which no root is inferred");
    let plain = "  %v = call <2 x ptr> @both()\n";
    refused(plain, &["--roots", "auto"], "a vector of references, for which no root is inferred");
    let atomic = "  store atomic ptr addrspace(1) %p, ptr addrspace(1) %p release, align 8\n";
    refused(atomic, &[], "an atomic or volatile store of a reference");
    let volatile = "  store volatile ptr addrspace(1) %p, ptr addrspace(1) %p\n";
    refused(volatile, &[], "an atomic or volatile store of a reference");
    let sized = "  %n = ptrtoint ptr %q to i64\n  %v = alloca ptr addrspace(1), i64 %n\n  call void @keep(ptr %v)\n";
    let text = format!("declare void @keep(ptr)\ndefine void @f(ptr %q) gc \"refcount\" {{\n{sized}  ret void\n}}\n");
    let outcome = Folder::with(&[("m.ll", &text)]).tally(&["verify", "m.ll"]);
    assert!(outcome.stderr.contains("whose size is not constant"), "{}", outcome.stderr);
    let packed = "  %v = alloca <{ i8, ptr addrspace(1) }>\n  call void @keep(ptr %v)\n";
    let text = format!("declare void @keep(ptr)\ndefine void @f(ptr %q) gc \"refcount\" {{\n{packed}  ret void\n}}\n");
    let outcome = Folder::with(&[("m.ll", &text)]).tally(&["verify", "m.ll"]);
    assert!(outcome.stderr.contains("a reference lies at its byte 1"), "{}", outcome.stderr);
}

/// The number of a reference is no reference: its object dies. Zeal checks accesses by typed references as it does others.
#[test]
fn zeal_stops_at_a_typed_access_to_a_dead_object() {
    const PROGRAM: &str = r#"
declare ptr addrspace(1) @tally_new(ptr)
declare void @tally_collect()
@Node = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Node, !"size", i64 16, !"refs", !{i32 0}}
define i32 @main() gc "refcount" {
  %node = call ptr addrspace(1) @tally_new(ptr @Node)
  %number = ptrtoint ptr addrspace(1) %node to i64
  %thrice = mul i64 %number, 3
  call void @tally_collect()
  %again = udiv i64 %thrice, 3
  %dead = inttoptr i64 %again to ptr addrspace(1)
  %at = getelementptr i8, ptr addrspace(1) %dead, i64 8
  ACCESS
  ret i32 0
}
"#;
    for access in ["%value = load i64, ptr addrspace(1) %at", "store i64 7, ptr addrspace(1) %at"] {
        let folder = Folder::with(&[("dead.ll", &PROGRAM.replace("ACCESS", access))]);
        for plan in PLANS {
            let outcome = folder.tally(&["run", "--zeal", "--no-warnings", "--plan", plan, "dead.ll"]);
            assert_eq!(outcome.status, Some(5), "{plan} {access}: {outcome:?}");
            assert!(outcome.stderr.contains("use of a dead object"), "{}", outcome.stderr);
        }
    }
}

/// Bits of a function that is left alone: without typed references, or another strategy.
#[test]
fn modules_without_typed_references_are_as_they_were() {
    const PROGRAM: &str =
        "declare void @stop()\ndefine ptr @f(ptr %p) gc \"refcount\" {\n  call void @stop()\n  ret ptr %p\n}\n";
    let folder = Folder::with(&[("m.ll", PROGRAM)]);
    let as_written = folder.tally(&["lower", "m.ll", "-o", "-"]).stdout;
    assert!(!as_written.contains("alloca"), "{as_written}");
    let auto = folder.tally(&["lower", "--roots", "auto", "m.ll", "-o", "-"]).stdout;
    assert!(!auto.contains("alloca"), "the caller protects a plain argument: {auto}");
    let typed = Folder::with(&[(
        "m.ll",
        &PROGRAM.replace("ptr %p", "ptr addrspace(1) %p").replace("define ptr @f", "define ptr addrspace(1) @f"),
    )]);
    let typed = typed.tally(&["lower", "m.ll", "-o", "-"]).stdout;
    assert!(typed.contains("alloca"), "{typed}");
}

/// A write to a variable that turns out to hold null faults if it runs, and is no reason to refuse the module.
#[test]
fn a_write_to_a_variable_that_holds_null_is_no_mistake_in_the_source() {
    const PROGRAM: &str = r#"
declare void @llvm.gcwrite(ptr, ptr, ptr)
define i32 @main(i32 %count, ptr %words) gc "refcount" {
  %variable = alloca ptr
  store ptr null, ptr %variable
  %never = icmp eq i32 %count, 0
  br i1 %never, label %write, label %done
write:
  %object = load ptr, ptr %variable
  %slot = getelementptr i8, ptr %object, i64 8
  call void @llvm.gcwrite(ptr null, ptr %object, ptr %slot)
  br label %done
done:
  ret i32 0
}
"#;
    let folder = Folder::with(&[("null.ll", PROGRAM)]);
    for plan in PLANS {
        let outcome = folder.tally(&["run", "--roots", "auto", "--opt", "0", "--plan", plan, "null.ll"]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{plan}");
    }
}

/// A thousand references met one after the other, each what all before it may be: the check of roots took 24 GB.
#[test]
fn function_in_which_a_thousand_references_meet_is_not_followed() {
    let mut text =
        "declare ptr addrspace(1) @make(ptr addrspace(1))\ndefine ptr addrspace(1) @f(i64 %n) gc \"refcount\" {\n  \
         %v0 = call ptr addrspace(1) @make(ptr addrspace(1) null)\n  br label %b0\nb0:\n"
            .to_owned();
    for number in 0..1000 {
        let (next, entry) = (number + 1, format!("b{number}"));
        text += &format!(
            "  %c{number} = icmp sgt i64 %n, {number}\n  br i1 %c{number}, label %t{number}, label %b{next}\nt{number}:\n  \
             %m{number} = call ptr addrspace(1) @make(ptr addrspace(1) %v{number})\n  br label %b{next}\nb{next}:\n  \
             %v{next} = phi ptr addrspace(1) [ %m{number}, %t{number} ], [ %v{number}, %{entry} ]\n"
        );
    }
    let folder = Folder::with(&[("m.ll", &(text + "  ret ptr addrspace(1) %v1000\n}\n"))]);
    let typed = folder.tally(&["verify", "m.ll"]);
    assert_eq!(typed.status, Some(0), "a warning: {typed:?}");
    assert!(typed.stderr.contains("in @f: so many references meet that they were not followed"), "{}", typed.stderr);
    let auto = folder.tally(&["verify", "--roots", "auto", "m.ll"]);
    assert_eq!((auto.status, auto.stderr.as_str()), (Some(0), ""), "inferred roots are right: {auto:?}");
}
