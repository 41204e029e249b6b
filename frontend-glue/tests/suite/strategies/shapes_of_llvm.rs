//! Modules of the shapes that LLVM's own tests of garbage collection have (`CodeGen/*/GC`, `Verifier/gc*`,
//! `RewriteStatepointsForGC`, `PlaceSafepoints`): which are taken, and what is said about the others.

use tally_kit::folder::Folder;

/// A shape: its name, the module, and what `tally verify` says of it, if it is refused.
type Shape = (&'static str, &'static str, Option<&'static str>);

const GCROOT: [Shape; 13] = [
    (
        "a root of a parameter's value",
        "define void @f(ptr %p) gc \"ocaml\" {
        %r = alloca ptr
        call void @llvm.gcroot(ptr %r, ptr null)
        store ptr %p, ptr %r
        call void @tally_collect()
        ret void }",
        None,
    ),
    (
        "a root in a block behind the entry",
        "define void @f(ptr %p) gc \"erlang\" {
        br label %next
      next:
        %r = alloca ptr
        call void @llvm.gcroot(ptr %r, ptr null)
        ret void }",
        None,
    ),
    (
        "a root that is stored to twice at once",
        "define void @f() gc \"shadow-stack\" {
        %r = alloca ptr
        call void @llvm.gcroot(ptr %r, ptr null)
        store ptr null, ptr %r
        store ptr null, ptr %r
        ret void }",
        None,
    ),
    (
        "more arguments than registers",
        "define void @f(ptr %a, ptr %b, ptr %c, ptr %d, ptr %e, ptr %f, ptr %g) gc \"erlang\" {
        %r = alloca ptr
        call void @llvm.gcroot(ptr %r, ptr null)
        store ptr %g, ptr %r
        call void @tally_collect()
        ret void }",
        None,
    ),
    (
        "a frame of dynamic size",
        "define void @f(i32 %n) gc \"ocaml\" {
        %r = alloca ptr
        call void @llvm.gcroot(ptr %r, ptr null)
        %d = alloca i8, i32 %n
        call void @llvm.assume(i1 true)
        ret void }
      declare void @llvm.assume(i1)",
        None,
    ),
    (
        "a read and a write by the intrinsics",
        "define ptr @f(ptr %o, ptr %s, ptr %v) gc \"ocaml\" {
        call void @llvm.gcwrite(ptr %v, ptr %o, ptr %s)
        %x = call ptr @llvm.gcread(ptr %o, ptr %s)
        ret ptr %x }",
        None,
    ),
    (
        "an unknown strategy",
        "define void @f() gc \"mycollector\" { ret void }",
        Some("map it with --gc-name mycollector="),
    ),
    (
        "a root in a function without a strategy",
        "define void @f() {
        %r = alloca ptr
        call void @llvm.gcroot(ptr %r, ptr null)
        ret void }",
        Some("without a gc strategy"),
    ),
    (
        "a root that is no alloca",
        "@g = global ptr null
      define void @f() gc \"ocaml\" {
        call void @llvm.gcroot(ptr @g, ptr null)
        ret void }",
        Some("gcroot"),
    ),
    (
        "a root that is no pointer, without metadata",
        "define void @f() gc \"ocaml\" {
        %r = alloca i64
        call void @llvm.gcroot(ptr %r, ptr null)
        ret void }",
        Some("gcroot"),
    ),
    (
        "metadata that is no constant",
        "define void @f(ptr %m) gc \"ocaml\" {
        %r = alloca ptr
        call void @llvm.gcroot(ptr %r, ptr %m)
        ret void }",
        Some("gcroot"),
    ),
    (
        "a read of another type",
        "declare i32 @llvm.gcread(ptr, ptr)
      define void @f() gc \"ocaml\" { ret void }",
        Some("gcread"),
    ),
    (
        "two strategies of one module",
        "define void @f() gc \"trace\" { ret void }
      define void @g() gc \"shadow-stack\" { ret void }",
        Some("one module has one strategy"),
    ),
];

