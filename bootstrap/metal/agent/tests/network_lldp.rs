//! Tests of `network::lldp`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::os::fd::AsRawFd as _;
use std::process::Command;
use std::time::Duration;

use agent::testing::lldp::{Neighbour, Neighbours, PERIOD, WAIT_MAX};
use agent::testing::{Journal, Known, Links, inventory};
use machinery::clock::Clock;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::bind;
use serde_json::json;
use socket2::{Domain, Socket, Type};
use tokio::time::timeout;

/// The environment variable that marks the inner run of a test.
const INSIDE: &str = "FIRSTLIGHT_TEST_INSIDE";
/// The time after which a wait in these tests fails.
const DEADLINE: Duration = Duration::from_secs(20);

/// The interval at which the test switch repeats its message.
const AGAIN: Duration = Duration::from_millis(50);

/// Runs the test `name` again in its own network namespace, with a cable from `va` to `vb`. Returns `true` in that inner run.
fn inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let script = format!(
        "ip link add va type veth peer name vb && ip link set vb up && \
         exec \"$0\" --exact metal_agent::network_lldp::{name} --nocapture"
    );
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-c", &script]).arg(std::env::current_exe().unwrap());
    let output = command.env(INSIDE, "1").output().expect("unshare of util-linux is needed");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

/// Writes the files of a machine with the interface `va`; `carrier` is `1` if its cable is plugged in.
fn machine(index: u32, carrier: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let interface = folder.path().join("sys/class/net/va");
    std::fs::create_dir_all(interface.join("device")).unwrap();
    let index = index.to_string();
    for (name, text) in
        [("type", "1"), ("ifindex", &index), ("address", "52:54:00:00:00:01"), ("carrier", carrier)]
    {
        std::fs::write(interface.join(name), format!("{text}\n")).unwrap();
    }
    folder
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Returns a frame of a switch with these fields.
fn frame(fields: &[(u8, &[u8])]) -> Vec<u8> {
    let mut frame = vec![0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x00, 0x1c, 0x73, 1, 2, 3, 0x88, 0xcc];
    for (kind, value) in fields {
        frame.extend([kind << 1, u8::try_from(value.len()).unwrap()]);
        frame.extend(*value);
    }
    frame.resize(frame.len().max(60), 0);
    frame
}

/// Opens a socket that sends frames on an interface.
fn sender(interface: &str) -> Socket {
    let socket = Socket::new(Domain::PACKET, Type::RAW, None).unwrap();
    let address = getifaddrs()
        .unwrap()
        .filter(|entry| entry.interface_name == interface)
        .find_map(|entry| entry.address?.as_link_addr().copied());
    bind(socket.as_raw_fd(), &address.unwrap()).unwrap();
    socket
}

/// Sends the frame until the neighbours satisfy `until`: the first frames are lost while the other end is not up yet.
async fn tell(
    switch: &Socket,
    frame: &[u8],
    neighbours: &Neighbours,
    until: impl Fn(&BTreeMap<u32, Neighbour>) -> bool,
) {
    let mut heard = neighbours.changes();
    let told = async {
        while !until(&heard.borrow_and_update()) {
            let _ = switch.send(frame);
            let _ = timeout(AGAIN, heard.changed()).await;
        }
    };
    timeout(DEADLINE, told).await.expect("what the switch says is heard");
}

#[test]
fn a_switch_is_heard_on_the_wire() {
    if inside("a_switch_is_heard_on_the_wire") {
        runtime().block_on(async {
            let clock = Clock::system();
            let neighbours = Neighbours::listen(&clock, &Journal::new(clock.clone())).unwrap();
            let index = if_nametoindex("va").unwrap();
            Links::open().unwrap().up(index).await.unwrap();
            let shown = Command::new("ip").args(["link", "show", "va"]).output().unwrap().stdout;
            let shown = String::from_utf8_lossy(&shown);
            assert!(shown.contains("ALLMULTI"), "a card may keep the group's packets: {shown}");

            let switch = sender("vb");
            let message = frame(&[
                (1, &[4, 0, 0x1c, 0x73, 1, 2, 3]),
                (2, b"\x05Ethernet1/7"),
                (3, &[0, 120]),
                (5, b"leaf-3"),
                (127, &[0, 0x80, 0xc2, 1, 0, 10]),
                (127, b"\x00\x80\xc2\x03\x00\x14\x07storage"),
                (0, &[]),
            ]);
            let folder = machine(index, "1");
            let root = folder.path();
            tell(&switch, &message, &neighbours, |heard| heard.contains_key(&index)).await;
            let known = Known { neighbours: neighbours.heard(), ..Known::default() };
            let expected = json!([{
                "name": "va", "mac": "52:54:00:00:00:01", "pxe": false, "vlanId": 10, "vlans": [{"id": 20, "name": "storage"}],
                "lldp": {"switchID": "00:1c:73:01:02:03", "portID": "Ethernet1/7", "switchSystemName": "leaf-3"},
            }]);
            assert_eq!(inventory(root, &known)["nics"], expected);

            let goodbye = frame(&[(1, &[4, 0, 0x1c, 0x73, 1, 2, 3]), (2, b"\x05Ethernet1/7"), (3, &[0, 0])]);
            tell(&switch, &goodbye, &neighbours, BTreeMap::is_empty).await;
        });
    }
}

#[test]
fn who_says_nothing_is_not_waited_for_long() {
    let now = Clock::system().monotonic();
    let cases = [
        ("nobody has listened", "1", None, false),
        ("it would have spoken by now", "1", Some(now), false),
        ("no cable", "0", Some(now + PERIOD), false),
        ("it may speak yet", "1", Some(now + PERIOD), true),
    ];
    runtime().block_on(async {
        for (case, carrier, until, is_waited_for) in cases {
            let folder = machine(7, carrier);
            let neighbours = Neighbours::expected_until(until);
            let before = Clock::system().monotonic();
            let net = folder.path().join("sys/class/net");
            timeout(DEADLINE, neighbours.settle(&net)).await.expect("nobody waits for ever");
            let waited = Clock::system().monotonic().duration_since(before);
            assert_eq!(waited >= WAIT_MAX, is_waited_for, "{case}: {waited:?}");
            // A switch that has announced itself is not waited for.
            let neighbours = Neighbours::expected_until(Some(now + 2 * PERIOD));
            neighbours.note(7, Neighbour::default());
            let before = Clock::system().monotonic();
            neighbours.settle(&net).await;
            assert!(Clock::system().monotonic().duration_since(before) < WAIT_MAX, "{case}");
        }
    });
}
