//! Benchmark: 500 machines that are switched on at the same time.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use machinery::clock::Clock;
use tokio::process::Child;

use super::load::{Machines, Seen};
use super::pair::{Pair, median};
use super::place::{Firstlight, PEER, POOL, Place, SERVER, pinned};
use crate::bench::{Bench, print};

const MACHINES: u32 = 500;
/// Number of machines for a run with firstlight alone, since 500 are too few to measure.
const MANY: u32 = 10_000;

/// Runs these benchmarks.
pub async fn run(bench: &Bench, _running: &Firstlight, place: &Place, folder: &Path) -> Result<()> {
    let mut answers = Pair::new("DHCP, 500 machines at once: answers", "1/s");
    let mut slowest = Pair::new("… p99", "ms");
    let mut renewals = Pair::new("… renewals of their leases", "1/s");
    let mut slowest_renewal = Pair::new("… p99", "ms");
    let (mut many, mut slowest_of_many) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        let first = u32::try_from(round)? * (MACHINES + MANY);
        let _dnsmasq = dnsmasq(bench, place, folder).await?;
        for (server, is_peer) in [(PEER, true), (SERVER, false)] {
            let [boot, renew] = both(server, first, &bench.clock).await?;
            let side = |pair: &mut Pair, value| {
                let values = if is_peer { &mut pair.peer } else { &mut pair.ours };
                values.push(value);
            };
            side(&mut answers, boot.answers);
            side(&mut slowest, boot.p99);
            side(&mut renewals, renew.answers);
            side(&mut slowest_renewal, renew.p99);
        }
        let seen = boot_many(first + MACHINES, &bench.clock).await?;
        many.push(seen.answers);
        slowest_of_many.push(seen.p99);
    }
    for pair in [answers, slowest, renewals, slowest_renewal] {
        pair.print();
    }
    let (many, slowest) = (median(&many), median(&slowest_of_many));
    print(&format!(
        "| … 10,000 machines, 500 at a time: answers | | {many:.0} 1/s | | p99 {slowest:.1} ms |"
    ));
    Ok(())
}

fn in_thread<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> impl FnOnce() -> Result<T> + Send + 'static {
    move || tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

async fn both(server: Ipv4Addr, first: u32, clock: &Clock) -> Result<[Seen; 2]> {
    let clock = clock.clone();
    let work = async move {
        let machines = Machines { first, count: MACHINES, at_once: MACHINES as usize };
        let boot = machines.boot(server, &clock).await?;
        let renew = machines.renew(server, &boot.addresses, &clock).await?;
        ensure!(renew.addresses == boot.addresses, "a machine got another address");
        Ok([boot, renew])
    };
    pinned(in_thread(work)).await
}

async fn boot_many(first: u32, clock: &Clock) -> Result<Seen> {
    let clock = clock.clone();
    let work =
        async move { Machines { first, count: MANY, at_once: MACHINES as usize }.boot(SERVER, &clock).await };
    pinned(in_thread(work)).await
}

/// Starts a dnsmasq without leases.
async fn dnsmasq(bench: &Bench, place: &Place, folder: &Path) -> Result<Child> {
    let (log, leases) = (folder.join("dnsmasq.log"), folder.join("dnsmasq.leases"));
    if leases.exists() {
        std::fs::remove_file(&leases)?;
    }
    let mut command = place.program(Path::new("dnsmasq"), &log)?;
    command.args(["--keep-in-foreground", "--conf-file=/dev/null", "--log-facility=-", "--quiet-dhcp"]);
    command.args(["--user=root", "--pid-file=", "--port=0", "--interface=eth0", "--no-ping"]);
    command.args(["--dhcp-lease-max=40000", "--dhcp-boot=boot.efi"]);
    command.arg(format!("--dhcp-range={},{},1h", POOL.0, POOL.1));
    command.arg(format!("--dhcp-leasefile={}", leases.display()));
    let process = command.spawn().context("dnsmasq is needed")?;
    let deadline = bench.clock.monotonic() + std::time::Duration::from_secs(30);
    while !std::fs::read_to_string(&log)?.contains("IP range") {
        ensure!(bench.clock.monotonic() < deadline, "dnsmasq: {}", std::fs::read_to_string(&log)?);
        bench.clock.sleep(std::time::Duration::from_millis(20)).await;
    }
    Ok(process)
}
