//! A machine that does not help: pipes and devices for files, sizes out of all proportion, no permission, no room.
//!
//! Tests run as root in many containers, where permissions do not bite. So the command is run as another user there,
//! and disks that are full or read-only are made in a mount namespace of its own. Where the machine allows neither, the
//! test says so and passes.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use tally_kit::tally_command::{checked_tally, tally_word};

use crate::cli::input_errors::check;
use tally_kit::folder::{Folder, Outcome};

const PROGRAM: &str = "define i32 @main() gc \"refcount\" {\n  ret i32 0\n}\n";

fn assert_refused(outcome: &Outcome, expected: &str) {
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains(expected), "`{expected}` expected: {outcome:?}");
    assert!(outcome.stderr.lines().count() <= 4, "{outcome:?}");
}

#[test]
fn pipes_and_devices_are_not_waited_for() {
    let folder = Folder::with(&[]);
    let made = Command::new("mkfifo").arg(folder.path("pipe.ll")).status().unwrap();
    assert!(made.success());
    check(&folder, "pipe.ll", "tally: pipe.ll: is not a regular file; write the program to a .ll, .bc or .c file");
    check(&folder, "/dev/zero", "tally: /dev/zero: is not a regular file");
    check(&folder, "/dev/null", "tally: /dev/null: is not a regular file");
}

#[test]
fn an_object_larger_than_memory_is_refused_in_words() {
    let text = format!("@large = constant [1900000000 x i8] zeroinitializer\n{PROGRAM}");
    let folder = Folder::with(&[("large.ll", &text)]);
    for command in ["run large.ll", "maps large.ll", "build large.ll -o program"] {
        let script = format!("ulimit -v 3000000; exec {} {command}", tally_word());
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{command}: {message}");
        assert!(message.contains("large.ll: not enough memory for the object code"), "{command}: {message}");
    }
}

