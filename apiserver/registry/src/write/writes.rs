//! What every write needs.

use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;

use super::allocation::Allocator;
use super::charge::QuotaTurns;
use crate::admission::chain::AdmissionChain;
use crate::storage::entries::Storage;
use crate::versions::current::Versions;

/// The parts of a server that a write passes through, each of which keeps its state to itself. The housekeeping works with them as long as
/// somebody else does.
pub(crate) struct Writes {
    storage: Arc<Storage>,
    versions: Arc<Versions>,
    admission: AdmissionChain,
    allocator: Allocator,
    quota_turns: QuotaTurns,
    clock: Clock,
    random: Random,
    /// Whether an object can be created only in a namespace that exists.
    needs_namespaces: bool,
}

impl Writes {
    pub(crate) fn new(
        storage: Arc<Storage>,
        versions: Arc<Versions>,
        admission: AdmissionChain,
        allocator: Allocator,
        clock: Clock,
        random: Random,
        needs_namespaces: bool,
    ) -> Self {
        let quota_turns = QuotaTurns::default();
        Self { storage, versions, admission, allocator, quota_turns, clock, random, needs_namespaces }
    }

    pub(crate) fn storage(&self) -> &Storage {
        &self.storage
    }

    pub(crate) fn versions(&self) -> &Arc<Versions> {
        &self.versions
    }

    pub(crate) fn admission(&self) -> &AdmissionChain {
        &self.admission
    }

    pub(crate) fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    pub(crate) fn quota_turns(&self) -> &QuotaTurns {
        &self.quota_turns
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns the current time in the format of `metav1.Time`.
    pub(crate) fn now(&self) -> String {
        machinery::clock::rfc3339(self.clock.now())
    }

    pub(crate) fn random(&self) -> &Random {
        &self.random
    }

    pub(crate) fn needs_namespaces(&self) -> bool {
        self.needs_namespaces
    }
}
