//! Running a program in this process: `tally run` after its modules were compiled.
//!
//! The objects are those that `tally build` would link. They are given to ORC together with the runtime's entry
//! points, taken from the one list `for_each_runtime_symbol!`, so that compiled code calls the runtime inside this
//! binary; the C library is found in the process. Then the steps that the C library does for an executable follow, in
//! its order: destructors are set up to run at exit, constructors run (they register each module's stack maps and
//! types), `main` is called and its result is the exit status.
//!
//! The linker and its code live until the process ends: handlers that the program gave to `atexit`
//! run after `main`, from code that must still be there. [`Program::run`] therefore does not return.
//!
//! gdb and perf are told of the code (`observers`).
//!
//! A host that adds and removes modules while it runs has a [`Session`] instead.

mod gdb_interface;
mod landmarks;
mod observers;
pub mod orc;
mod perf_map;
mod placed;
pub mod registered_code;
mod session;
mod thread_storage;
mod unwind_records;

pub use observers::Observers;
pub use session::{ModuleHandle, Session, SessionError};

use std::ffi::{CString, c_char, c_int};
use std::sync::OnceLock;

use thiserror::Error;

use crate::aot::no_main;
use crate::emit::constructors::{self, Entry, Kind};
use crate::emit::undefined_symbols;
use crate::jit::gdb_interface::Registration;
use crate::jit::orc::{LinkError, Linker};
use crate::pipeline::Object;

/// Why a program could not be started.
#[derive(Debug, Error)]
pub enum JitError {
    /// Nothing to call.
    #[error("{}", no_main(.0))]
    NoMain(Vec<String>),
    /// Symbols are missing.
    #[error(
        "cannot link {}: {sentence}; name the .ll, .bc or .c file with the definition, too, or put the library in LD_PRELOAD",
        files.join(", ")
    )]
    Undefined {
        /// The program's files.
        files: Vec<String>,
        /// The symbols, and the functions that need them.
        sentence: String,
    },
    /// The modules do not fit together.
    #[error("cannot link {}: {error}", files.join(", "))]
    Link {
        /// The program's files.
        files: Vec<String>,
        /// The symbols that are missing or defined twice.
        error: LinkError,
    },
}

/// Compiled modules, linked and ready to be called.
#[derive(Debug)]
pub struct Program {
    linker: Linker,
    main: u64,
    constructors: Vec<u64>,
    destructors: Vec<u64>,
    /// gdb knows the code as long as it is there.
    registrations: Vec<Registration>,
}

impl Program {
    /// Links `objects` with the runtime in this process, and tells gdb and the observers of them.
    pub fn link(objects: &[Object], observers: Observers) -> Result<Program, JitError> {
        let files = || objects.iter().map(|object| object.file.display().to_string()).collect();
        if !objects.iter().any(|object| object.defines_main) {
            // Checked before linking: the process has a `main` of its own, which ORC would find.
            return Err(JitError::NoMain(files()));
        }
        link(objects, observers).map_err(|error| match error {
            LinkError::Undefined(symbols) => {
                JitError::Undefined { files: files(), sentence: undefined_symbols::sentence(&symbols, objects) }
            }
            error => JitError::Link { files: files(), error },
        })
    }

    /// Runs the program to its end, and the process with it.
    pub fn run(self, arguments: Vec<CString>) -> ! {
        let mut argv: Vec<*mut c_char> = arguments.into_iter().map(CString::into_raw).collect();
        let argc = argv.len() as c_int;
        argv.push(std::ptr::null_mut());
        DESTRUCTORS.set(self.destructors).expect("a process runs one program");
        // SAFETY: the function takes nothing and unwinds nowhere.
        unsafe { libc::atexit(run_destructors) };
        for function in self.constructors {
            // SAFETY: a constructor of the program, whose code lives to the end of the process.
            unsafe { call(function) };
        }
        // SAFETY: `main` was compiled as C's main; one with fewer parameters may be called with all three.
        let main: extern "C-unwind" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int =
            unsafe { std::mem::transmute(self.main) };
        // SAFETY: C's variable, which nothing writes to meanwhile.
        let environment = unsafe { environ };
        // Argument strings and array live to the end of the process.
        let status = main(argc, argv.leak().as_mut_ptr(), environment);
        std::mem::forget((self.linker, self.registrations));
        std::process::exit(status)
    }
}

/// In the order in which they are to run.
static DESTRUCTORS: OnceLock<Vec<u64>> = OnceLock::new();

unsafe extern "C" {
    /// The C library's environment.
    static mut environ: *mut *mut c_char;
}

fn link(objects: &[Object], observers: Observers) -> Result<Program, LinkError> {
    let linker = Linker::new()?;
    linker.define(&runtime_symbols())?;
    for (index, object) in objects.iter().enumerate() {
        linker.add_object(&observers.prepare(&object.bytes, index), &object.file.to_string_lossy())?;
    }
    let main = linker.address("main")?;
    let table = |kind: Kind| -> Result<Vec<Entry>, LinkError> {
        let mut entries = Vec::new();
        for index in 0..objects.len() {
            let address = linker.address(&kind.symbol(index))?;
            // SAFETY: the pipeline exports a table under this symbol from module `index`.
            entries.extend(unsafe { constructors::read(address) });
        }
        entries.sort_by_key(|entry| entry.priority);
        Ok(entries)
    };
    let functions = |entries: Vec<Entry>| entries.into_iter().map(|entry| entry.function).collect();
    let constructors = functions(table(Kind::Constructors)?);
    let mut destructors: Vec<u64> = functions(table(Kind::Destructors)?);
    destructors.reverse();
    let all = objects.iter().enumerate();
    let registrations = all.filter_map(|(index, object)| observers.announce(&object.bytes, index, &linker)).collect();
    Ok(Program { linker, main, constructors, destructors, registrations })
}

extern "C" fn run_destructors() {
    for &function in DESTRUCTORS.get().into_iter().flatten() {
        // SAFETY: an entry of a destructor table; the code is there until the process is gone.
        unsafe { call(function) };
    }
}

/// # Safety
/// `function` is the address of a function without parameters that may be called now.
unsafe fn call(function: u64) {
    // SAFETY: the caller's duty.
    let function: extern "C-unwind" fn() = unsafe { std::mem::transmute(function) };
    function();
}

macro_rules! list_addresses {
    ($($name:ident, $signature:literal, $kind:ident;)*) => {
        // Only their addresses are taken; the runtime defines their types.
        unsafe extern "C" {
            $(static $name: u8;)*
            /// Code of LLVM's strategy "shadow-stack" has a weak definition, which this one overrides.
            static llvm_gc_root_chain: u8;
            static at_quick_exit: u8;
            static pthread_atfork: u8;
        }

        /// The symbols that compiled code finds in this process by name, apart from the C library.
        fn runtime_symbols() -> Vec<(&'static str, u64)> {
            vec![
                // glibc has these three in the part that is linked statically into every executable.
                ("atexit", libc::atexit as *const () as u64),
                ("at_quick_exit", &raw const at_quick_exit as u64),
                ("pthread_atfork", &raw const pthread_atfork as u64),
                (crate::emit::thread_locals::ADDRESS, thread_storage::address as *const () as u64),
                ("llvm_gc_root_chain", &raw const llvm_gc_root_chain as u64),
                $((stringify!($name), &raw const $name as u64),)*
            ]
        }
    };
}
tally_compiled::for_each_runtime_symbol!(list_addresses);

// The entry points above live in this crate, among others; naming it links it.
extern crate tally_collector as _;
