//! Checks that errors at the start say how to fix them. Each test runs itself again in a network namespace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use metal_boot::Error;
use metal_boot::moving_address::MovingAddress;
use metal_boot::network::Interface;
use metal_boot::services::InterfaceConfiguration;
use metal_boot::table::MachineTable;
use metal_provisioning::{Configuration, Dependencies};

/// The environment variable that marks the inner run of a test.
const INSIDE: &str = "FIRSTLIGHT_TEST_INSIDE";

/// The arguments with which this program runs only one test of this file.
fn only(name: &str) -> String {
    // The name of a test has no name of its program.
    let (_, here) = module_path!().split_once("::").unwrap();
    format!("--exact {here}::{name} --nocapture")
}

/// Runs the test `name` again in its own network namespace, after `prepare`. Returns `true` in that inner run.
fn inside(name: &str, prepare: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let script = format!("{prepare} exec \"$0\" {}", only(name));
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

const ADDRESS: &str = "ip link set lo up && ip address add 10.77.0.1/24 dev lo &&";

fn configuration(interface: InterfaceConfiguration, folder: &Path) -> Configuration {
    Configuration {
        interfaces: vec![interface],
        boot: Default::default(),
        images: None,
        bundles: Default::default(),
        bundle_files: None,
        registry: None,
        leases: folder.join("leases"),
        http_port: 8080,
        https_port: 8443,
        tls: None,
    }
}

fn dependencies() -> Dependencies {
    Dependencies {
        clock: Clock::system(),
        random: Random::system(),
        metrics: Default::default(),
        directory: Arc::new(MachineTable::default()),
        kube: None,
    }
}

/// Returns the error with which the services fail to start on the loopback interface.
fn start() -> Error {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let configuration = configuration(InterfaceConfiguration::new("lo"), folder.path());
    runtime.block_on(async {
        metal_provisioning::start(configuration, dependencies()).await.err().expect("no start")
    })
}

#[test]
fn an_interface_that_is_not_there() {
    if inside("an_interface_that_is_not_there", "") {
        let error = Interface::find("eth7").unwrap_err().to_string();
        assert_eq!(error, "there is no interface \"eth7\"; this machine has lo");
    }
}

#[test]
fn an_interface_without_an_address() {
    if inside("an_interface_without_an_address", "ip link set lo down;") {
        let error = start().to_string();
        assert!(error.contains("has no IPv4 address: give it one"), "{error}");
        assert!(error.contains("ip address add 10.0.0.1/24 dev lo"), "{error}");
    }
}

#[test]
fn another_program_has_the_port() {
    if inside("another_program_has_the_port", ADDRESS) {
        let _other = UdpSocket::bind("0.0.0.0:67").unwrap();
        let error = start().to_string();
        assert!(error.contains("DHCP on lo: port 67 is in use by another program"), "{error}");
        assert!(error.contains("ss -lnp 'sport = :67'") && error.contains("stop it"), "{error}");
    }
}

#[test]
fn somebody_who_is_not_root() {
    // The process is root in the namespace, but has no capabilities.
    let test = only("somebody_who_is_not_root");
    let prepare = format!("{ADDRESS} exec setpriv --bounding-set=-all --inh-caps=-all \"$0\" {test};");
    if inside("somebody_who_is_not_root", &prepare) {
        let error = start().to_string();
        assert!(error.contains("not permitted: run as root"), "{error}");
        assert!(error.contains("CAP_NET_BIND_SERVICE and CAP_NET_RAW"), "{error}");
    }
}

#[test]
fn another_server_gives_addresses_of_ipv6() {
    let prepare = "ip link add va type veth peer name vb && \
        for one in va vb; do echo 0 > /proc/sys/net/ipv6/conf/$one/accept_dad; ip link set $one up; done; \
        ip address add fd00:1::1/64 dev va nodad && ip address add 10.77.0.1/24 dev va && ip address add 10.77.0.2/24 dev vb && \
        ip address add fd00:1::2/64 dev vb nodad &&";
    if inside("another_server_gives_addresses_of_ipv6", prepare) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let random = Random::system();
            let look = async || {
                metal_boot::dhcp6::probe::other_server(&Interface::find("vb").unwrap(), &random)
                    .await
                    .unwrap()
            };
            assert_eq!(look().await, None, "it is alone");
            let mut interface = InterfaceConfiguration::new("va");
            interface.prefix_v6 = Some("fd00:1::".parse().unwrap());
            let handle = metal_provisioning::start(configuration(interface, folder.path()), dependencies())
                .await
                .unwrap();
            let found = look().await;
            assert!(found.is_some_and(|server| server.is_ipv6()), "{found:?}");
            handle.stop().await;
        });
    }
}

