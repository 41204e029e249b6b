//! A host in Rust: its functions between managed frames, its panics through them, its modules that come and go.

use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

use crate::boundaries::program::{options, plan};
use tally_compiled::abi::{tally_collect, thread_heap};
use tally_llvm::jit::{ModuleHandle, Session, SessionError};
use tally_llvm::lower::Plan;
use tally_llvm::pipeline::CompileOptions;

/// A list node, and `push` as in the README. `NAME` makes a module's symbols its own.
const NODE: &str = r#"
%tally_type = type { i32, i32, i64, i32, i32, i64, i64, i64, i32, i32, ptr, i64, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@name = private constant [5 x i8] c"Node\00"
@refs = private constant [1 x i32] [i32 0]
@node = private constant %tally_type { i32 1, i32 0, i64 16, i32 0, i32 0, i64 0, i64 0, i64 0, i32 1, i32 0, ptr @refs,
                                       i64 0, i64 0, ptr null, ptr @name, ptr null, ptr null, ptr null, ptr null }
declare void @llvm.gcroot(ptr, ptr)
declare void @llvm.gcwrite(ptr, ptr, ptr)
declare ptr @tally_new(ptr)
declare void @tally_collect()
define ptr @push.NAME(ptr %list, i64 %value) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr %list, ptr %root
  %node = call ptr @tally_new(ptr @node)
  %field = getelementptr i8, ptr %node, i64 8
  store i64 %value, ptr %field
  call void @llvm.gcwrite(ptr %list, ptr %node, ptr %node)
  ret ptr %node
}
define i64 @value.NAME(ptr %node) "gc-leaf-function" {
  %field = getelementptr i8, ptr %node, i64 8
  %value = load i64, ptr %field
  ret i64 %value
}
"#;

/// `through(depth, host)`: roots a node, lets the host go on, reads the node.
const THROUGH: &str = r#"
declare void @host_goes_on(i64, ptr)
define i64 @through.NAME(i64 %depth, ptr %host) gc "refcount" {
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr null, ptr %root
  %node = call ptr @push.NAME(ptr null, i64 %depth)
  store ptr %node, ptr %root
  call void @host_goes_on(i64 %depth, ptr %host)
  %kept = load ptr, ptr %root
  %value = call i64 @value.NAME(ptr %kept)
  ret i64 %value
}
"#;

type Through = unsafe extern "C-unwind" fn(u64, *mut Host) -> u64;

/// What travels down the stack as `%host`.
struct Host {
    session: Session,
    through: Option<Through>,
    at: fn(u64, &mut Host),
    /// Modules that somebody tries to remove.
    removed: Vec<ModuleHandle>,
}

unsafe extern "C-unwind" fn host_goes_on(depth: u64, host: *mut Host) {
    // SAFETY: the test that called `through` passed it, and uses it by this pointer only.
    let host = unsafe { &mut *host };
    (host.at)(depth, host);
}

impl Host {
    fn new(at: fn(u64, &mut Host)) -> Host {
        // Each frame is to hold an object of the heap, though nothing else sees it.
        let options = CompileOptions { stack_objects: false, ..options() };
        let mut session = Session::new(options).unwrap();
        session.define("host_goes_on", host_goes_on as *const ()).unwrap();
        Host { session, through: None, at, removed: Vec::new() }
    }

    fn add(&mut self, name: &str, text: &str) -> ModuleHandle {
        // SAFETY: the suite's own modules.
        unsafe { self.session.add(name, text.replace("NAME", name).as_bytes()) }
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn with_through(at: fn(u64, &mut Host)) -> Host {
        let mut host = Host::new(at);
        host.add("m", &format!("{NODE}{THROUGH}"));
        let address = host.session.lookup("through.m").unwrap();
        // SAFETY: the module defines it with that type, and stays.
        host.through = Some(unsafe { std::mem::transmute::<u64, Through>(address) });
        host
    }

    /// Managed code, which comes back in `at`.
    fn call(&mut self, depth: u64) -> u64 {
        let through = self.through.unwrap();
        // SAFETY: compiled with that type; `self` outlives the call.
        unsafe { through(depth, self) }
    }
}

/// Collects, and says how many objects are left in this thread's heap.
fn live_objects() -> u64 {
    // SAFETY: no arguments; what this thread's frames need is in roots.
    unsafe { tally_collect() };
    // SAFETY: [ALONE] borrowed for this statement alone.
    unsafe { thread_heap() }.statistics.live_objects
}

/// A thread with room for deep stacks, and a heap of its own.
fn on_a_deep_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 << 20).spawn(test).unwrap().join().unwrap();
}

