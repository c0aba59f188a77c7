//! The network of containers.

use crate::world::World;

#[test]
fn containers_reach_each_other_the_machine_and_the_outside() {
    let Some(world) = World::new() else { return };
    // Another machine, which knows no way back to the containers.
    let Some(outside) = World::new() else { return };
    world.run(
        "ip",
        &["link", "add", "uplink", "type", "veth", "peer", "name", "uplink", "netns", &outside.pid()],
    );
    world.run("ip", &["addr", "add", "203.0.113.1/24", "dev", "uplink"]);
    world.run("ip", &["link", "set", "uplink", "up"]);
    outside.run("ip", &["addr", "add", "203.0.113.2/24", "dev", "uplink"]);
    outside.run("ip", &["link", "set", "uplink", "up"]);
    let first = world.create_and_start("one");
    let second = world.create_and_start("two");
    let ping = |address: &str| world.shell("one", &format!("ping -c 1 -W 10 {address}"));
    ping(second["address"].as_str().unwrap());
    ping("203.0.113.1");
    ping("203.0.113.2");
    let gateway = first["address"].as_str().unwrap().strip_suffix("2").unwrap().to_owned() + "1";
    ping(&gateway);
    assert_eq!(
        world.shell("one", &format!("grep -c {} /etc/hosts", first["address"].as_str().unwrap())),
        "1\n"
    );
}
