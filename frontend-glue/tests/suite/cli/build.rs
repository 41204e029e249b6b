//! `tally build`: executables that start, relocate cleanly and leave nothing half-made.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tally_kit::folder::Folder;
use tally_kit::tally_command::checked_tally;

const ECHO: &str = "#include <stdio.h>\nint main(int argc, char **argv) { puts(argv[argc - 1]); return argc; }\n";

#[test]
fn position_independent_by_default_without_text_relocations() {
    let folder = Folder::with(&[("echo.c", ECHO)]);
    for level in ["0", "1", "2", "3", "s"] {
        folder.build(&[&format!("-O{level}"), "echo.c"]);
        let outcome = folder.program(&[], &["a", "b"]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(3), "b\n"), "-O{level}");
        assert!(folder.inspect("readelf", &["-h"]).contains("DYN (Position-Independent Executable file)"));
        assert!(!folder.inspect("readelf", &["-d"]).contains("TEXTREL"));
    }
}

#[test]
fn a_fixed_address_on_request() {
    let folder = Folder::with(&[("echo.c", ECHO)]);
    folder.build(&["--no-pie", "echo.c"]);
    assert_eq!(folder.program(&[], &[]).status, Some(1));
    assert!(folder.inspect("readelf", &["-h"]).contains("EXEC (Executable file)"));
}

#[test]
fn thread_locals_of_an_executable() {
    let folder = Folder::with(&[("tls.c", "_Thread_local int count = 4; int main(void) { return ++count; }\n")]);
    folder.build(&["tls.c"]);
    assert_eq!(folder.program(&[], &[]).status, Some(5));
}

#[test]
fn a_failed_link_says_why_and_keeps_what_was_there() {
    let folder = Folder::with(&[
        ("calls.ll", "declare i32 @nowhere()\ndefine i32 @main() {\n  %x = call i32 @nowhere()\n  ret i32 %x\n}\n"),
        ("library.ll", "define i32 @f() {\n  ret i32 0\n}\n"),
        ("main.ll", "define i32 @main() {\n  ret i32 0\n}\n"),
        ("program", "old"),
    ]);
    let undefined = folder.tally(&["build", "calls.ll", "-o", "program"]);
    assert_eq!(undefined.status, Some(2));
    assert_eq!(
        undefined.stderr,
        "tally: cannot link program: undefined symbol: nowhere (in @main of calls.ll); name the .ll, .bc or .c file with the \
         definition, too, or the library by -l\n"
    );
    let twice = folder.tally(&["build", "main.ll", "main.ll", "-o", "program"]);
    assert!(twice.stderr.contains("duplicate symbol: main"), "{}", twice.stderr);
    assert!(twice.stderr.ends_with("tally: linking program failed\n"), "{}", twice.stderr);
    let without_main = folder.tally(&["build", "library.ll", "-o", "program"]);
    assert_eq!(without_main.stderr, "tally: no function `main` in library.ll; a program needs one\n");
    assert_eq!(std::fs::read_to_string(folder.path("program")).unwrap(), "old");
    assert_eq!(folder.names(), ["calls.ll", "library.ll", "main.ll", "program"]);
}