/// scenario 179.
#[test]
fn managed_and_native_frames_alternate_ten_thousand_deep() {
    on_a_deep_stack(|| {
        let mut host = Host::with_through(|depth, host| {
            if depth % 1000 == 0 {
                assert_eq!(live_objects(), 10_001 - depth);
            }
            if depth > 0 {
                assert_eq!(host.call(depth - 1), depth - 1);
            }
            if depth % 1000 == 500 {
                assert_eq!(live_objects(), 10_001 - depth);
            }
        });
        assert_eq!(host.call(10_000), 10_000);
        assert_eq!(live_objects(), 0);
    });
}

#[test]
fn panics_unwind_managed_frames_and_their_roots_are_gone() {
    on_a_deep_stack(|| {
        let mut host = Host::with_through(|depth, host| match depth % 100 {
            0 => panic_any(depth),
            50 => {
                let caught = catch_unwind(AssertUnwindSafe(|| host.call(depth - 1))).unwrap_err();
                assert_eq!(caught.downcast_ref::<u64>(), Some(&(depth - 50)));
                assert_eq!(live_objects(), 50, "the frames of this side of the panic");
            }
            _ => _ = host.call(depth - 1),
        });
        for round in 1..20 {
            assert_eq!(host.call(round * 100 - 1), round * 100 - 1);
            assert_eq!(live_objects(), 0);
        }
        let caught = catch_unwind(AssertUnwindSafe(|| host.call(40))).unwrap_err();
        assert_eq!(caught.downcast_ref::<u64>(), Some(&0));
        assert_eq!(live_objects(), 0);
    });
}

/// A module for a while: a list of 50 nodes of its own type, kept across a collection by a global and a root.
const VISITOR: &str = r#"
@kept = global ptr null
define i64 @visit.NAME() gc "refcount" {
entry:
  %root = alloca ptr
  call void @llvm.gcroot(ptr %root, ptr null)
  store ptr null, ptr %root
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %list = load ptr, ptr %root
  %longer = call ptr @push.NAME(ptr %list, i64 %i)
  store ptr %longer, ptr %root
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 50
  br i1 %more, label %loop, label %done
done:
  %global = load ptr, ptr %root
  call void @llvm.gcwrite(ptr %global, ptr @kept, ptr @kept)
  call void @tally_collect()
  %kept = load ptr, ptr %root
  %value = call i64 @value.NAME(ptr %kept)
  ret i64 %value
}
"#;

/// scenario 194.
#[test]
fn two_hundred_modules_come_and_go_below_frames_with_roots() {
    on_a_deep_stack(|| {
        let mut host = Host::with_through(|depth, host| {
            if depth > 0 {
                assert_eq!(host.call(depth - 1), depth - 1);
                return;
            }
            let (mut addresses, mut other) = (HashSet::new(), None);
            for number in 0..200 {
                let name = format!("visitor{number}");
                let text = format!("{NODE}{VISITOR}").replace("@kept", "@kept.NAME");
                let module = host.add(&name, &text);
                let address = host.session.lookup(&format!("visit.{name}")).unwrap();
                addresses.insert(address);
                // SAFETY: the module defines it with that type.
                let visit = unsafe { std::mem::transmute::<u64, unsafe extern "C-unwind" fn() -> u64>(address) };
                // SAFETY: the module defines it with that type.
                assert_eq!(unsafe { visit() }, 49);
                let of_other = if other.is_some() { 50 } else { 0 };
                assert_eq!(live_objects(), 11 + 50 + of_other, "ten frames below, the list in the global");
                // Every other module stays while the next one comes and goes.
                match other.take() {
                    None if number % 2 == 0 => other = Some(module),
                    kept => {
                        for gone in kept.into_iter().chain([module]) {
                            // SAFETY: its only function has returned.
                            unsafe { host.session.remove(gone).unwrap() };
                        }
                        assert_eq!(live_objects(), 11);
                    }
                }
                // SAFETY: refused before anything is done.
                let again = if other.is_none() { unsafe { host.session.remove(module) } } else { continue };
                assert!(matches!(again, Err(SessionError::NotLoaded)));
                assert_eq!(host.session.lookup(&format!("visit.{name}")), None);
            }
            assert!(addresses.len() < 100, "addresses are used again: {}", addresses.len());
        });
        assert_eq!(host.call(10), 10);
        assert_eq!(live_objects(), 0);
    });
}

