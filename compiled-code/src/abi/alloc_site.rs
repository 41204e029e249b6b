//! The C symbols about allocation sites: where an object was allocated, what was allocated at each site, and the switch.
//!
//! None is a safepoint: the tables of sites are read, and nothing else. The texts are there until the visitor returns.

use crate::abi::thread_heap;
use crate::stack::roots::StackRoots;
use std::ffi::{CString, c_char, c_void};
use tally_heap::object::ObjectRef;
use tally_heap::services::alloc_site::{Site, SiteTotals, text_of_site};

/// A place in the program's code, as C sees it. `tally_place` in `tally.h`.
#[repr(C)]
#[derive(Debug)]
pub struct CPlace {
    function: *const c_char,
    file: *const c_char,
    line: u64,
}

/// What was allocated at a site, as C sees it. `tally_site_totals` in `tally.h`.
#[repr(C)]
#[derive(Debug)]
pub struct CSiteTotals {
    places: *const CPlace,
    place_count: u64,
    of_type: *const c_char,
    live_objects: u64,
    live_bytes: u64,
    allocated_objects: u64,
    allocated_bytes: u64,
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<CPlace>() == 24 && offset_of!(CPlace, file) == 8 && offset_of!(CPlace, line) == 16);
    assert!(size_of::<CSiteTotals>() == 56 && offset_of!(CSiteTotals, live_objects) == 24);
};

/// `visit(places, their number, context)`.
type VisitSite = unsafe extern "C" fn(*const CPlace, u64, *mut c_void);
/// `visit(totals, context)`.
type VisitTotals = unsafe extern "C" fn(*const CSiteTotals, *mut c_void);

/// `void tally_record_alloc_sites(uint64_t bytes)`: records the site of one object for so many bytes from now on; 1 = of every object, 0 = of none.
///
/// # Safety
/// Called as `tally.h` says, by code that keeps its rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_record_alloc_sites(bytes: u64) {
    leaf!(tally_record_alloc_sites);
    // SAFETY: [ALONE] borrowed for this function alone.
    let heap = unsafe { thread_heap() };
    heap.record_alloc_sites((bytes != 0).then_some(bytes));
    heap.find_sites_with(Box::new(StackRoots::default()));
}

/// `int32_t tally_alloc_site(const void *object, void (*visit)(const tally_place *, uint64_t, void *), void *context)`: returns whether the object's site is
/// known.
///
/// # Safety
/// `object` is a reference, null, or lies outside the heap; `visit` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_alloc_site(word: u64, visit: Option<VisitSite>, context: *mut c_void) -> i32 {
    leaf!(tally_alloc_site);
    // SAFETY: [ALONE] nothing of the program is called while it is borrowed.
    let heap = unsafe { thread_heap() };
    // SAFETY: [HEADER] a reference, by the caller's promise.
    let object = unsafe { ObjectRef::of_word(word) }.filter(|&object| heap.owns(object));
    let site = object.and_then(|object| heap.alloc_site(object));
    match (&site, visit) {
        (Some(site), Some(visit)) => {
            let texts = texts_of(site);
            let places = places_of(&texts);
            // SAFETY: a function of that type, as `tally.h` asks for; places and texts live until it returns.
            unsafe { visit(places.as_ptr(), places.len() as u64, context) };
        }
        (Some(site), None) => tally_heap::tell_line!("tally: {word:#x} was allocated {}", text_of_site(site)),
        (None, Some(_)) => {}
        (None, None) => tally_heap::tell_line!("tally: not known where {word:#x} was allocated"),
    }
    site.is_some().into()
}

/// `uint64_t tally_alloc_sites(void (*visit)(const tally_site_totals *, void *), void *context)`: calls `visit`, which may be null, for each site and type;
/// returns their number.
///
/// # Safety
/// `visit` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tally_alloc_sites(visit: Option<VisitTotals>, context: *mut c_void) -> u64 {
    leaf!(tally_alloc_sites);
    // SAFETY: [ALONE] borrowed for this statement alone.
    let totals = unsafe { thread_heap() }.alloc_sites();
    if let Some(visit) = visit {
        totals.iter().for_each(|row| show(row, visit, context));
    }
    totals.len() as u64
}

fn show(row: &SiteTotals, visit: VisitTotals, context: *mut c_void) {
    let texts = texts_of(&row.site);
    let (places, of_type) = (places_of(&texts), c_text(&row.type_name));
    let totals = CSiteTotals {
        places: places.as_ptr(),
        place_count: places.len() as u64,
        of_type: pointer(&of_type),
        live_objects: row.live_objects,
        live_bytes: row.live_bytes,
        allocated_objects: row.allocated_objects,
        allocated_bytes: row.allocated_bytes,
    };
    // SAFETY: a function of that type, as `tally.h` asks for; places and texts live until it returns.
    unsafe { visit(&raw const totals, context) };
}

/// Function, file and line of a place; without a file, none.
type Texts = (Option<CString>, Option<CString>, u64);

/// The host is a place without a file.
fn texts_of(site: &Site) -> Vec<Texts> {
    let host = || vec![(c_text("host"), None, 0)];
    let texts = |place: &tally_heap::services::alloc_site::CodePlace| {
        let file = Some(&*place.file).filter(|file| !file.is_empty()).and_then(c_text);
        (c_text(&place.function), file, u64::from(place.line))
    };
    if site.is_empty() { host() } else { site.iter().map(texts).collect() }
}

fn places_of(texts: &[Texts]) -> Vec<CPlace> {
    let place =
        |(function, file, line): &Texts| CPlace { function: pointer(function), file: pointer(file), line: *line };
    texts.iter().map(place).collect()
}

fn c_text(text: &str) -> Option<CString> {
    CString::new(text).ok()
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}
