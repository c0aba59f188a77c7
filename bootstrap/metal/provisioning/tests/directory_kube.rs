//! Tests of `directory::kube`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::Ipv4Addr;

use agent_protocol::dhcp::MacAddress;
use machinery::clock::parse_rfc3339;
use metal_boot::machine::Lease;
use metal_provisioning::directory::kube::{patch, read, written};
use schemas::netboot::DhcpLeaseSpec;

fn lease() -> Lease {
    Lease {
        mac: MacAddress([0x52, 0x54, 0, 0, 0, 1]),
        address: Ipv4Addr::new(10, 0, 0, 9),
        expires: parse_rfc3339("2026-11-22T09:00:00Z").unwrap(),
        host_name: Some("node-1".into()),
        interface: "eth0".into(),
        relay: Some(Ipv4Addr::new(10, 1, 0, 1)),
        architecture: Some("bios".into()),
        vendor_class: Some("PXEClient".into()),
    }
}

#[test]
fn a_lease_is_kept_as_an_object() {
    assert_eq!(read(&written(&lease())), Some(lease()));
    assert_eq!(read(&DhcpLeaseSpec { expiration_time: None, ..written(&lease()) }), None, "a reservation");
    assert_eq!(read(&DhcpLeaseSpec { ip_address: "none".into(), ..written(&lease()) }), None);
}

#[test]
fn a_reservation_stays_one_and_the_firmware_is_remembered() {
    let system = Lease { architecture: None, vendor_class: Some("dhclient".into()), ..lease() };
    let kept = patch(&written(&lease()), &system);
    assert!(kept.get("architecture").is_none() && kept.get("vendorClass").is_none(), "{kept}");
    assert_eq!(kept["expirationTime"], "2026-11-22T09:00:00Z");
    let reservation = DhcpLeaseSpec { expiration_time: None, ..written(&lease()) };
    assert!(patch(&reservation, &lease()).get("expirationTime").is_none());
}
