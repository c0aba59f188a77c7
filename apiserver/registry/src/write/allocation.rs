//! The pools of cluster IPs and node ports. What is taken is a function of the stored Services, so that nothing has to be kept, repaired or
//! released; beside it there is only what writes that have not ended have taken.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::sync::Arc;

use kinds::Subresource;
use kinds::strategy::{Claims, Pool, Unallocated};
use machinery::random::Random;
use machinery::status::Status;
use parking_lot::Mutex;
use serde_json::Value;

use crate::storage::entries::{Storage, WriteError};
use crate::target::Target;

/// The prefix of the objects that take something.
const SERVICES: &str = "/registry/core/services/";
/// The node ports, as by default in kube-apiserver.
const PORTS: RangeInclusive<u16> = 30_000..=32_767;
const PORT_TAKEN: &str = "provided port is already allocated";
const PORT_OUTSIDE: &str = "provided port is not in the valid range. The range of valid ports is 30000-32767";
const FULL: &str = "range is full";
/// The port that a dry run shows.
const DRY_PORT: u16 = 32_769;

/// A range of cluster IPs.
#[derive(Debug, Clone, Copy)]
pub struct ServiceRange {
    network: Ipv4Addr,
    bits: u8,
}

impl Default for ServiceRange {
    /// The default range of kube-apiserver.
    fn default() -> Self {
        Self { network: Ipv4Addr::new(10, 0, 0, 0), bits: 24 }
    }
}

impl std::str::FromStr for ServiceRange {
    type Err = String;

    /// Parses a range of IPv4 addresses such as `10.96.0.0/12`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text} is no range of IPv4 addresses such as 10.96.0.0/12, with 8 to 30 bits");
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let (address, bits) = (address.parse::<Ipv4Addr>(), bits.parse::<u8>());
        let (Ok(address), Ok(bits @ 8..=30)) = (address, bits) else { return Err(wrong()) };
        Ok(Self { network: Ipv4Addr::from_bits(address.to_bits() & !host_mask(bits)), bits })
    }
}

impl std::fmt::Display for ServiceRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

/// Returns the mask of the bits that differ within a network.
fn host_mask(bits: u8) -> u32 {
    u32::MAX.checked_shr(bits.into()).unwrap_or(0)
}

impl ServiceRange {
    fn first(self) -> u32 {
        self.network.to_bits() + 1
    }

    fn last(self) -> u32 {
        (self.network.to_bits() | host_mask(self.bits)) - 1
    }

    /// Returns the address of the Service of the API server.
    pub fn api_server(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first())
    }

    /// Returns why nobody can have the address, or `None` if it is in the range.
    fn refusal(self, address: IpAddr) -> Option<String> {
        let IpAddr::V4(address) = address else {
            return Some("the provided network does not match the current range".to_owned());
        };
        let bits = address.to_bits();
        if bits & !host_mask(self.bits) != self.network.to_bits() {
            return Some("the provided network does not match the current range".to_owned());
        }
        (!(self.first()..=self.last()).contains(&bits)).then(|| {
            format!("the provided IP ({address}) is not in the valid range. The range of valid IPs is {self}")
        })
    }
}

/// Returns how many of the lowest values of a pool are left to those who ask for one of them.
fn reserved(size: u32, step: u32, most: u32) -> u32 {
    if size <= 16 { 0 } else { (size / step).clamp(16, most) }
}

/// What is known to be taken.
#[derive(Default)]
struct Taken {
    /// What each stored Service has taken, by key, with the revision of the Service.
    stored: BTreeMap<String, (u64, Claims)>,
    /// What writes have taken that have not ended.
    pending: Claims,
}

impl Taken {
    /// Returns all that is taken.
    fn used(&mut self, storage: &Storage, claims: impl Fn(&Value) -> Option<Claims>) -> Claims {
        refresh(&mut self.stored, storage, claims);
        let mut used = self.pending.clone();
        for (_, claims) in self.stored.values() {
            used.addresses.extend(&claims.addresses);
            used.ports.extend(&claims.ports);
        }
        used
    }
}

/// The pools of one server.
pub(crate) struct Allocator {
    range: ServiceRange,
    random: Random,
    taken: Arc<Mutex<Taken>>,
}

impl Allocator {
    pub(crate) fn new(range: ServiceRange, random: Random) -> Self {
        Self { range, random, taken: Arc::default() }
    }

    pub(crate) fn range(&self) -> ServiceRange {
        self.range
    }

    /// Takes what a write of a whole object needs. It is free again if it is not stored before the result is dropped.
    ///
    /// # Errors
    /// 422 or 500.
    pub(crate) fn allocate(
        &self,
        storage: &Storage,
        target: &Target<'_>,
        object: &mut Value,
        old: Option<&Value>,
        dry_run: bool,
    ) -> Result<Option<Reservation>, Status> {
        let strategy = target.served.strategy();
        if target.subresource != Subresource::None || !strategy.allocates() {
            return Ok(None);
        }
        let mut taken = self.taken.lock();
        let taken = &mut *taken;
        let read = || taken.used(storage, |service| strategy.claims(service));
        let mut drawing =
            Drawing { allocator: self, used: LazyCell::new(read), new: Claims::default(), dry_run };
        match strategy.allocate(object, old, &mut drawing) {
            Ok(()) => {}
            Err(Unallocated::Invalid(error)) => target.refuse(object, &[error])?,
            Err(Unallocated::Internal(why)) => return Err(Status::internal(why)),
        }
        let new = std::mem::take(&mut drawing.new);
        drop(drawing);
        if dry_run {
            return Ok(None);
        }
        taken.pending.addresses.extend(&new.addresses);
        taken.pending.ports.extend(&new.ports);
        Ok(Some(Reservation { taken: self.taken.clone(), claims: new }))
    }
}

