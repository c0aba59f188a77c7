//! Pure functions.

use node_runtime::groups::{Hierarchy, parse};
use node_runtime::{Order, Range, choose};

fn range(text: &str) -> Range {
    text.parse().unwrap()
}

#[test]
fn hierarchies_of_all_versions() {
    let names = |text: &str| -> Vec<(String, String)> {
        let name = |one: Hierarchy| (one.path.display().to_string(), one.controllers.join(","));
        parse(text).into_iter().map(name).collect()
    };
    let pair = |path: &str, controllers: &str| (path.to_owned(), controllers.to_owned());
    let hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,release_agent=/lib/systemd/agent,name=systemd\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n\
        99 31 0:29 / /mnt/again rw - cgroup cgroup rw,cpu,cpuacct\n";
    let expected = [
        pair("/sys/fs/cgroup/cpu,cpuacct", "cpu,cpuacct"),
        pair("/sys/fs/cgroup/systemd", "name=systemd"),
        pair("/sys/fs/cgroup/unified", ""),
    ];
    assert_eq!(names(hybrid), expected);
    let second =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";
    assert_eq!(names(second), [pair("/sys/fs/cgroup", "")]);
    assert_eq!(names("not a line\n1 2 3\n"), []);
}

#[test]
fn ranges_are_read_and_compared() {
    for text in ["10.93.7.0/24", "10.0.0.0/16", "192.168.1.8/29"] {
        assert_eq!(range(text).to_string(), text);
    }
    for text in ["", "10.93.7.0", "10.93.7.1/24", "10.0.0.0/8", "10.0.0.0/30", "10.0.0.0/x", "10.0.0.0/99"] {
        let refused = text.parse::<Range>().unwrap_err().to_string();
        assert!(refused.contains("is no range of addresses"), "{refused}");
    }
    for (first, second, expected) in [
        ("10.93.7.0/24", "10.93.7.0/24", true),
        ("10.93.7.0/24", "10.93.0.0/16", true),
        ("10.93.7.0/24", "10.93.8.0/24", false),
    ] {
        assert_eq!(range(first).overlaps(range(second)), expected, "{first} {second}");
        assert_eq!(range(second).overlaps(range(first)), expected, "{second} {first}");
    }
}

#[test]
fn a_free_range_is_chosen() {
    let default = Range { address: [0, 0, 0, 0].into(), length: 0 };
    let chosen = |identity: &str, used: &[Range]| choose(None, identity, used).map(|range| range.to_string());
    assert_eq!(chosen("0000007", &[default]).unwrap(), "10.93.7.0/24");
    assert_eq!(chosen("0000007", &[range("10.93.7.0/24"), range("10.93.8.0/23")]).unwrap(), "10.93.10.0/24");
    assert_eq!(chosen("00000ff", &[range("10.93.255.0/24")]).unwrap(), "10.93.0.0/24");
    assert!(chosen("00000ff", &[range("10.93.0.0/16")]).is_err());
    let wanted = |used: &[Range]| choose(Some(range("172.30.0.0/16")), "0", used);
    assert!(wanted(&[default]).is_ok());
    let refused = wanted(&[range("172.30.5.0/24")]).unwrap_err().to_string();
    assert!(refused.contains("collides with the route to 172.30.5.0/24"), "{refused}");
}

#[test]
fn addresses_are_given_in_order() {
    let network = range("192.168.1.8/29");
    let taken = ["192.168.1.10", "192.168.1.11"].map(|address| address.parse().unwrap());
    assert_eq!(network.gateway().to_string(), "192.168.1.9");
    let first = |taken: &[_], order| network.free(None, taken, order).map(|address| address.to_string());
    assert_eq!(first(&taken, Order::Ascending).unwrap(), "192.168.1.12");
    assert_eq!(first(&taken, Order::Descending).unwrap(), "192.168.1.14");
    let all: Vec<_> = (10..15).map(|last| [192, 168, 1, last].into()).collect();
    for order in [Order::Ascending, Order::Descending] {
        assert!(first(&all, order).unwrap_err().to_string().contains("has no free address"));
    }
    for (address, is_free) in [
        ("192.168.1.12", true),
        ("192.168.1.10", false),
        ("192.168.1.9", false),
        ("192.168.1.8", false),
        ("192.168.1.15", false),
        ("192.168.1.16", false),
    ] {
        assert_eq!(
            network.free(Some(address.parse().unwrap()), &taken, Order::Ascending).is_ok(),
            is_free,
            "{address}"
        );
    }
}