#[test]
fn a_missing_runtime_says_how_to_make_one() {
    let folder = Folder::with(&[("echo.c", ECHO)]);
    let outcome = folder.tally_with(&[("TALLY_RUNTIME", "/nowhere")], &["build", "echo.c", "-o", "program"]);
    assert_eq!(outcome.status, Some(2));
    assert!(outcome.stderr.contains("/nowhere/libtally.a"), "{}", outcome.stderr);
    for way in ["cargo xtask install --prefix DIR", "cargo build --release", "TALLY_RUNTIME"] {
        assert!(outcome.stderr.contains(way), "{way}: {}", outcome.stderr);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let folder = Folder::with(&[("echo.c", ECHO)]);
    std::fs::create_dir(folder.path("folder")).unwrap();
    for (output, expected) in [
        ("folder", "tally: folder: is a directory\n"),
        ("missing/program", "tally: missing/program: cannot be written: No such file or directory"),
        ("/dev/null", "tally: /dev/null: exists and is not a regular file\n"),
    ] {
        let outcome = folder.tally(&["build", "echo.c", "-o", output]);
        assert_eq!(outcome.status, Some(2));
        assert!(outcome.stderr.starts_with(expected), "{}", outcome.stderr);
    }
}

/// At twelve moments of its work, from the first to the last; what it leaves beside is hidden, and does no harm.
#[test]
fn a_command_that_is_killed_leaves_the_old_file_or_the_new_one() {
    let body: String = (0..300).map(|n| format!("int f{n}(int x) {{ return x * {n} + 1; }}\n")).collect();
    let folder = Folder::with(&[("big.c", &format!("{body}int main(void) {{ return f7(0); }}\n"))]);
    for (arguments, output) in [
        (&["lower", "big.c", "-o", "out.ll"][..], "out.ll"),
        (&["build", "big.c", "-o", "program"], "program"),
        (&["lower", "big.c", "-o", "out.bc"], "out.bc"),
    ] {
        let begun = Instant::now();
        let made = folder.tally(arguments);
        assert_eq!(made.status, Some(0), "{made:?}");
        let whole = begun.elapsed();
        let new = std::fs::read(folder.path(output)).unwrap();
        let (mut old_left, mut new_left) = (0, 0);
        for moment in 0..12 {
            std::fs::write(folder.path(output), "old").unwrap();
            let mut command = folder.command(Path::new("sh"));
            command.args(["-c", STOPPED_AT_FIRST]).arg(checked_tally()).args(arguments);
            kill_after(&mut command, whole * moment / 10);
            let left = std::fs::read(folder.path(output)).unwrap();
            old_left += u32::from(left == b"old");
            new_left += u32::from(left == new);
        }
        assert_eq!(old_left + new_left, 12, "{arguments:?}: a file that is neither");
        assert!(old_left > 0, "{arguments:?}: what never began has left the new file");
        let visible = folder.names().into_iter().filter(|name| !name.starts_with(".tally-"));
        assert!(visible.eq(["big.c", output].map(str::to_owned)), "{:?}", folder.names());
        std::fs::remove_file(folder.path(output)).unwrap();
    }
}

/// The same of the statistics that a program writes when it ends.
#[test]
fn a_program_that_is_killed_at_its_end_leaves_no_half_statistics() {
    let folder = Folder::with(&[("echo.c", ECHO)]);
    folder.build(&["echo.c"]);
    let run = || {
        let mut command = folder.command(Path::new("sh"));
        command.args(["-c", STOPPED_AT_FIRST]).arg(folder.path("program")).env("TALLY_STATS", "s.json");
        command
    };
    let begun = Instant::now();
    folder.program(&[("TALLY_STATS", "s.json")], &[]);
    let (whole, mut absent) = (begun.elapsed(), 0);
    for moment in 0..40 {
        let _ = std::fs::remove_file(folder.path("s.json"));
        kill_after(&mut run(), whole * moment / 32);
        match std::fs::read_to_string(folder.path("s.json")) {
            Ok(text) => {
                drop(serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
            }
            Err(_) => absent += 1,
        }
    }
    assert!(absent > 0, "what never began has left statistics");
}

/// Stops itself before it becomes the command: a process killed then has done nothing, however slow the machine is.
const STOPPED_AT_FIRST: &str = "kill -STOP $$; exec \"$0\" \"$@\"";

/// Starts such a command, lets it go on for that long, and kills it. After no time it is killed while it is stopped.
fn kill_after(command: &mut Command, time: Duration) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    if time > Duration::ZERO {
        let id = child.id().to_string();
        while !is_stopped(&id) {
            std::thread::yield_now();
        }
        assert!(Command::new("sh").args(["-c", "kill -CONT \"$0\"", &id]).status().unwrap().success());
        std::thread::sleep(time);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn is_stopped(id: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    status.rsplit(')').next().is_some_and(|fields| fields.trim_start().starts_with('T'))
}