/// Reads what the stored Services have taken. Only those that have changed are looked through.
fn refresh(
    stored: &mut BTreeMap<String, (u64, Claims)>,
    storage: &Storage,
    claims: impl Fn(&Value) -> Option<Claims>,
) {
    let (services, _) = storage.range(SERVICES);
    for service in &services {
        let (key, revision) = (service.key.as_str(), service.mod_revision.0);
        if stored.get(key).is_some_and(|(at, _)| *at == revision) {
            continue;
        }
        let object = machinery::decode::own::<Value>(&service.value).unwrap_or_default();
        stored.insert(key.to_owned(), (revision, claims(&object).unwrap_or_default()));
    }
    // All Services are known now, and more are only if some were deleted.
    if stored.len() > services.len() {
        let now: BTreeSet<&str> = services.iter().map(|service| service.key.as_str()).collect();
        stored.retain(|key, _| now.contains(key.as_str()));
    }
}

/// What a write has taken, until it has ended: from then on, the stored object says it.
pub(crate) struct Reservation {
    taken: Arc<Mutex<Taken>>,
    claims: Claims,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        taken.pending.addresses.retain(|address| !self.claims.addresses.contains(address));
        taken.pending.ports.retain(|port| !self.claims.ports.contains(port));
    }
}

/// Waits for a write, and keeps what it has taken until it has ended, also if nobody awaits that any more.
pub(crate) async fn settled<T: Send + 'static>(
    reservation: Option<Reservation>,
    write: impl Future<Output = Result<T, WriteError>> + Send + 'static,
) -> Result<T, WriteError> {
    let Some(reservation) = reservation else { return write.await };
    let ended = tokio::spawn(async move {
        let written = write.await;
        drop(reservation);
        written
    });
    ended.await.unwrap_or_else(|error| Err(WriteError::Failed(Status::internal(error.to_string()))))
}

/// The pools while one object takes from them. Most writes of Services take nothing, so only the first question reads what is taken.
struct Drawing<'a, F: FnOnce() -> Claims> {
    allocator: &'a Allocator,
    used: LazyCell<Claims, F>,
    new: Claims,
    dry_run: bool,
}

impl<F: FnOnce() -> Claims> Drawing<'_, F> {
    /// Returns a free value of a pool with `size` values: above those that are reserved if there is one, and beginning anywhere.
    fn free(&self, size: u32, reserved: u32, is_free: impl Fn(u32) -> bool) -> Option<u32> {
        let part = |from: u32, size: u32| {
            let start = self.allocator.random.number().checked_rem(size.into()).unwrap_or(0);
            let start = u32::try_from(start).unwrap_or(0);
            let mut all = (start..size).chain(0..start).map(|offset| from + offset);
            all.find(|offset| is_free(*offset))
        };
        part(reserved, size - reserved).or_else(|| part(0, reserved))
    }
}

impl<F: FnOnce() -> Claims> Pool for Drawing<'_, F> {
    fn take_address(&mut self, address: IpAddr) -> Result<(), String> {
        if let Some(why) = self.allocator.range.refusal(address) {
            return Err(why);
        }
        if !self.used.addresses.insert(address) {
            return Err("provided IP is already allocated".to_owned());
        }
        self.new.addresses.insert(address);
        Ok(())
    }

    fn next_address(&mut self) -> Option<IpAddr> {
        let range = self.allocator.range;
        if self.dry_run {
            return Some(range.network.into());
        }
        let (first, size) = (range.first(), range.last() - range.first() + 1);
        let at = |offset: u32| IpAddr::from(Ipv4Addr::from_bits(first + offset));
        // The first one belongs to the Service of the API server.
        let is_free = |offset: u32| offset > 0 && !self.used.addresses.contains(&at(offset));
        let address = at(self.free(size, reserved(size, 16, 256), is_free)?);
        self.used.addresses.insert(address);
        self.new.addresses.insert(address);
        Some(address)
    }

    fn take_port(&mut self, port: u16) -> Result<(), &'static str> {
        if !PORTS.contains(&port) {
            return Err(PORT_OUTSIDE);
        }
        if !self.used.ports.insert(port) {
            return Err(PORT_TAKEN);
        }
        self.new.ports.insert(port);
        Ok(())
    }

    fn next_port(&mut self) -> Result<u16, &'static str> {
        if self.dry_run {
            let next = self.new.ports.last().map_or(DRY_PORT, |last| last.saturating_add(1));
            self.new.ports.insert(next);
            return Ok(next);
        }
        let size = u32::from(PORTS.end() - PORTS.start()) + 1;
        let at = |offset: u32| PORTS.start() + u16::try_from(offset).unwrap_or(0);
        let free = self.free(size, reserved(size, 32, 128), |offset| !self.used.ports.contains(&at(offset)));
        let port = at(free.ok_or(FULL)?);
        self.used.ports.insert(port);
        self.new.ports.insert(port);
        Ok(port)
    }
}
