//! The index of kernel modules.

use agent_protocol::modules::{Index, Module, matches};

fn module(name: &str, depends: &[&str], aliases: &[&str]) -> Module {
    let strings = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    Module {
        name: name.into(),
        path: format!("{name}.ko"),
        depends: strings(depends),
        aliases: strings(aliases),
    }
}

#[test]
fn patterns_of_devices() {
    let cases = [
        ("pci:v00001AF4d*sv*sd*bc*sc*i*", "pci:v00001AF4d00001000sv00001AF4sd00000001bc02sc00i00", true),
        ("pci:v00001AF4d*", "pci:v00008086d00001000", false),
        ("virtio:d00000001v*", "virtio:d00000001v00001AF4", true),
        ("usb:v*p*d*dc*dsc*dp*ic08isc06ip50in*", "usb:v1p2d3dc00dsc00dp00ic08isc06ip50in00", true),
        ("acpi*:PNP0C0[A-F]:*", "acpi:PNP0C0B:", true),
        ("acpi*:PNP0C0[A-F]:*", "acpi:PNP0C09:", false),
        ("x?z", "xyz", true),
        ("x?z", "xz", false),
        ("", "", true),
        ("*", "", true),
        ("a", "", false),
        ("[", "x", false),
        ("a*b*c", "aXbYbc", true),
    ];
    for (pattern, text, expected) in cases {
        assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
    }
}

#[test]
fn dependencies_come_first_and_once() {
    let index = Index {
        modules: vec![
            module("virtio_net", &["net_failover", "virtio-ring"], &["virtio:d00000001v*"]),
            module("net_failover", &["failover"], &[]),
            module("failover", &[], &[]),
            module("virtio_ring", &["failover", "virtio_net"], &[]),
        ],
    };
    let names = |name: &str| index.order(name).iter().map(|m| m.name.clone()).collect::<Vec<_>>();
    // The dependency cycle through virtio_ring is broken.
    assert_eq!(names("virtio-net"), ["failover", "net_failover", "virtio_ring", "virtio_net"]);
    assert!(names("missing").is_empty());
    assert_eq!(index.wanted("virtio:d00000001v00001AF4"), ["virtio_net"]);
}
