//! The site of an object, and the switch.

use super::{AllocSites, Site, SiteFinder};
use crate::heap::Heap;
use crate::object::ObjectRef;

impl Heap {
    /// Names the calls of compiled code from now on. Without effect in a heap that records no sites.
    pub fn find_sites_with(&mut self, finder: Box<dyn SiteFinder>) {
        if let Some(sites) = &mut self.services.alloc_sites {
            sites.finder = Some(finder);
        }
    }

    /// Records sites from now on, of one object for so many bytes on average, or of every object with 0 or 1; or no more with `None`.
    /// What was recorded stays.
    pub fn record_alloc_sites(&mut self, interval: Option<u64>) {
        match (&mut self.services.alloc_sites, interval) {
            (Some(sites), _) => sites.sampler.set_interval(interval.unwrap_or(u64::MAX)),
            (none, Some(interval)) => *none = Some(Box::new(AllocSites::new(interval))),
            (None, None) => return,
        }
        self.begin_sampling();
    }

    /// Whether sites are recorded, or were.
    pub fn records_alloc_sites(&self) -> bool {
        self.services.alloc_sites.is_some()
    }

    /// Returns the site where the object was allocated, if it was sampled.
    pub fn alloc_site(&self, object: ObjectRef) -> Option<Site> {
        let specials = &self.services.specials;
        let record = specials.record(self.number_of(object))?;
        self.site_of_number(specials.site_of(record))
    }

    /// The site of a number that an object has, or had.
    pub(crate) fn site_of_number(&self, number: u32) -> Option<Site> {
        Some(self.services.alloc_sites.as_ref()?.entry(number)?.site.clone())
    }
}