const STATEPOINTS: [Shape; 9] = [
    (
        "a call",
        "define ptr addrspace(1) @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        call void @llvm_gc_collect()
        ret ptr addrspace(1) %p }",
        None,
    ),
    (
        "a call by a pointer",
        "define i64 @f(ptr %code, ptr addrspace(1) %p) gc \"coreclr\" {
        %r = call i64 %code(ptr addrspace(1) %p)
        %x = load i64, ptr addrspace(1) %p
        %s = add i64 %r, %x
        ret i64 %s }",
        None,
    ),
    (
        "deoptimisation state",
        "define void @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        call void @llvm_gc_collect() [ \"deopt\"(i32 7, ptr addrspace(1) %p) ]
        ret void }",
        None,
    ),
    (
        "a transition",
        "define void @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        call void @llvm_gc_collect() [ \"gc-transition\"(i32 0) ]
        %x = load volatile i64, ptr addrspace(1) %p
        ret void }",
        None,
    ),
    (
        "a base by phi and select",
        "define i64 @f(ptr addrspace(1) %a, ptr addrspace(1) %b, i1 %c, i1 %d) gc \"statepoint-example\" {
        br i1 %c, label %left, label %right
      left:
        %in.a = getelementptr i64, ptr addrspace(1) %a, i64 1
        br label %join
      right:
        %in.b = getelementptr i64, ptr addrspace(1) %b, i64 2
        br label %join
      join:
        %p = phi ptr addrspace(1) [ %in.a, %left ], [ %in.b, %right ]
        %q = select i1 %d, ptr addrspace(1) %p, ptr addrspace(1) %a
        call void @llvm_gc_collect()
        %x = load i64, ptr addrspace(1) %q
        ret i64 %x }",
        None,
    ),
    (
        "a leaf",
        "declare void @leaf() \"gc-leaf-function\"
      define void @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        call void @leaf()
        call void @llvm_gc_collect()
        %x = load volatile i64, ptr addrspace(1) %p
        ret void }",
        None,
    ),
    (
        "an id and bytes to patch",
        "define void @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        call void @llvm_gc_collect() \"statepoint-id\"=\"77\" \"statepoint-num-patch-bytes\"=\"0\"
        %x = load volatile i64, ptr addrspace(1) %p
        ret void }",
        None,
    ),
    (
        "an atomic access",
        "define void @f(ptr addrspace(1) %p, ptr addrspace(1) %q) gc \"statepoint-example\" {
        call void @llvm_gc_collect()
        %old = atomicrmw xchg ptr addrspace(1) %p, ptr addrspace(1) %q seq_cst
        ret void }",
        None,
    ),
    (
        "a strategy without statepoints, whose roots Tally infers",
        "define i64 @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        %x = load i64, ptr addrspace(1) %p
        ret i64 %x }",
        None,
    ),
];

const DECLARATIONS: &str = "declare void @llvm.gcroot(ptr, ptr)\ndeclare void @llvm.gcwrite(ptr, ptr, ptr)\n\
    declare ptr @llvm.gcread(ptr, ptr)\ndeclare void @tally_collect()\n";

/// As frontends write it, without statepoints: roots are inferred.
const WITHOUT_STATEPOINTS: [Shape; 10] = [
    (
        "deoptimisation state",
        "define i64 @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        call void @llvm_gc_collect() [ \"deopt\"(i32 7, ptr addrspace(1) %p, double 2.5) ]
        %x = load i64, ptr addrspace(1) %p
        ret i64 %x }",
        None,
    ),
    (
        "landing pads that are tokens, of two calls",
        "declare i32 @__gcc_personality_v0(...)
      define i64 @f(ptr addrspace(1) %p) gc \"coreclr\" personality ptr @__gcc_personality_v0 {
        invoke void @llvm_gc_collect() to label %once unwind label %thrown
      once:
        %o = invoke ptr addrspace(1) @made() to label %twice unwind label %thrown
      twice:
        %x = load i64, ptr addrspace(1) %o
        ret i64 %x
      thrown:
        %pad = landingpad token cleanup
        %y = load i64, ptr addrspace(1) %p
        ret i64 %y }",
        None,
    ),
    (
        "a layout whose references are non-integral",
        "target datalayout = \"e-m:e-i64:64-f80:128-n8:16:32:64-S128-ni:1\"
      define ptr addrspace(1) @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        call void @llvm_gc_collect()
        ret ptr addrspace(1) %p }",
        None,
    ),
    (
        "a layout of another machine",
        "target datalayout = \"e-p:32:32\"
      define void @f() gc \"statepoint-example\" { ret void }",
        Some("says \"p:32:32\""),
    ),
    (
        "base and offset of a pointer",
        "declare ptr addrspace(1) @llvm.experimental.gc.get.pointer.base.p1.p1(ptr addrspace(1))
      declare i64 @llvm.experimental.gc.get.pointer.offset.p1(ptr addrspace(1))
      define i64 @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        %q = getelementptr i8, ptr addrspace(1) %p, i64 8
        %b = call ptr addrspace(1) @llvm.experimental.gc.get.pointer.base.p1.p1(ptr addrspace(1) %q)
        %o = call i64 @llvm.experimental.gc.get.pointer.offset.p1(ptr addrspace(1) %q)
        call void @llvm_gc_collect()
        %x = load i64, ptr addrspace(1) %b
        %s = add i64 %x, %o
        ret i64 %s }",
        None,
    ),
    (
        "a vector of references",
        "define <2 x ptr addrspace(1)> @f(<2 x ptr addrspace(1)> %p) gc \"statepoint-example\" {
        call void @llvm_gc_collect()
        ret <2 x ptr addrspace(1)> %p }",
        None,
    ),
    (
        "a vector of references within an aggregate",
        "define i64 @f({ i64, <2 x ptr addrspace(1)> } %p) gc \"statepoint-example\" {
        call void @llvm_gc_collect()
        %n = extractvalue { i64, <2 x ptr addrspace(1)> } %p, 0
        ret i64 %n }",
        Some("a vector of references"),
    ),
    (
        "a vector of references beside a variable that holds one",
        "define <2 x ptr addrspace(1)> @f(<2 x ptr addrspace(1)> %p, ptr addrspace(1) %q) gc \"statepoint-example\" {
        %v = alloca ptr addrspace(1)
        store ptr addrspace(1) %q, ptr %v
        call void @llvm_gc_collect()
        ret <2 x ptr addrspace(1)> %p }",
        Some("a vector of references"),
    ),
    (
        "code that is left for an interpreter",
        "declare i64 @llvm.experimental.deoptimize.i64(...)
      define i64 @f(ptr addrspace(1) %p) gc \"statepoint-example\" {
        %x = call i64 (...) @llvm.experimental.deoptimize.i64(i32 3) [ \"deopt\"(ptr addrspace(1) %p) ]
        ret i64 %x }",
        None,
    ),
    (
        "atomic and volatile stores into an object, which has no barrier",
        "define void @f(ptr addrspace(1) %p, ptr addrspace(1) %q) gc \"statepoint-example\" {
        store atomic ptr addrspace(1) %q, ptr addrspace(1) %p release, align 8
        store volatile ptr addrspace(1) %q, ptr addrspace(1) %p
        %old = atomicrmw xchg ptr addrspace(1) %p, ptr addrspace(1) %q seq_cst
        call void @llvm_gc_collect()
        ret void }",
        None,
    ),
];

