//! The network of containers.

use crate::fixture::Fixture;

#[test]
fn containers_reach_each_other_the_machine_and_the_outside() {
    let Some(fixture) = Fixture::new() else { return };
    // Another machine, which knows no way back to the containers.
    let Some(outside) = Fixture::new() else { return };
    fixture.run(
        "ip",
        &["link", "add", "uplink", "type", "veth", "peer", "name", "uplink", "netns", &outside.pid()],
    );
    fixture.run("ip", &["addr", "add", "203.0.113.1/24", "dev", "uplink"]);
    fixture.run("ip", &["link", "set", "uplink", "up"]);
    outside.run("ip", &["addr", "add", "203.0.113.2/24", "dev", "uplink"]);
    outside.run("ip", &["link", "set", "uplink", "up"]);
    let first = fixture.create_and_start("one");
    let second = fixture.create_and_start("two");
    let ping = |address: &str| fixture.shell("one", &format!("ping -c 1 -W 10 {address}"));
    ping(second["address"].as_str().unwrap());
    ping("203.0.113.1");
    ping("203.0.113.2");
    let gateway = first["address"].as_str().unwrap().strip_suffix("2").unwrap().to_owned() + "1";
    ping(&gateway);
    assert_eq!(
        fixture.shell("one", &format!("grep -c {} /etc/hosts", first["address"].as_str().unwrap())),
        "1\n"
    );
}
