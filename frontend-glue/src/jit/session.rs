//! Code that is loaded and removed in a host's process: a read-eval-print loop, a plug-in, a method compiler.
//!
//! A [`Session`] takes modules as text, bitcode or inkwell's own, compiles them like `tally run` does, links each
//! against the host's functions, the runtime, the C library and the modules already loaded, and runs its
//! constructors: from then on the stack maps are known. A module that is removed is first unregistered, then
//! unmapped; a later module may get its addresses.
//!
//! A session makes no heap. The thread that calls compiled code gets one at its first allocation, with the options
//! given to `tally_compiled::program::configure`, or those of the environment; the heap is collected and freed when
//! the thread ends.

use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use inkwell::context::Context;
use inkwell::module::Module;
use tally_compiled::program;
use tally_compiled::program::host_code;
use thiserror::Error;

use super::{call, runtime_symbols};
use crate::diagnostic::Diagnostic;
use crate::emit::constructors::{self, Kind};
use crate::jit::gdb_interface::Registration;
use crate::jit::observers::Observers;
use crate::jit::orc::{LinkError, Linker, Tracker};
use crate::jit::registered_code::check_inactive;
use crate::pipeline::{self, CompileError, CompileOptions, Destination};

/// Modules in this process, and their linker.
///
/// gdb knows their functions, and perf does where `TALLY_PERF_MAP=1` is set.
///
/// A session that is dropped removes its modules, the last one first. One that is dropped while this thread is inside
/// one of them, or may be, is leaked instead, with a message on standard error: all its modules stay, as the code that
/// goes on may call them. Their globals are roots to the end of the process, and their destructors do not run. As with
/// [`Session::remove`], no other thread may be in a module's code then.
#[derive(Debug)]
pub struct Session {
    /// No other session of the process has it.
    id: u64,
    loaded: Vec<Loaded>,
    /// Dropped by `drop`, unless code of it goes on.
    linker: ManuallyDrop<Linker>,
    options: CompileOptions,
    observers: Observers,
    next_number: usize,
}

/// A module of a session; see [`Session::remove`]. Other sessions do not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModuleHandle {
    session: u64,
    number: usize,
}

/// Why a module was not added or removed.
#[derive(Debug, Error)]
pub enum SessionError {
    /// It is not valid, breaks the contract, or could not be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// It refers to a missing symbol, or defines one that exists already.
    #[error("cannot link {module}: {error}")]
    Link {
        /// The module.
        module: String,
        /// The symbols that are missing or defined twice.
        error: LinkError,
    },
    /// Its record for the runtime is wrong, for instance the descriptor of a type.
    #[error("{module}: {what}")]
    Registration {
        /// The module.
        module: String,
        /// The fault.
        what: String,
    },
    /// It cannot be removed, because this thread is inside it.
    #[error(
        "{module} cannot be removed: its function {function} has a frame on this thread's stack; remove it when that has returned"
    )]
    Active {
        /// The module.
        module: String,
        /// The innermost of its functions that are active.
        function: String,
    },
    /// It cannot be removed, because it is not known whether this thread is inside it.
    #[error(
        "{module} cannot be removed: it may have a frame on this thread's stack, which cannot be walked beyond {place}"
    )]
    Hidden {
        /// The module.
        module: String,
        /// Native code without an unwind table.
        place: String,
    },
    /// It is not loaded (any more), or is a module of another session.
    #[error("this module is not loaded")]
    NotLoaded,
}

#[derive(Debug)]
struct Loaded {
    number: usize,
    name: String,
    /// The key under which it is registered.
    key: Option<u64>,
    tracker: Tracker,
    /// In the order in which they are to run.
    destructors: Vec<u64>,
    /// gdb's entry, none for an object that is not understood.
    registration: Option<Registration>,
}

/// An object that was linked.
struct Linked {
    /// In the order in which they must run.
    constructors: Vec<u64>,
    /// The same.
    destructors: Vec<u64>,
    registration: Option<Registration>,
}

