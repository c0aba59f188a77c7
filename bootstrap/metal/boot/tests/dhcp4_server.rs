//! Checks that no address belongs to two machines, whenever the process ends.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;

use crate::metal_boot::discover::discover;
use agent_protocol::dhcp::{Kind, MacAddress, Packet, options};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use machinery::clock::Clock;
use machinery::random::Random;
use metal_boot::Error;
use metal_boot::dhcp4::answer::Answer;
use metal_boot::dhcp4::link::{Link, Mode, SERVER_PORT};
use metal_boot::dhcp4::server::{Addresses, Server, Writing};
use metal_boot::dhcp4::subnet::{Network, Subnet};
use metal_boot::limits;
use metal_boot::machine::{Directory, Lease, Machine};
use metal_boot::metrics::Metrics;
use metal_boot::offer::Offer;
use metal_boot::table::MachineTable;
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn link(pool: &str, prefix: u8) -> Link {
    let subnet = Subnet::new(Network { address: SERVER, prefix }, vec![pool.parse().unwrap()]);
    let offer =
        Offer { server: SERVER.into(), http_port: 8080, unified: BTreeSet::new(), tftp: BTreeSet::new() };
    Link { interface: "eth0".into(), mode: Mode::Full, server: SERVER, subnets: vec![subnet], offer }
}

fn small() -> Link {
    link("10.0.0.8-10.0.0.39", 24)
}

fn machine(number: u32) -> MacAddress {
    let [a, b, c, d] = number.to_be_bytes();
    MacAddress([0x52, 0x54, a, b, c, d])
}

/// An API that is slow and fails with the probability `fails`.
struct Flaky {
    memory: MachineTable,
    random: Random,
    clock: Clock,
    fails: f64,
}

impl Directory for Flaky {
    fn machine(&self, mac: MacAddress) -> Machine {
        self.memory.machine(mac)
    }

    fn reserved_for(&self, address: Ipv4Addr) -> Option<MacAddress> {
        self.memory.reserved_for(address)
    }

    fn leases(&self) -> Vec<Lease> {
        self.memory.leases()
    }

    fn write_lease(&self, lease: Lease) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            self.clock.sleep(std::time::Duration::from_millis(20)).await;
            if self.random.fraction() < self.fails {
                return Err(Error::Directory { what: "write".into(), source: "away".into() });
            }
            self.memory.write_lease(lease).await
        }
        .boxed()
    }

    fn remove_lease(&self, mac: MacAddress) -> BoxFuture<'_, Result<(), Error>> {
        self.memory.remove_lease(mac)
    }
}

/// The addresses of a server, their journal, and the tasks that write them.
struct Plane {
    addresses: Arc<Addresses>,
    journal: PathBuf,
    link: Link,
    shutdown: CancellationToken,
}

impl Plane {
    fn start(directory: Arc<dyn Directory>, clock: &Clock, journal: PathBuf, link: Link) -> Self {
        let addresses =
            Addresses::open(directory, clock.clone(), &journal, Metrics::of(&Default::default())).unwrap();
        let shutdown = CancellationToken::new();
        addresses.run(&TaskTracker::new(), &shutdown);
        Self { addresses, journal, link, shutdown }
    }

    fn ask(&self, packet: &Packet) -> (Option<Writing>, Option<Answer>) {
        let (writing, answer, _) = self.addresses.decide(
            packet,
            &self.link,
            SERVER_PORT,
            SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68),
        );
        (writing, answer)
    }

    fn offered(&self, mac: MacAddress) -> Option<Ipv4Addr> {
        self.ask(&discover(mac)).1.map(|answer| answer.packet.yours)
    }

    /// Requests `address`, or else the offered one, and returns the address that the machine is told to use.
    async fn take(&self, mac: MacAddress, address: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
        let wanted = address.or_else(|| self.offered(mac))?;
        let mut request = Packet { kind: Kind::Request, ..discover(mac) };
        request.options.set(options::REQUESTED_ADDRESS, wanted.octets());
        let (writing, answer) = self.ask(&request);
        let is_written = match writing {
            Some(writing) => self.addresses.written(writing).await,
            None => true,
        };
        let packet = answer.filter(|_| is_written)?.packet;
        (packet.kind == Kind::Acknowledge).then_some(packet.yours)
    }

    async fn release(&self, mac: MacAddress, address: Ipv4Addr) {
        let packet = Packet { kind: Kind::Release, client: address, ..discover(mac) };
        if let (Some(writing), _) = self.ask(&packet) {
            self.addresses.written(writing).await;
        }
    }

    fn length(&self) -> u64 {
        std::fs::metadata(&self.journal).unwrap().len()
    }
}

fn clock() -> Clock {
    Clock::simulated(machinery::clock::parse_rfc3339("2026-11-22T09:00:00Z").unwrap())
}