/// LLVM's own allocator, C++'s and Rust's end differently, and which of them finds nothing depends on the limit.
#[test]
fn memory_that_runs_out_inside_llvm_is_told_with_the_limit() {
    let variables: String = (0..20_000).map(|number| format!("  %v{number} = alloca [4 x i64]\n")).collect();
    let calls: String = (0..20_000).map(|number| format!("  call void @use(ptr %v{number})\n")).collect();
    let text = format!("declare void @use(ptr)\n{}", PROGRAM.replace("  ret", &format!("{variables}{calls}  ret")));
    let folder = Folder::with(&[("heavy.ll", &text)]);
    let (mut told, mut in_time) = (0, false);
    for megabytes in [330, 360, 400, 450, 500, 600] {
        let script = format!("ulimit -v {}; exec {} maps heavy.ll", megabytes << 10, tally_word());
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        in_time |= output.status.success();
        if in_time {
            break;
        }
        // Below this not even the shared libraries fit.
        if message.contains("error while loading shared libraries") {
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{megabytes}: {message}");
        assert!(message.contains("tally: heavy.ll: "), "{megabytes}: {message}");
        assert!(message.contains("memory"), "{megabytes}: {message}");
        assert!(message.contains(&format!("(the process may take {megabytes} MiB: ulimit -v")), "{message}");
        told += 1;
    }
    assert!(told > 0, "nothing ran out");
}

#[test]
fn a_gigabyte_is_refused_at_once_and_not_read() {
    let folder = Folder::with(&[("a.ll", ""), ("a.c", ""), ("a.bc", ""), ("text.ll", PROGRAM)]);
    std::fs::write(folder.path("a.bc"), b"BC\xC0\xDE").unwrap();
    let sized = |name: &str| File::options().write(true).open(folder.path(name)).unwrap().set_len(1 << 30).unwrap();
    ["a.ll", "a.c", "a.bc", "text.ll"].iter().for_each(|name| sized(name));
    check(&folder, "a.ll", "tally: a.ll: is not text: byte 0 is zero");
    check(&folder, "a.c", "tally: a.c: is not text");
    check(&folder, "text.ll", "tally: text.ll: is not text: byte 49 is zero");
    check(&folder, "a.bc", "tally: a.bc: is larger than 512 MiB; split the module");
    // With a quarter of the file's size in memory to work with.
    let mut small = Command::new("sh");
    small.args(["-c", "ulimit -v 700000; exec \"$0\" verify a.bc", tally_word()]).current_dir(folder.path("."));
    assert_refused(&Outcome::of(small.output().unwrap()), "larger than 512 MiB");
}

/// scenario 199.
#[test]
fn typed_pointers_of_older_llvms_are_read_as_plain_ones() {
    let text = "%node = type { %node*, i32 }\n@list = global %node* null\n\
        declare void @llvm.gcroot(i8**, i8*)\ndeclare void @llvm.gcwrite(i8*, i8*, i8**)\n\
        define i32 @main(i32 %n, i8** %v) gc \"refcount\" {\n  %r = alloca i8*\n\
        call void @llvm.gcroot(i8** %r, i8* null)\n  store i8* null, i8** %r\n  %x = load i8*, i8** %r\n\
        %g = bitcast %node** @list to i8*\n  %s = bitcast %node** @list to i8**\n\
        call void @llvm.gcwrite(i8* %x, i8* bitcast (%node** @list to i8*), i8** bitcast (%node** @list to i8**))\n\
        ret i32 7\n}\n";
    let folder = Folder::with(&[("old.ll", text)]);
    let ran = folder.tally(&["run", "old.ll"]);
    assert_eq!(ran.status, Some(7), "{ran:?}");
    let Ok(made) = Command::new("llvm-as-14").arg(folder.path("old.ll")).arg("-o").arg(folder.path("old.bc")).status()
    else {
        return println!("skipped for bitcode: there is no llvm-as-14");
    };
    assert!(made.success());
    let ran = folder.tally(&["run", "old.bc"]);
    assert_eq!(ran.status, Some(7), "{ran:?}");
}

#[test]
fn a_full_disk_behind_standard_output_is_reported() {
    let folder = Folder::with(&[("a.ll", PROGRAM)]);
    for arguments in [&["lower", "a.ll", "-o", "-"][..], &["verify", "a.ll"], &["maps", "a.ll"]] {
        let mut command = folder.command(checked_tally());
        command.args(arguments).stdout(File::options().write(true).open("/dev/full").unwrap());
        let outcome =
            Outcome::of(command.stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap());
        assert_refused(&outcome, "tally: standard output cannot be written: No space left on device");
    }
}

/// Runs `script` in `folder` on a disk of its own, mounted with `options` at `disk/`; none if the machine forbids it.
fn on_a_disk(folder: &Folder, options: &str, script: &str) -> Option<Outcome> {
    std::fs::create_dir(folder.path("disk")).unwrap();
    let mount = format!("mount -t tmpfs -o {options} tmpfs disk || exit 99; {script}");
    let mut unshare = folder.command(Path::new("unshare"));
    unshare.args(["--mount", "--map-root-user", "sh", "-c", &mount, tally_word()]);
    let outcome = unshare.output().ok().map(Outcome::of).filter(|outcome| outcome.status != Some(99));
    let refused = outcome.as_ref().is_some_and(|outcome| outcome.stderr.starts_with("unshare:"));
    if outcome.is_none() || refused {
        println!("skipped: this machine does not let us mount a disk");
        return None;
    }
    outcome
}

#[test]
fn a_disk_without_room_keeps_what_was_there() {
    for (command, output) in [("lower", "out.bc"), ("lower", "out.ll"), ("build", "out.ll")] {
        let folder = Folder::with(&[("a.ll", PROGRAM)]);
        let script = format!(
            "echo old > disk/{output}; \"$0\" {command} a.ll -o disk/{output}; s=$?; cat disk/*; ls -A disk; exit $s"
        );
        let Some(outcome) = on_a_disk(&folder, "size=4k", &script) else { return };
        assert_eq!((outcome.status, outcome.stdout), (Some(2), format!("old\n{output}\n")), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("No space left on device"), "{}", outcome.stderr);
    }
}

#[test]
fn a_disk_that_is_read_only_is_named() {
    for (command, output) in [("lower", "out.ll"), ("build", "program")] {
        let folder = Folder::with(&[("a.ll", PROGRAM)]);
        let Some(outcome) = on_a_disk(&folder, "ro", &format!("\"$0\" {command} a.ll -o disk/{output}")) else {
            return;
        };
        assert_refused(&outcome, &format!("disk/{output}: cannot be written: Read-only file system"));
    }
}

#[test]
fn files_without_permission_are_named() {
    let folder = Folder::with(&[("secret.ll", PROGRAM), ("a.ll", PROGRAM)]);
    let set = |name: &str, mode| std::fs::set_permissions(folder.path(name), Permissions::from_mode(mode)).unwrap();
    std::fs::create_dir(folder.path("locked")).unwrap();
    set("secret.ll", 0o000);
    set("locked", 0o555);
    set(".", 0o755);
    let as_nobody = |arguments: &[&str]| {
        let mut command = folder.command(checked_tally());
        // SAFETY: asks for a number.
        if unsafe { libc::geteuid() } == 0 {
            command.uid(65534).gid(65534);
        }
        command.args(arguments).output().ok().map(Outcome::of)
    };
    let Some(outcome) = as_nobody(&["verify", "secret.ll"]) else {
        return println!("skipped: another user cannot run {}", tally_word());
    };
    assert_refused(&outcome, "tally: secret.ll: cannot be read: Permission denied");
    let outcome = as_nobody(&["lower", "a.ll", "-o", "locked/out.ll"]).unwrap();
    assert_refused(&outcome, "tally: locked/out.ll: cannot be written: Permission denied");
    assert_eq!(std::fs::read_dir(folder.path("locked")).unwrap().count(), 0);
}