/// The numbers of objects that were destroyed, on the thread that destroyed them.
extern "C" fn destroyed(number: u64) {
    DESTROYED.with_borrow_mut(|all| all.push(number));
}

thread_local!(static DESTROYED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) });

/// Types have destructors under the prompt plan only; here it is a function of the module, as are the globals.
#[test]
fn what_only_the_globals_of_a_module_hold_is_destroyed_before_its_code_is_gone() {
    if plan() == Plan::Deferred {
        return;
    }
    on_a_deep_stack(|| {
        let mut host = Host::with_through(|depth, host| {
            if depth > 0 {
                assert_eq!(host.call(depth - 1), depth - 1);
                return;
            }
            host.session.define("destroyed", destroyed as *const ()).unwrap();
            let destructor = "declare void @destroyed(i64)\ndefine void @die.NAME(ptr %object) {\n  \
                %value = call i64 @value.NAME(ptr %object)\n  call void @destroyed(i64 %value)\n  ret void\n}\n";
            for number in 0..20 {
                let name = format!("mortal{number}");
                let text = format!("{NODE}{VISITOR}{destructor}").replace("@kept", "@kept.NAME");
                let text = text.replace("ptr @name, ptr null,", "ptr @name, ptr @die.NAME,");
                let module = host.add(&name, &text);
                let address = host.session.lookup(&format!("visit.{name}")).unwrap();
                // SAFETY: the module defines it with that type.
                let visit = unsafe { std::mem::transmute::<u64, unsafe extern "C-unwind" fn() -> u64>(address) };
                // SAFETY: the module defines it with that type.
                assert_eq!(unsafe { visit() }, 49);
                assert_eq!(live_objects(), 4 + 50, "the frames below, and the list in the global");
                // SAFETY: its only function has returned.
                unsafe { host.session.remove(module).unwrap() };
                assert_eq!(DESTROYED.take(), (0..50).rev().collect::<Vec<_>>());
                assert_eq!(live_objects(), 4);
            }
        });
        assert_eq!(host.call(3), 3);
        assert_eq!(live_objects(), 0);
    });
}

#[test]
fn module_that_is_refused_leaves_the_session_as_it_was() {
    let mut host = Host::with_through(|_, _| {});
    let refused = |host: &mut Host, text: &str| {
        // SAFETY: refused.
        unsafe { host.session.add("wrong", text.as_bytes()) }.unwrap_err().to_string()
    };
    assert!(refused(&mut host, "define i32 @f() {\n  ret i32 %x\n}\n").starts_with("wrong:2:11: error"));
    let bare = "declare void @llvm.gcroot(ptr, ptr)\ndefine void @f() {\n  %r = alloca ptr\n  call void @llvm.gcroot(ptr %r, ptr null)\n  ret void\n}\n";
    assert!(refused(&mut host, bare).contains("add gc \"refcount\""));
    let unresolved = "declare void @nowhere()\ndefine void @f() {\n  call void @nowhere()\n  ret void\n}\n";
    assert_eq!(refused(&mut host, unresolved), "cannot link wrong: undefined symbol: nowhere");
    let twice = "define i64 @through.m() {\n  ret i64 1\n}\n";
    assert_eq!(refused(&mut host, twice), "cannot link wrong: symbol defined twice: through.m");
    host.add("right", &unresolved.replace("@nowhere", "@llvm.donothing"));
    assert_ne!(host.session.lookup("f"), None);
    assert_eq!(host.call(5), 5);
}

