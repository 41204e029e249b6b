//! What `tally` says of a program on standard error: one line in a pipe, the line of the source where a person looks.

use tally_kit::folder::{Folder, Outcome};

const WRITE: &str = "\
define void @f(ptr %value, ptr %slot) gc \"refcount\" !dbg !3 {
  call void @llvm.gcwrite(ptr %value, ptr null, ptr %slot), !dbg !5
  ret void
}
declare void @llvm.gcwrite(ptr, ptr, ptr)
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: \"f.src\", directory: \"FOLDER\")
!2 = !{i32 2, !\"Debug Info Version\", i32 3}
!3 = distinct !DISubprogram(name: \"f\", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 2, column: 3, scope: !3)
";

/// A frontend's source, and the module made of it, which names it from its own folder.
fn folder_with_write() -> Folder {
    let folder = Folder::with(&[("f.src", "procedure f\n  nil.slot := value\n")]);
    std::fs::create_dir(folder.path("made")).unwrap();
    let place = folder.path("").to_str().unwrap().to_owned();
    std::fs::write(folder.path("made/f.ll"), WRITE.replace("FOLDER", &place)).unwrap();
    folder
}

const SHOWN: &str = "\
error: in @f: gcwrite with a null object
   ,-[ f.src:2:3 ]
   |
 2 |   nil.slot := value
   |   ^|^
   |    `--- here
   |
   | Help: name the object that the slot lies in; for a slot in a global variable, the global
---'
";

#[test]
fn a_pipe_gets_one_line_for_each_finding() {
    let folder = folder_with_write();
    let line = "f.src:2: in @f: gcwrite with a null object; name the object that the slot lies in; for a slot in a global variable, the global\n";
    for options in [&[][..], &["--diagnostics=short", "--color=always"], &["--color=never"]] {
        let outcome = folder.tally(&[&["run", "made/f.ll"], options].concat());
        assert_eq!((outcome.status, outcome.stderr), (Some(2), format!("tally: {line}")), "{options:?}");
    }
}

#[test]
fn every_subcommand_shows_the_source_if_it_is_asked_to() {
    let folder = folder_with_write();
    let commands: [&[&str]; 5] = [
        &["verify", "made/f.ll"],
        &["run", "made/f.ll"],
        &["build", "made/f.ll", "-o", "f"],
        &["lower", "made/f.ll", "-o", "-"],
        &["maps", "made/f.ll"],
    ];
    for command in commands {
        let Outcome { status, stderr, .. } = folder.tally(&[command, &["--diagnostics=full"]].concat());
        let last = if command[0] == "verify" { "tally: made/f.ll: 1 error\n" } else { "tally: 1 error\n" };
        assert_eq!((status, stderr), (Some(2), format!("{SHOWN}{last}")), "{command:?}");
    }
}

#[test]
fn colours_come_with_the_source() {
    let folder = folder_with_write();
    let colored = folder.tally(&["verify", "made/f.ll", "--color=always"]).stderr;
    assert!(colored.contains("\x1b[31merror\x1b[0m: in @f") && colored.contains("here"), "{colored}");
    let plain = folder.tally(&["verify", "made/f.ll", "--color=never", "--diagnostics=full"]).stderr;
    assert!(plain.starts_with(SHOWN), "{plain}");
}

/// `script` gives the command a terminal.
#[test]
fn a_terminal_gets_the_source_unless_its_user_wants_no_colours() {
    let folder = folder_with_write();
    let verify = |variables: &str| {
        let line = format!("{variables} {} verify made/f.ll", env!("CARGO_BIN_EXE_tally"));
        folder.run("script", &["-qec", &line, "/dev/null"]).stdout
    };
    let shown = verify("NO_COLOR= TERM=xterm");
    assert!(shown.contains("\x1b[31merror\x1b[0m: in @f") && shown.contains(" f.src:2:3 "), "{shown}");
    for plain in ["NO_COLOR=1 TERM=xterm", "NO_COLOR= TERM=dumb"].map(verify) {
        assert!(plain.starts_with("error: f.src:2: in @f: gcwrite with a null object; name the object"), "{plain}");
    }
}

#[test]
fn warnings_about_c_show_the_line() {
    let text = include_str!("../../../../examples/wrong/forgotten_root.c");
    let folder = Folder::with(&[("forget.c", text)]);
    let verified = folder.tally(&["verify", "forget.c", "--diagnostics=full"]);
    assert_eq!(verified.status, Some(0), "{verified:?}");
    let line = "22 |     first->value = value;";
    assert!(verified.stderr.contains(line) && verified.stderr.contains("-[ forget.c:22:"), "{}", verified.stderr);
    let lowered = folder.tally(&["build", "--diagnostics=full", "forget.c", "-o", "forget"]).stderr;
    assert!(lowered.starts_with("warning: in @link_pair: ") && lowered.contains(line), "{lowered}");
    assert!(lowered.contains("Note: `tally verify forget.c` says what to do"), "{lowered}");
    let short = folder.tally(&["build", "forget.c", "-o", "forget"]).stderr;
    assert!(short.starts_with("tally: warning: forget.c:22: in @link_pair: "), "{short}");
}