/// Returns an error if another machine gets an address of `held`, or if its holder does not get it again.
async fn nobody_else_gets(plane: &Plane, held: &BTreeMap<MacAddress, Ipv4Addr>) -> Result<(), String> {
    for (number, address) in held.values().enumerate() {
        let other = machine(10_000 + u32::try_from(number).unwrap());
        if plane.take(other, Some(*address)).await.is_some() {
            return Err(format!("{address} is two machines'"));
        }
    }
    for number in 20_000..20_064 {
        if let Some(offered) = plane.offered(machine(number))
            && held.values().any(|address| *address == offered)
        {
            return Err(format!("{offered} was offered"));
        }
    }
    for (mac, address) in held {
        if plane.offered(*mac) != Some(*address) {
            return Err(format!("{mac} had {address}"));
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_power_cut_anywhere_in_the_file_takes_no_address_from_who_was_told_of_it() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    // No lease becomes an object, so all of them are in the file.
    let away = Flaky {
        memory: MachineTable::default(),
        random: Random::seeded(1),
        clock: clock.clone(),
        fails: 1.0,
    };
    let plane = Plane::start(Arc::new(away), &clock, folder.path().join("leases"), small());
    let mut told: Vec<(MacAddress, Ipv4Addr, u64)> = Vec::new();
    for group in 0..6 {
        let takes = (0..4).map(|number| {
            let (plane, mac) = (&plane, machine(group * 4 + number));
            async move { (mac, plane.take(mac, None).await.unwrap(), plane.length()) }
        });
        told.extend(join_all(takes).await);
    }
    let content = std::fs::read(&plane.journal).unwrap();
    for cut in (0..=content.len()).step_by(3) {
        let journal = folder.path().join("cut");
        std::fs::write(&journal, [&content[..cut], b"\0\0\0"].concat()).unwrap();
        let held: BTreeMap<MacAddress, Ipv4Addr> = told
            .iter()
            .filter(|(_, _, length)| *length <= cut as u64)
            .map(|(mac, address, _)| (*mac, *address))
            .collect();
        let again = Plane::start(Arc::new(MachineTable::default()), &clock, journal, small());
        nobody_else_gets(&again, &held).await.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        again.shutdown.cancel();
    }
    assert_eq!(told.len(), 24);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_killed_takes_no_address_from_who_was_told_of_it() {
    for seed in 0..40 {
        let (folder, clock, random) = (tempfile::tempdir().unwrap(), clock(), Random::seeded(seed));
        let fails = random.fraction();
        let flaky = Flaky {
            memory: MachineTable::default(),
            random: Random::seeded(seed),
            clock: clock.clone(),
            fails,
        };
        let directory = Arc::new(flaky);
        let mut held: BTreeMap<MacAddress, Ipv4Addr> = BTreeMap::new();
        for life in 0..4 {
            let journal = folder.path().join(format!("leases-{life}"));
            let plane = Plane::start(directory.clone(), &clock, journal, small());
            nobody_else_gets(&plane, &held)
                .await
                .unwrap_or_else(|error| panic!("seed {seed}, life {life}: {error}"));
            // The leases that other machines got meanwhile expire, which frees their addresses.
            clock.sleep(std::time::Duration::from_secs(61)).await;
            for round in 0..5u32 {
                let takes = (0..3).map(|number| {
                    let mac = machine(round * 3 + number);
                    let plane = &plane;
                    async move { (mac, plane.take(mac, None).await) }
                });
                for (mac, address) in join_all(takes).await {
                    held.extend(address.map(|address| (mac, address)));
                }
                if random.fraction() < 0.5
                    && let Some((mac, address)) = held.pop_first()
                {
                    plane.release(mac, address).await;
                }
                let nap = (random.fraction() * 60.0) as u64;
                clock.sleep(std::time::Duration::from_millis(nap)).await;
            }
            plane.shutdown.cancel();
            // The next process starts with the current state of the disk and the API.
            std::fs::copy(&plane.journal, folder.path().join(format!("leases-{}", life + 1))).unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_file_is_emptied_when_its_leases_are_objects() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let flaky = Flaky {
        memory: MachineTable::default(),
        random: Random::seeded(1),
        clock: clock.clone(),
        fails: 0.7,
    };
    let directory = Arc::new(flaky);
    let plane = Plane::start(directory.clone(), &clock, folder.path().join("leases"), small());
    let mac = machine(1);
    let address = plane.take(mac, None).await.unwrap();
    assert!(
        plane.length() > 0 && directory.memory.lease(mac).is_none(),
        "the machine did not wait for the object"
    );
    plane.addresses.wait_until_object(mac).await;
    assert_eq!(directory.memory.lease(mac).map(|lease| lease.address), Some(address));
    for _ in 0..1000 {
        if plane.length() == 0 {
            return;
        }
        clock.sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{} bytes are left", plane.length());
}

#[tokio::test(start_paused = true)]
async fn of_two_leases_of_one_address_the_last_counts() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let directory = Arc::new(MachineTable::default());
    let plane =
        Plane::start(directory.clone(), &clock, folder.path().join("leases"), link("10.0.0.8-10.0.0.8", 24));
    // The machine whose lease has ended is sorted behind the other one.
    let (first, second) = (machine(2), machine(1));
    let address = plane.take(first, None).await.unwrap();
    plane.release(first, address).await;
    assert_eq!(plane.take(second, None).await, Some(address));
    plane.addresses.wait_until_object(first).await;
    plane.addresses.wait_until_object(second).await;
    let other = folder.path().join("other");
    let again = Plane::start(directory, &clock, other, link("10.0.0.8-10.0.0.8", 24));
    assert_eq!(again.take(first, Some(address)).await, None);
    assert_eq!(again.take(second, None).await, Some(address));
}

#[tokio::test(start_paused = true)]
async fn messages_their_answers_and_limits_are_in_the_metrics() {
    let (folder, clock, metrics) = (tempfile::tempdir().unwrap(), clock(), metrics::Metrics::default());
    let journal = folder.path().join("leases");
    let directory = Arc::new(MachineTable::default());
    let addresses = Addresses::open(directory, clock, &journal, Metrics::of(&metrics)).unwrap();
    let (tasks, shutdown) = (TaskTracker::new(), CancellationToken::new());
    addresses.run(&tasks, &shutdown);
    let server = Arc::new(Server::new(small(), addresses, Vec::new()));
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let source = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 68);
    let ask = async |packet: &Packet| server.answer(packet, SERVER_PORT, source, &socket, &tasks).await;
    // Of the 32 addresses of the pool, 24 are for machines that nobody described.
    for number in 0..25 {
        ask(&discover(machine(number))).await;
    }
    let mut request = Packet { kind: Kind::Request, ..discover(machine(100)) };
    request.options.set(options::REQUESTED_ADDRESS, [192, 0, 2, 1]);
    ask(&request).await;
    let text = metrics.text();
    for line in [
        "firstlight_netboot_dhcp_messages_total{version=\"4\",request=\"discover\",answer=\"offer\"} 24\n",
        "firstlight_netboot_dhcp_messages_total{version=\"4\",request=\"discover\",answer=\"none\"} 1\n",
        "firstlight_netboot_dhcp_messages_total{version=\"4\",request=\"request\",answer=\"refuse\"} 1\n",
        "firstlight_limit_reached_total{limit=\"netboot_kept_addresses\"} 1\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    shutdown.cancel();
}

#[tokio::test(start_paused = true)]
async fn machines_that_ask_at_once_for_one_address_do_not_both_get_it() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let wide = link("10.0.8.0-10.0.63.255", 16);
    let directory = Arc::new(MachineTable::default());
    let plane = Plane::start(directory.clone(), &clock, folder.path().join("leases"), wide);
    // A client makes up machines until no more offers are stored.
    for number in 0..=limits::OFFERS {
        plane.offered(machine(50_000 + u32::try_from(number).unwrap()));
    }
    // An address that was offered to none of them.
    let wish = Some(Ipv4Addr::new(10, 0, 63, 255));
    (1..=2).for_each(|number| directory.set(machine(number), Machine { known: true, ..Machine::default() }));
    let both = tokio::join!(plane.take(machine(1), wish), plane.take(machine(2), wish));
    assert!(both.0.is_some() != both.1.is_some(), "{both:?}");
}

#[tokio::test(start_paused = true)]
async fn who_makes_up_machines_leaves_addresses_and_objects_to_others() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let directory = Arc::new(MachineTable::default());
    let plane = Plane::start(directory.clone(), &clock, folder.path().join("leases"), small());
    let mut taken = 0;
    for number in 0..500 {
        let mac = machine(number);
        if let Some(address) = plane.take(mac, None).await {
            taken += 1;
            // Every other machine releases its address; the next number asks as a new machine.
            if number % 2 == 0 {
                plane.release(mac, address).await;
            }
        }
    }
    assert!(taken > 32, "{taken}");
    let known = machine(100_000);
    directory.set(known, Machine { known: true, ..Machine::default() });
    assert!(
        plane.take(known, None).await.is_some(),
        "there is one left for a machine that somebody described"
    );
    assert_eq!(plane.take(machine(100_001), None).await, None, "and none for another stranger");
    plane.addresses.wait_until_object(known).await;
    for _ in 0..1000 {
        if directory.leases().len() <= 25 {
            return;
        }
        clock.sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{} objects for 32 addresses", directory.leases().len());
}