#[test]
fn an_address_that_somebody_else_has_configured_is_neither_taken_nor_removed() {
    let prepare = "ip link set lo up && ip link add va type veth peer name vb && ip link set va up && ip link set vb up && \
        ip address add 10.77.0.2/24 dev va && ip address add 10.77.0.1/16 dev va && \
        ip address add 10.77.0.3/24 dev va valid_lft 3600 preferred_lft 3600 && \
        ip address add 10.77.0.4/24 dev va valid_lft 60 preferred_lft 60 &&";
    if inside("an_address_that_somebody_else_has_configured_is_neither_taken_nor_removed", prepare) {
        let before = Interface::find("va").unwrap().networks;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let clock = Clock::system();
            let take = |network: &str| MovingAddress::take("va", network.parse().unwrap(), &clock);
            for (wanted, held) in [
                ("10.77.0.2/24", "10.77.0.2/24"),
                ("10.77.0.1/24", "10.77.0.1/16"),
                ("10.77.0.3/24", "10.77.0.3/24"),
            ] {
                let error = take(wanted).await.err().unwrap().to_string();
                assert!(error.starts_with(&format!("{held} is configured on va already")), "{error}");
                assert!(error.contains(&format!("`ip address del {held} dev va`")), "{error}");
            }
            assert_eq!(Interface::find("va").unwrap().networks, before);
            // What a killed server has left is taken, and given up.
            take("10.77.0.4/24").await.unwrap().release().await;
            assert_eq!(Interface::find("va").unwrap().networks.len(), before.len() - 1);
        });
    }
}

#[test]
fn an_address_that_another_machine_has_is_not_taken() {
    let prepare = "unshare --net sleep 300 > /dev/null 2>&1 & peer=$!; \
        until [ \"$(readlink /proc/$peer/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do :; done; \
        ip link set lo up && ip link add va type veth peer name vb netns $peer && ip address add 10.77.0.2/24 dev va && ip link set va up && \
        nsenter -t $peer -n ip address add 10.77.0.1/24 dev vb && nsenter -t $peer -n ip link set vb up && PEER=$peer";
    if inside("an_address_that_another_machine_has_is_not_taken", prepare) {
        let peer = std::env::var("PEER").unwrap();
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let network = "10.77.0.1/24".parse().unwrap();
        assert_eq!(Interface::in_network("10.77.0.0/24".parse().unwrap()).unwrap(), "va");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let clock = Clock::system();
            let take = || MovingAddress::take("va", network, &clock);
            let error = take().await.err().unwrap().to_string();
            assert!(error.starts_with("10.77.0.1 is in use by another machine on va"), "{error}");
            run("nsenter", &["-t", &peer, "-n", "ip", "address", "del", "10.77.0.1/24", "dev", "vb"]);
            let held = take().await.unwrap();
            let found = Interface::find("va").unwrap();
            assert_eq!(found.networks.len(), 2);
            assert_eq!(found.only(Some(network.address)).unwrap().networks, [network]);
            let shown = run("ip", &["-o", "address", "show", "dev", "va", "to", "10.77.0.1"]);
            assert!(shown.contains("sec") && !shown.contains("forever"), "it ends by itself: {shown}");
            // A server that was killed leaves the address, and its successor takes it again.
            let again = take().await.unwrap();
            again.release().await;
            assert_eq!(Interface::find("va").unwrap().networks.len(), 1);
            held.release().await;
        });
        run("kill", &[&peer]);
    }
}