impl Session {
    /// A session without modules. The destination is this process, not the one in `options`.
    ///
    /// # Errors
    /// [`SessionError`] when this LLVM cannot make code for this machine.
    pub fn new(options: CompileOptions) -> Result<Session, SessionError> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        let options = CompileOptions { destination: Destination::ThisProcess, ..options };
        pipeline::prepare(&options)?;
        let link = |error| SessionError::Link { module: "the runtime".into(), error };
        let linker = Linker::new().map_err(link)?;
        linker.define(&runtime_symbols()).map_err(link)?;
        let observers = Observers::from_env().map_err(link)?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Ok(Session { id, loaded: Vec::new(), linker: ManuallyDrop::new(linker), options, observers, next_number: 0 })
    }

    /// Defines a function, or data, of the host by name for modules that are added from now on. A function that
    /// compiled code calls is `extern "C"`, or `extern "C-unwind"` if it may panic.
    ///
    /// # Errors
    /// [`SessionError::Link`] when the name is taken.
    pub fn define(&mut self, symbol: &str, address: *const ()) -> Result<(), SessionError> {
        let link = |error| SessionError::Link { module: "the host".into(), error };
        self.linker.define(&[(symbol, address as u64)]).map_err(link)
    }

    /// Adds a module of LLVM IR, as text or bitcode. `name` appears in messages and as the roots' module.
    ///
    /// # Errors
    /// [`SessionError`]; the session is as before then.
    ///
    /// # Safety
    /// As for [`add_module`](Self::add_module).
    pub unsafe fn add(&mut self, name: &str, ir: &[u8]) -> Result<ModuleHandle, SessionError> {
        let context = Context::create();
        let module = pipeline::load_from_memory(&context, name.as_ref(), ir, &self.options)?;
        // SAFETY: by the caller's promise.
        unsafe { self.add_module(name, &module) }
    }

    /// Adds a module that was built with inkwell. It is lowered and optimised in place; throw it away afterwards.
    ///
    /// # Errors
    /// [`SessionError`]; the session is as before then.
    ///
    /// # Safety
    /// The module's constructors run here, and its destructors when it is removed; descriptors, finalizers, trace and clear
    /// functions of it are used from then on. They and what they call keep the contract (`docs/port/ir-contract.md`), and are
    /// no undefined behaviour of LLVM's; symbols that the module refers to are what it declares them to be.
    pub unsafe fn add_module(&mut self, name: &str, module: &Module) -> Result<ModuleHandle, SessionError> {
        // SAFETY: by the caller's promise.
        unsafe { self.add_module_with_warnings(name, module) }.map(|(handle, _)| handle)
    }

    /// The same with what the verifier warns of, if the options ask for that.
    ///
    /// # Errors
    /// As for [`add_module`](Self::add_module).
    ///
    /// # Safety
    /// As for [`add_module`](Self::add_module).
    pub unsafe fn add_module_with_warnings(
        &mut self,
        name: &str,
        module: &Module,
    ) -> Result<(ModuleHandle, Vec<Diagnostic>), SessionError> {
        let number = self.next_number;
        self.next_number += 1;
        // A root's id is made of its module's name, and ids must differ.
        let unique = PathBuf::from(format!("{name}#{number}"));
        let object = pipeline::compile_module(module, &unique, number, &self.options)?;
        let tracker = self.linker.tracker();
        match self.link(number, &tracker, &object.bytes, name) {
            Ok(Linked { constructors, destructors, registration }) => {
                let mut key = None;
                for function in constructors {
                    // SAFETY: an entry of the module's table, run once, before anything else of the module.
                    match program::registered_by(|| unsafe { call(function) }) {
                        Ok(registered) => key = key.or(registered),
                        Err(what) => {
                            // The module's own constructors come after this one: none of its code has run.
                            let _ = tracker.remove();
                            return Err(SessionError::Registration { module: name.to_owned(), what });
                        }
                    }
                }
                self.loaded.push(Loaded { number, name: name.to_owned(), key, tracker, destructors, registration });
                Ok((ModuleHandle { session: self.id, number }, object.warnings))
            }
            Err(error) => {
                // Its remains must not satisfy a later module's references.
                let _ = tracker.remove();
                Err(SessionError::Link { module: name.to_owned(), error })
            }
        }
    }

    /// The address of a function or variable of the session's modules, of the host's definitions, or of the process.
    /// The address of a module's symbol is valid until the module is removed or the session dropped.
    pub fn lookup(&self, symbol: &str) -> Option<u64> {
        self.linker.address(symbol).ok()
    }

    /// Removes a module: its destructors run, its globals are no roots any more, its code and data go away. Objects
    /// of its types stay valid, unless the type has a `trace` function or a finalizer, which goes with the module.
    /// Under the prompt plan this is a safepoint: objects that only the module's globals held die before its code is
    /// removed.
    ///
    /// # Safety
    /// Every reference that the host holds is in a root; no other thread has a frame of the module on its stack, no
    /// thread will call it again, and no module that is left refers to it. This thread's stack is checked.
    ///
    /// # Errors
    /// [`SessionError::Active`] when this thread is inside the module, [`SessionError::Hidden`] when that is not
    /// known; [`SessionError::NotLoaded`] for a handle that was used before, or is another session's;
    /// [`SessionError::Link`] in the linker's words. After the first two the module is still there.
    pub unsafe fn remove(&mut self, module: ModuleHandle) -> Result<(), SessionError> {
        let is_it = |loaded: &Loaded| module == ModuleHandle { session: self.id, number: loaded.number };
        let place = self.loaded.iter().position(is_it).ok_or(SessionError::NotLoaded)?;
        let Loaded { name, key, .. } = &self.loaded[place];
        check_inactive(*key, name)?;
        // SAFETY: the caller's duty.
        unsafe { self.loaded.remove(place).unload() }
    }

    /// Links one object, and tells gdb and the observers of it.
    fn link(&self, number: usize, tracker: &Tracker, object: &[u8], name: &str) -> Result<Linked, LinkError> {
        self.linker.add_object_to(tracker, &self.observers.prepare(object, number), name)?;
        let table = |kind: Kind| -> Result<Vec<u64>, LinkError> {
            let address = self.linker.address(&kind.symbol(number))?;
            // SAFETY: the pipeline exports a table under this symbol from this module.
            let mut entries = unsafe { constructors::read(address) };
            entries.sort_by_key(|entry| entry.priority);
            Ok(entries.into_iter().map(|entry| entry.function).collect())
        };
        let (constructors, mut destructors) = (table(Kind::Constructors)?, table(Kind::Destructors)?);
        destructors.reverse();
        let registration = self.observers.announce(object, number, &self.linker);
        Ok(Linked { constructors, destructors, registration })
    }
}