/// scenario 160.
#[test]
fn one_session_serves_threads_with_a_heap_each() {
    let mut host = Host::with_through(|depth, _| {
        assert_eq!(live_objects(), depth);
    });
    host.add("list", NODE);
    let push = host.session.lookup("push.list").unwrap();
    let through = host.through.unwrap();
    let threads: Vec<_> = (0..4u64)
        .map(|thread| {
            std::thread::spawn(move || {
                // SAFETY: the module defines it with that type.
                let push = unsafe { std::mem::transmute::<u64, unsafe extern "C-unwind" fn(u64, u64) -> u64>(push) };
                let mut other = Host {
                    session: Session::new(options()).unwrap(),
                    ..Host::new(|depth, _| {
                        assert_eq!(live_objects(), 1, "{depth}");
                    })
                };
                for round in 0..2000 {
                    // SAFETY: the module defines it with that type; the result is not needed after the next call.
                    unsafe { push(0, round) };
                }
                // SAFETY: compiled with that type; `other` outlives the call.
                assert_eq!(unsafe { through(thread, &mut other) }, thread);
                live_objects()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 0);
    }
}

#[test]
fn module_that_is_on_the_stack_is_not_removed() {
    on_a_deep_stack(|| {
        let mut host = Host::new(|depth, host| {
            if depth % 200 == 0 {
                let visitor = host.add("visitor", NODE);
                // SAFETY: nothing calls it.
                unsafe { host.session.remove(visitor).unwrap() };
            }
            for module in host.removed.clone() {
                // SAFETY: refused, as the module's frames are on this stack.
                let refused = unsafe { host.session.remove(module) }.unwrap_err();
                assert!(matches!(refused, SessionError::Active { .. }), "{refused}");
                let name = refused.to_string();
                assert!(name.contains(" cannot be removed: its function `through."), "{refused}");
            }
            if depth > 0 {
                assert_eq!(host.call(depth - 1), depth - 1);
            }
            assert_eq!(live_objects(), 1001 - depth);
        });
        let inner = host.add("m", &format!("{NODE}{THROUGH}"));
        let outer = host.add("outer", &format!("{NODE}{THROUGH}"));
        let mut enter = |symbol: &str| {
            let address = host.session.lookup(symbol).unwrap();
            // SAFETY: the module defines it with that type, and stays while it is called.
            host.through = Some(unsafe { std::mem::transmute::<u64, Through>(address) });
            host.removed = match symbol {
                "through.m" => vec![inner],
                _ => vec![outer],
            };
            assert_eq!(host.call(1000), 1000);
        };
        enter("through.m");
        enter("through.outer");
        for module in [inner, outer] {
            // SAFETY: its functions have returned.
            unsafe { host.session.remove(module).unwrap() };
        }
    });
}

#[test]
fn session_that_is_dropped_by_code_of_its_own_leaves_that_code() {
    on_a_deep_stack(|| {
        let mut host = Host::with_through(|depth, host| {
            if depth > 0 {
                assert_eq!(host.call(depth - 1), depth - 1);
            } else {
                host.session = Session::new(options()).unwrap();
                // Frames of the dropped session are still walked.
                assert_eq!(live_objects(), 101);
            }
        });
        host.add("list", NODE);
        assert_eq!(host.call(100), 100);
        assert_eq!(live_objects(), 0);
        assert_eq!(host.session.lookup("through.m"), None);
    });
}

#[test]
fn module_of_another_session_is_not_removed() {
    let [mut host, mut other] = [(); 2].map(|()| Host::new(|_, _| {}));
    let [module, others] = [&mut host, &mut other].map(|host| host.add("list", NODE));
    assert_ne!(module, others);
    // SAFETY: refused.
    let refused = unsafe { other.session.remove(module) }.unwrap_err();
    assert!(matches!(refused, SessionError::NotLoaded), "{refused}");
    assert!(other.session.lookup("push.list").is_some());
    for (mut host, module) in [(host, module), (other, others)] {
        // SAFETY: nothing calls it.
        unsafe { host.session.remove(module) }.unwrap();
        assert_eq!(host.session.lookup("push.list"), None);
    }
}

/// Offsets of the host's, which the compiler cannot see: the field lies outside the object.
static WRONG_REFS: [u32; 1] = [16];

#[test]
fn module_with_a_type_that_the_host_describes_wrongly_is_refused() {
    let mut host = Host::with_through(|_, _| {});
    host.session.define("offsets", (&raw const WRONG_REFS).cast()).unwrap();
    let text = NODE.replace("@refs = private constant [1 x i32] [i32 0]", "@refs = external constant [1 x i32]");
    let text = text.replace("@refs", "@offsets").replace("NAME", "user");
    let text = text
        + r#"
@ran = global i32 0
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @run, ptr null }]
define void @run() {
  call void @host_goes_on(i64 99, ptr null)
  ret void
}
declare void @host_goes_on(i64, ptr)
"#;
    for _ in 0..2 {
        // SAFETY: refused.
        let refused = unsafe { host.session.add("user", text.as_bytes()) }.unwrap_err();
        assert!(matches!(refused, SessionError::Registration { .. }), "{refused}");
        let message = refused.to_string();
        assert!(message.starts_with("user: ") && message.contains("Node"), "{message}");
        assert_eq!(host.session.lookup("push.user"), None);
    }
    assert_eq!(host.call(5), 5);
}
