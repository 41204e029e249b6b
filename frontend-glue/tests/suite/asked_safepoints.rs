//! Safepoints where the frontend asks for them, by the attribute `"tally-safepoints"`.

use tally_kit::folder::Folder;

const ASKING: &str = r#"
@Cell = external constant i8
!tally.types = !{!0}
!0 = !{ptr @Cell, !"size", i64 16, !"refs", !{i32 0}}
declare void @llvm.gcroot(ptr, ptr)
declare REF @tally_new(ptr)
declare i64 @leaf(i64) "gc-leaf-function"
declare void @stop()
define REF @f(REF %p, i64 %n) "tally-safepoints"="ASKED" gc "refcount" {
entry:
  %root = alloca REF
ROOT  store REF %p, ptr %root
  br label %turn
turn:
  %i = phi i64 [ 0, %entry ], [ %more, %turn ]
  %more = call i64 @leaf(i64 %i)
  %enough = icmp eq i64 %more, %n
  br i1 %enough, label %done, label %turn
done:
  call void @stop()
  %kept = load REF, ptr %root
  ret REF %kept
}
"#;

fn asking(asked: &str, is_typed: bool) -> String {
    let (reference, root) = match is_typed {
        true => ("ptr addrspace(1)", ""),
        false => ("ptr", "  call void @llvm.gcroot(ptr %root, ptr null)\n"),
    };
    ASKING.replace("ASKED", asked).replace("REF", reference).replace("ROOT", root)
}

/// Each kind of place gets its poll, once, in front of what it names; with written roots and with inferred ones.
#[test]
fn safepoints_are_where_the_frontend_asks_for_them() {
    let polls = |asked: &str, is_typed: bool| {
        let folder = Folder::with(&[("m.ll", &asking(asked, is_typed))]);
        let lowered = folder.tally(&["lower", "m.ll", "-o", "-"]);
        assert_eq!(lowered.status, Some(0), "{}", lowered.stderr);
        let built = folder.tally(&["maps", "m.ll"]);
        assert_eq!(built.status, Some(0), "{}", built.stderr);
        (lowered.stdout.matches("call void @tally_safepoint_slow()").count(), built.stdout.lines().count())
    };
    for is_typed in [false, true] {
        let (none, listed) = polls("", is_typed);
        assert_eq!(none, 0);
        for word in ["entry", "calls", "loops", "exits"] {
            let (count, maps) = polls(word, is_typed);
            assert_eq!(count, 1, "{word}, typed: {is_typed}");
            assert_eq!(maps, listed + 1, "`tally maps` lists the poll of {word}, typed: {is_typed}");
        }
        assert_eq!(polls("entry, calls,loops,exits", is_typed).0, 4, "typed: {is_typed}");
    }
    let folder = Folder::with(&[("m.ll", &asking("entry,always", false))]);
    let outcome = folder.tally(&["verify", "m.ll"]);
    assert_eq!(outcome.status, Some(2));
    assert!(
        outcome.stderr.contains("asks for `always`") && outcome.stderr.contains("calls, loops, entry, exits"),
        "{}",
        outcome.stderr
    );
}

/// A poll that would expose a reference is left out where roots are written.
#[test]
fn a_safepoint_that_is_asked_for_exposes_no_reference() {
    let unrooted = asking("entry,exits", false)
        .replace("ret REF", "ret ptr")
        .replace("  store ptr %p, ptr %root\n", "")
        .replace("  %kept = load ptr, ptr %root\n  ret ptr %kept", "  ret ptr %p");
    let folder = Folder::with(&[("m.ll", &unrooted)]);
    let lowered = folder.tally(&["lower", "m.ll", "-o", "-"]);
    assert_eq!(
        (lowered.status, lowered.stdout.matches("@tally_safepoint_slow()").count()),
        (Some(0), 0),
        "{}",
        lowered.stdout
    );
}

/// A loop without calls, which ends when the object that nothing refers to any more has been finalized, or after a million turns.
/// Its status is 0 if it was, and what the loop leaves behind is alive.
const WAITING: &str = r#"
@Cell = external constant i8
@Last = external constant i8
!tally.types = !{!0, !1}
!0 = !{ptr @Cell, !"size", i64 16}
!1 = !{ptr @Last, !"size", i64 16, !"finalize", ptr @note}
@is_gone = global i32 0
declare void @llvm.gcroot(ptr, ptr)
declare REF @tally_new(ptr)
define void @note(ptr %object) "gc-leaf-function" {
  store volatile i32 1, ptr @is_gone
  ret void
}
define i32 @wait() "tally-safepoints"="ASKED" gc "refcount" {
entry:
  %last = alloca REF
  %root = alloca REF
ROOT  %kept = call REF @tally_new(ptr @Cell)
  store REF %kept, ptr %root
  store i32 7, REF %kept
  %object = call REF @tally_new(ptr @Last)
  store REF %object, ptr %last
  store REF null, ptr %last
  br label %turn
turn:
  %i = phi i32 [ 0, %entry ], [ %more, %turn ]
  %more = add i32 %i, 1
  %gone = load volatile i32, ptr @is_gone
  %is_long = icmp eq i32 %more, 1000000
  %is_gone = icmp ne i32 %gone, 0
  %ends = or i1 %is_long, %is_gone
  br i1 %ends, label %done, label %turn
done:
  %still = load REF, ptr %root
  %seven = load i32, REF %still
  %wrong = sub i32 %seven, 7
  %late = select i1 %is_gone, i32 0, i32 1
  %status = or i32 %wrong, %late
  ret i32 %status
}
define i32 @main() gc "refcount" {
  %status = call i32 @wait()
  ret i32 %status
}
"#;

/// The prompt plan's objects die at the poll; the other plans collect there under zeal.
#[test]
fn loop_without_calls_stops_where_it_asks_for_that() {
    for (reference, rooted) in [("ptr addrspace(1)", ""), ("ptr", "last root")] {
        let root = |name: &str| format!("  call void @llvm.gcroot(ptr %{name}, ptr null)\n");
        let roots: String = rooted.split_whitespace().map(root).collect();
        for (asked, expected) in [("loops", 0), ("", 1)] {
            let program = WAITING.replace("ASKED", asked).replace("REF", reference).replace("ROOT", &roots);
            let folder = Folder::with(&[("m.ll", &program)]);
            for (plan, zeal) in [
                ("refcount", "--zeal"),
                ("trace", "--zeal"),
                ("refcount-prompt", "--zeal"),
                ("refcount-prompt", "--leak-check"),
            ] {
                for level in ["0", "2"] {
                    let run = ["run", "--plan", plan, "--opt", level, zeal, "--stack-objects=off", "m.ll"];
                    let outcome = folder.tally(&run);
                    assert_eq!(outcome.status, Some(expected), "{reference}, asks for `{asked}`, {run:?}: {outcome:?}");
                }
            }
        }
    }
}