impl Loaded {
    /// # Safety
    /// No thread executes the module's code, now or later.
    unsafe fn unload(self) -> Result<(), SessionError> {
        let last = self.destructors.len().saturating_sub(1);
        for (place, function) in self.destructors.into_iter().enumerate() {
            // The last of them unregisters the module. Objects that die with its globals may have destructors in it.
            if place == last
                && let Some(key) = self.key
            {
                // SAFETY: its code goes away below; the host holds no reference: the caller's duty.
                unsafe { host_code::release_globals(key) };
            }
            // SAFETY: an entry of the module's table.
            unsafe { call(function) };
        }
        drop(self.registration);
        self.tracker.remove().map_err(|error| SessionError::Link { module: self.name, error })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let inactive = self.loaded.iter().try_for_each(|Loaded { key, name, .. }| check_inactive(*key, name));
        if let Err(error) = inactive {
            tally_heap::tell_line!("tally: a session is dropped, and stays: {error}");
            std::mem::forget(std::mem::take(&mut self.loaded));
            return;
        }
        while let Some(module) = self.loaded.pop() {
            // SAFETY: addresses from `lookup` are valid as long as the session; the caller may not use one later.
            if let Err(error) = unsafe { module.unload() } {
                tally_heap::tell_line!("tally: {error}");
            }
        }
        // SAFETY: it is not used again; none of its code runs.
        unsafe { ManuallyDrop::drop(&mut self.linker) };
    }
}