/// What makes objects of Tally's heap, so that the module is Tally's business.
fn allocating(gc: &str, space: &str) -> String {
    format!(
        "declare ptr {space} @llvm_gc_allocate(i32)\ndeclare void @llvm_gc_collect()\n\
         define ptr {space} @made() gc \"{gc}\" {{\n  %o = call ptr {space} @llvm_gc_allocate(i32 8)\n  ret ptr {space} %o\n}}\n"
    )
}

fn check(name: &str, folder: &Folder, refused: Option<&str>) {
    let outcome = folder.tally(&["verify", "module.ll"]);
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    match refused {
        None => {
            assert_eq!(outcome.status, Some(0), "{name}: {said}");
            let lowered = folder.tally(&["lower", "module.ll", "-o", "lowered.bc"]);
            assert_eq!(lowered.status, Some(0), "{name}: {}", lowered.stderr);
        }
        Some(message) => {
            assert_eq!(outcome.status, Some(2), "{name}: {said}");
            assert!(said.contains(message), "{name}: {said}");
        }
    }
}

#[test]
fn roots_and_barriers() {
    for (name, module, refused) in GCROOT {
        let strategy = ["shadow-stack", "erlang"].into_iter().find(|gc| module.contains(gc)).unwrap_or("ocaml");
        let has_own = ["@llvm.gcread(ptr, ptr)\n", "mycollector"].iter().any(|own| module.contains(own));
        let declarations = if has_own { String::new() } else { DECLARATIONS.to_owned() };
        let made = if strategy == "shadow-stack" { String::new() } else { allocating(strategy, "") };
        let folder = Folder::with(&[("module.ll", &format!("{declarations}{made}{module}\n"))]);
        check(name, &folder, refused);
    }
}

#[test]
fn statepoints() {
    for (name, module, refused) in STATEPOINTS {
        let strategy = if module.contains("coreclr") { "coreclr" } else { "statepoint-example" };
        let source = format!("{}{module}\n", allocating(strategy, "addrspace(1)"));
        let folder = Folder::with(&[("source.ll", &source), ("module.ll", &source)]);
        if refused.is_none() {
            super::stock::tool(
                &folder,
                "opt-22",
                &["-passes=rewrite-statepoints-for-gc", "-S", "source.ll", "-o", "module.ll"],
            );
        }
        check(name, &folder, refused);
    }
}

#[test]
fn modules_without_statepoints() {
    for (name, module, refused) in WITHOUT_STATEPOINTS {
        let strategy = if module.contains("coreclr") { "coreclr" } else { "statepoint-example" };
        let made = allocating(strategy, "addrspace(1)");
        let folder = Folder::with(&[("module.ll", &format!("{module}\n{made}"))]);
        check(name, &folder, refused);
    }
}
