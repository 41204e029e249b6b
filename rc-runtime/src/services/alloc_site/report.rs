//! What was allocated at which site, and how much of it is alive: for the leak report, the statistics at exit, and hosts.

use super::{SiteTotals, text_of_site};
use crate::heap::Heap;
use std::fmt::Write;

/// Rows of a report, at most.
const ROWS: usize = 10;

impl Heap {
    /// Returns what was allocated at each site: most live bytes first, then most allocated ones. Empty in a heap that records no sites.
    pub fn alloc_sites(&self) -> Vec<SiteTotals> {
        let Some(sites) = &self.services.alloc_sites else { return vec![] };
        let mut alive = vec![(0.0, 0.0); sites.entries.len()];
        self.for_each_sampled(|number, cell| {
            if let Some((objects, bytes)) = alive.get_mut(number as usize - 1) {
                let stands_for = sites.sampler.objects_for_one(cell);
                *objects += stands_for;
                *bytes += stands_for * cell as f64;
            }
        });
        let rows = sites.entries.iter().zip(&alive).map(|(entry, &(objects, bytes))| SiteTotals {
            site: entry.site.clone(),
            type_name: entry.type_id.info().name.to_string(),
            live_objects: f64::round(objects) as u64,
            live_bytes: f64::round(bytes) as u64,
            allocated_objects: entry.objects.round() as u64,
            allocated_bytes: entry.bytes.round() as u64,
        });
        let mut rows: Vec<SiteTotals> = rows.collect();
        rows.sort_unstable_by_key(|row| std::cmp::Reverse((row.live_bytes, row.allocated_bytes)));
        rows
    }

    /// The sites with the most live bytes, as lines of a report about what is alive; empty in a heap that records none.
    pub(crate) fn text_of_live_sites(&self) -> String {
        if !self.records_alloc_sites() {
            return String::new();
        }
        let totals = self.alloc_sites();
        let alive: Vec<&SiteTotals> = totals.iter().filter(|row| row.live_objects != 0).collect();
        let mut text = match (self.estimates_alloc_sites(), alive.is_empty()) {
            (true, true) => "  none of them was sampled: --alloc-sites=all records every object\n".to_owned(),
            (true, false) => "  allocated (estimates, from a sample):\n".to_owned(),
            (false, _) => "  allocated:\n".to_owned(),
        };
        for SiteTotals { site, type_name, live_objects, live_bytes, .. } in alive.iter().take(ROWS) {
            let site = text_of_site(site);
            _ = writeln!(text, "  {live_objects:>10} {type_name} ({live_bytes} bytes) {site}");
        }
        if alive.len() > ROWS {
            _ = writeln!(text, "             and more at {} other sites", alive.len() - ROWS);
        }
        text
    }

    /// Whether [`alloc_sites`](Self::alloc_sites) returns estimates.
    pub fn estimates_alloc_sites(&self) -> bool {
        self.services.alloc_sites.as_ref().is_some_and(|sites| !sites.sampler.takes_all())
    }

    /// Calls `visit` with entry and bytes of each sampled object that is there.
    fn for_each_sampled(&self, mut visit: impl FnMut(u32, u64)) {
        let specials = &self.services.specials;
        for number in 1..=specials.last() {
            let Some(record) = specials.record(number) else { continue };
            let (Some(object), site) = (record.object(), specials.site_of(record)) else { continue };
            if site != 0 && self.may_be_alive(object) {
                visit(site, object.type_info().cell_bytes_of(object));
            }
        }
    }
}
