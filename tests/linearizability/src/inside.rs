//! A server in this process, with control over its disk and clock.

use std::sync::atomic::Ordering;
use std::time::Duration;

use access::User;
use anyhow::Result;
use kube::Client;
use machinery::clock::Clock;
use machinery::random::Random;
use registry::{Options, Registry};
use serving::Server;
use store::{Embedded, HistoryLimits, Store};

use crate::disk::FaultyDisk;

/// The history kept for watches: short, so that it is trimmed all the time.
pub const KEPT: HistoryLimits = HistoryLimits {
    revisions: 200,
    age: Duration::from_millis(200),
    memory: 20_000,
    ..HistoryLimits::DEFAULT
};

/// How often each fault occurred.
#[derive(Debug, Default)]
pub struct Met {
    /// The disk was full for a while.
    pub full: u64,
    /// The disk was slow for a while.
    pub slow: u64,
    /// The clock jumped ahead.
    pub jumps: u64,
}

/// Opens the store of `disk`, with a wall clock that starts `offset` seconds after a fixed date, and serves
/// it.
///
/// # Errors
/// Fails if the store cannot be opened.
pub async fn serve(disk: &FaultyDisk, offset: u64) -> Result<(Server, Client)> {
    if !disk.path.exists() {
        Embedded::format(disk)?;
    }
    let day = machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap_or_default();
    let clock = Clock::simulated(day + Duration::from_secs(offset));
    let store = Store::open_with(Embedded::with_disk(disk.clone())?, clock.clone(), KEPT).await?;
    let registry = Registry::open(store, clock.clone(), Random::system(), Options::default()).await?;
    let server = Server::builder(registry, clock).build();
    let client = Client::new(server.client_service(User::master("linearizability")), "default");
    Ok((server, client))
}

/// Causes random faults for `time`.
pub async fn disturb(disk: &FaultyDisk, random: &Random, clock: &Clock, time: Duration, met: &mut Met) {
    let until = clock.monotonic() + time;
    while clock.monotonic() < until {
        match random.number() % 4 {
            0 => {
                met.full += 1;
                disk.faults.full.store(true, Ordering::SeqCst);
            }
            1 => {
                met.slow += 1;
                disk.faults.slow.store(5 + random.number() % 60, Ordering::SeqCst);
            }
            2 => {
                met.jumps += 1;
                let seconds = 1 + random.number() % 1_000;
                tokio::time::pause();
                tokio::time::advance(Duration::from_secs(seconds)).await;
                tokio::time::resume();
            }
            _ => {}
        }
        clock.sleep(Duration::from_millis(50 + random.number() % 250)).await;
        disk.faults.full.store(false, Ordering::SeqCst);
        disk.faults.slow.store(0, Ordering::SeqCst);
        clock.sleep(Duration::from_millis(100 + random.number() % 200)).await;
    }
}
