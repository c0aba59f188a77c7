//! Tests of `identity`.

use engine::NamespacedName;
use metal::identity::{Identity, conflict, is_of};
use metal::names::{SERIAL_NUMBER, SYSTEM_UUID};
use schemas::metal3::{BareMetalHost, HardwareData, HardwareDetails, HardwareSystemVendor};
use schemas::netboot::{Agent, AgentSpec, AgentStatus};

fn agent(serial: &str, proven_by: Option<&str>, approved: bool) -> Agent {
    Agent {
        spec: AgentSpec { approved: Some(approved), ..AgentSpec::default() },
        status: Some(AgentStatus {
            boot_mac_address: Some("52:54:00:00:00:01".into()),
            mac_addresses: vec!["52:54:00:00:00:01".into(), "52:54:00:00:00:02".into()],
            proven_by: proven_by.map(str::to_owned),
            serial_number: Some(serial.into()),
            system_uuid: Some("4C4C4544-0000-0000-0000-000000000001".into()),
            ..AgentStatus::default()
        }),
        ..Agent::default()
    }
}

fn host(mac: Option<&str>, annotations: &[(&str, &str)]) -> BareMetalHost {
    let mut host = BareMetalHost::default();
    host.spec.boot_mac_address = mac.map(str::to_owned);
    let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    host.metadata.annotations = Some(annotations.collect());
    host
}

fn inspected(serial: &str) -> HardwareData {
    let vendor =
        HardwareSystemVendor { serial_number: Some(serial.into()), ..HardwareSystemVendor::default() };
    let mut data = HardwareData::default();
    data.spec.hardware = Some(HardwareDetails { system_vendor: Some(vendor), ..HardwareDetails::default() });
    data
}

#[test]
fn what_a_machine_says_of_itself_counts_when_a_person_vouches_for_it() {
    let uuid = (SYSTEM_UUID, "4c4c4544-0000-0000-0000-000000000001");
    let cases = [
        (host(Some("52:54:00:00:00:01"), &[]), None, "S1", false),
        (host(Some("52:54:00:00:00:0F"), &[uuid]), None, "S1", false),
        (host(None, &[]), None, "S1", false),
        (host(None, &[uuid]), None, "S1", true),
        (host(None, &[(SYSTEM_UUID, "another"), (SERIAL_NUMBER, "S1")]), None, "S1", false),
        (host(None, &[(SERIAL_NUMBER, "S1 ")]), None, "S1", true),
        (host(None, &[]), Some(inspected("S1")), "S1", true),
        (host(None, &[]), Some(inspected("S2")), "S1", false),
        (host(None, &[]), Some(inspected("Not Specified")), "Not Specified", false),
        (host(None, &[(SERIAL_NUMBER, "")]), None, "", false),
    ];
    for (number, (host, hardware, serial, expected)) in cases.into_iter().enumerate() {
        let identity = Identity::of(&host, hardware.as_ref());
        for (proven_by, approved) in
            [(None, true), (Some("Token"), true), (None, false), (Some("Token"), false)]
        {
            let vouched = identity.is_vouched_for(&agent(serial, proven_by, approved));
            assert_eq!(vouched, expected && approved, "case {number} {proven_by:?} {approved}");
        }
    }
}

#[test]
fn a_mac_address_counts_when_it_was_shown() {
    for (mac, proven_by, approved, expected) in [
        ("52:54:00:00:00:01", Some("Token"), false, true),
        ("52:54:00:00:00:01", Some("EndorsementKey"), false, true),
        ("52:54:00:00:00:01", None, true, true),
        ("52:54:00:00:00:01", None, false, false),
        // The MAC address of another interface that the machine claims.
        ("52:54:00:00:00:02", Some("Token"), false, false),
        ("52:54:00:00:00:02", None, true, false),
    ] {
        let found = Identity::of(&host(Some(mac), &[]), None).is_of(&agent("S1", proven_by, approved));
        assert_eq!(found, expected, "{mac} {proven_by:?} {approved}");
    }
}

#[test]
fn a_conflict_names_the_others() {
    let claimants = [NamespacedName::new("a", "x"), NamespacedName::new("b", "y")];
    let told = conflict("52-54-00-00-00-01", &claimants[0], &claimants);
    assert!(told.contains("b/y") && !told.contains("a/x"), "{told}");
    assert!(is_of(&told, "52-54-00-00-00-01") && !is_of(&told, "52-54-00-00-00-02"));
}
