//! Tests of `agents::proof`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::IpAddr;

use agent_protocol::Enrolment;
use agent_protocol::dhcp::MacAddress;
use chrono::{DateTime, Duration, Utc};
use machinery::clock::{parse_rfc3339, rfc3339};
use metal_provisioning::agents::proof::{EnrolRequest, Proof, check, enrolled, name, prove};
use metal_provisioning::agents::refusal::Refusal;
use metal_provisioning::directory::BootToken;
use metal_provisioning::fingerprint::fingerprint;
use metal_provisioning::limits;
use schemas::netboot::AgentStatus;
use serde_json::{Value, json};

fn at(seconds: i64) -> DateTime<Utc> {
    parse_rfc3339("2026-11-22T09:00:00Z").unwrap() + Duration::seconds(seconds)
}

fn enrolment(boot: &str) -> Enrolment {
    Enrolment {
        boot_mac_address: "52:54:00:00:00:01".into(),
        mac_addresses: vec!["52:54:00:00:00:01".into(), "52:54:00:00:00:02".into()],
        boot_id: boot.into(),
        ..Enrolment::default()
    }
}

fn request<'a>(
    enrolment: &'a Enrolment,
    certificate: &'a str,
    lease_holder: Option<MacAddress>,
) -> EnrolRequest<'a> {
    EnrolRequest {
        enrolment,
        certificate,
        endorsement: None,
        address: "::ffff:10.0.0.9".parse().unwrap(),
        lease_holder,
        is_elsewhere: false,
        heard: None,
        boot_mode: Some("UEFI"),
        tokens: &[],
        is_host: false,
        is_approved: false,
    }
}

fn mac(last: u8) -> MacAddress {
    MacAddress([0x52, 0x54, 0, 0, 0, last])
}

#[test]
fn a_machine_has_the_name_of_the_interface_that_it_speaks_from() {
    let address = IpAddr::from([10, 0, 0, 9]);
    // The claim about its other interfaces is not considered.
    for (holder, expected) in
        [(None, true), (Some(mac(1)), true), (Some(mac(2)), false), (Some(mac(3)), false)]
    {
        let named = name(&enrolment("first"), address, holder);
        assert_eq!(named.is_ok(), expected, "{holder:?}");
        assert!(named.is_err() || named == Ok(mac(1)));
    }
    let none = Enrolment { boot_mac_address: "eth0".into(), ..enrolment("first") };
    assert!(matches!(name(&none, address, None), Err(Refusal::Malformed(_))));
}

#[test]
fn who_is_let_in() {
    let known = |proven_by: Option<&str>| AgentStatus {
        certificate_sha256: Some("aa".into()),
        boot_id: Some("first".into()),
        last_seen_time: Some(rfc3339(at(0))),
        proven_by: proven_by.map(str::to_owned),
        ..AgentStatus::default()
    };
    let (fresh, unproven, token) = (AgentStatus::default(), known(None), known(Some("Token")));
    let told = [(BootToken { sha256: fingerprint(b"t"), time: at(0) }, false)];
    let shown = Some(Proof::Token);
    // Name, known status, whether it is a host, certificate, start, whether it has the lease, whether it shows its token, time, and the
    // expected result.
    type Case<'a> =
        (&'a str, Option<&'a AgentStatus>, bool, &'a str, &'a str, bool, bool, i64, Option<Option<Proof>>);
    let cases: [Case<'_>; 18] = [
        ("the first", None, false, "aa", "first", true, true, 0, Some(shown)),
        ("the first, with nothing to show", None, false, "aa", "first", true, false, 0, Some(None)),
        ("the same, without a lease", None, false, "aa", "first", false, false, 0, Some(None)),
        ("an object without a machine", Some(&fresh), false, "aa", "first", true, true, 0, Some(shown)),
        ("again", Some(&token), true, "aa", "first", true, false, 1, Some(shown)),
        ("again, without a lease", Some(&token), true, "aa", "first", false, false, 1, Some(shown)),
        ("again, unproven", Some(&unproven), false, "aa", "first", true, false, 1, Some(None)),
        ("another certificate", Some(&token), true, "bb", "first", true, true, 60, None),
        ("another start, too soon", Some(&token), true, "bb", "second", true, true, 5, None),
        (
            "another start, but the first still speaks",
            Some(&token),
            true,
            "bb",
            "second",
            true,
            true,
            20,
            None,
        ),
        ("another start", Some(&token), true, "bb", "second", true, true, 6, Some(shown)),
        (
            "another start of a host, with nothing to show",
            Some(&token),
            true,
            "bb",
            "second",
            true,
            false,
            60,
            None,
        ),
        ("the same certificate in another start", Some(&token), true, "aa", "second", true, false, 60, None),
        ("somebody without a lease", Some(&token), false, "bb", "second", false, false, 60, None),
        (
            "another start of no host, with nothing to show",
            Some(&token),
            false,
            "bb",
            "second",
            true,
            false,
            60,
            Some(None),
        ),
        (
            "somebody takes the place of one with nothing to show",
            Some(&unproven),
            false,
            "bb",
            "second",
            true,
            false,
            5,
            None,
        ),
        ("the machine itself takes it", Some(&unproven), false, "bb", "second", true, true, 1, Some(shown)),
        ("and in any start", Some(&unproven), false, "bb", "first", true, true, 1, Some(shown)),
    ];
    for (name, known, is_host, certificate, boot, has_lease, shows, seconds, expected) in cases {
        let enrolment = Enrolment { token: shows.then(|| "t".to_owned()), ..enrolment(boot) };
        let request = EnrolRequest {
            heard: name.ends_with("speaks").then(|| at(seconds - 5)),
            is_host,
            tokens: if shows { &told } else { &[] },
            ..request(&enrolment, certificate, has_lease.then(|| mac(1)))
        };
        let proved = prove(&request, mac(1), known, at(seconds));
        assert_eq!(proved.as_ref().ok().copied(), expected, "{name}: {proved:?}");
    }
}

#[test]
fn a_person_lets_one_machine_in_and_its_word_alone_nobody() {
    let known = AgentStatus {
        certificate_sha256: Some("aa".into()),
        boot_id: Some("first".into()),
        proven_by: Some("Token".into()),
        ..AgentStatus::default()
    };
    let enrolment = enrolment("second");
    for (is_host, is_approved, is_elsewhere, has_lease, expected) in [
        (true, false, false, true, Err(true)),
        (true, true, false, true, Ok(Some(Proof::Approval))),
        (true, true, false, false, Ok(Some(Proof::Approval))),
        (false, false, true, false, Err(false)),
    ] {
        let lease_holder = has_lease.then(|| mac(1));
        let request =
            EnrolRequest { is_host, is_approved, is_elsewhere, ..request(&enrolment, "bb", lease_holder) };
        let proved = prove(&request, mac(1), Some(&known), at(60));
        let found = proved.as_ref().map(|proof| *proof);
        let found = found.map_err(|refusal| matches!(refusal, Refusal::Unproven(_)));
        assert_eq!(found, expected, "{is_host} {is_approved} {is_elsewhere} {has_lease}: {proved:?}");
        if let Err(Refusal::Unproven(text)) = proved {
            assert!(text.contains("firstlight metal approve 52-54-00-00-00-01"), "{text}");
        }
    }
}

/// The tokens given, the token shown, the certificate's status, the time in seconds, and whether the agent may enrol.
type Case<'a> = (&'a str, &'a [(BootToken, bool)], Option<&'a str>, Option<&'a AgentStatus>, i64, bool);

#[test]
fn a_token_lets_one_agent_in() {
    let told = |text: &str, seconds| BootToken { sha256: fingerprint(text.as_bytes()), time: at(seconds) };
    let known = AgentStatus {
        certificate_sha256: Some("aa".into()),
        boot_id: Some("first".into()),
        ..AgentStatus::default()
    };
    let (fresh, spent) = ([(told("t", 0), false)], [(told("t", 0), true)]);
    let cases: [Case<'_>; 9] = [
        ("none was told", &[], None, None, 0, true),
        ("its own", &fresh, Some("t"), None, 0, true),
        ("after a long start", &fresh, Some("t"), None, 3600, true),
        ("another one", &fresh, Some("u"), None, 0, false),
        ("one that nobody was told", &[], Some("t"), None, 0, false),
        ("none, although one was told", &fresh, None, None, 0, false),
        ("none, long after one was told", &fresh, None, None, 900, true),
        ("one that was used", &spent, Some("t"), None, 0, false),
        ("one that it has used itself", &spent, Some("t"), Some(&known), 0, true),
    ];
    for (name, tokens, shown, known, seconds, expected) in cases {
        let enrolment = Enrolment { token: shown.map(str::to_owned), ..enrolment("first") };
        let request = EnrolRequest { tokens, ..request(&enrolment, "aa", Some(mac(1))) };
        let proved = prove(&request, mac(1), known, at(seconds));
        assert_eq!(proved.is_ok(), expected, "{name}: {proved:?}");
        let proof = proved.ok().flatten();
        let status = &enrolled(&request, mac(1), proof, known, at(seconds))["status"];
        assert_eq!(status["bootTokenSHA256"].is_string(), shown.is_some(), "{name}");
        assert_eq!(status["provenBy"] == "Token", expected && shown.is_some() && known.is_none(), "{name}");
    }
}

#[test]
fn a_machine_is_known_by_its_tpm() {
    let known = |key: Option<&str>, proven_by: Option<&str>| AgentStatus {
        certificate_sha256: Some("aa".into()),
        boot_id: Some("first".into()),
        endorsement_key_sha256: key.map(str::to_owned),
        proven_by: proven_by.map(str::to_owned),
        last_seen_time: Some(rfc3339(at(0))),
        ..AgentStatus::default()
    };
    let token = Some("Token");
    // Name, pinned key, its proof, key shown now, certificate, and whether the machine may enrol.
    let cases = [
        ("pinned at the first contact", None, token, Some("ek"), "aa", true),
        ("it still runs with another certificate", None, token, Some("ek"), "bb", false),
        ("its own", Some("ek"), token, Some("ek"), "aa", true),
        ("its own, after its certificate was lost", Some("ek"), token, Some("ek"), "bb", true),
        ("another TPM", Some("ek"), token, Some("other"), "aa", false),
        ("no TPM", Some("ek"), token, None, "aa", false),
        (
            "the key of somebody who has shown nothing else pins nothing",
            Some("ek"),
            None,
            Some("other"),
            "aa",
            true,
        ),
    ];
    for (name, pinned, proven_by, endorsement, certificate, expected) in cases {
        let enrolment = enrolment("first");
        let request = EnrolRequest { endorsement, ..request(&enrolment, certificate, Some(mac(1))) };
        let status = known(pinned, proven_by);
        let proved = prove(&request, mac(1), Some(&status), at(1));
        assert_eq!(proved.is_ok(), expected, "{name}: {proved:?}");
        if let Err(Refusal::Endorsement(text)) = &proved {
            assert!(
                text.contains("kubectl delete agents.netboot.firstlight.dev 52-54-00-00-00-01"),
                "{text}"
            );
        }
        assert_eq!(matches!(proved, Err(Refusal::Endorsement(_))), !expected && pinned.is_some(), "{name}");
        let status = &enrolled(&request, mac(1), None, Some(&status), at(1))["status"];
        assert_eq!(status.get("endorsementKeySHA256").and_then(Value::as_str), endorsement, "{name}");
    }
}

#[test]
fn another_start_forgets_the_instruction_of_the_last() {
    let known = AgentStatus {
        boot_id: Some("first".into()),
        certificate_sha256: Some("aa".into()),
        ..AgentStatus::default()
    };
    for (boot, certificate, expected) in
        [("first", "aa", false), ("second", "aa", true), ("first", "bb", true)]
    {
        let enrolment = enrolment(boot);
        let request = request(&enrolment, certificate, Some(mac(1)));
        let status = &enrolled(&request, mac(1), None, Some(&known), at(0))["status"];
        assert_eq!(status.as_object().unwrap().contains_key("instruction"), expected, "{boot}");
        assert_eq!((&status["address"], &status["bootMode"]), (&json!("10.0.0.9"), &json!("UEFI")));
    }
}

#[test]
fn an_enrolment_has_its_limits() {
    let word = |length: usize| Some("x".repeat(length));
    let macs = |count: usize| vec!["52:54:00:00:00:01".to_owned(); count];
    for (said, expected) in [
        (Enrolment { serial_number: word(limits::WORD - 1), ..enrolment("a") }, true),
        (Enrolment { serial_number: word(limits::WORD), ..enrolment("a") }, true),
        (Enrolment { serial_number: word(limits::WORD + 1), ..enrolment("a") }, false),
        (Enrolment { system_uuid: word(limits::WORD + 1), ..enrolment("a") }, false),
        (enrolment(&"b".repeat(limits::WORD + 1)), false),
        (Enrolment { mac_addresses: macs(limits::INTERFACES), ..enrolment("a") }, true),
        (Enrolment { mac_addresses: macs(limits::INTERFACES + 1), ..enrolment("a") }, false),
    ] {
        assert_eq!(check(&said).is_ok(), expected, "{said:?}");
    }
    let said = Enrolment { mac_addresses: vec!["x".repeat(9), "52:54:00:00:00:0A".into()], ..enrolment("a") };
    let status = &enrolled(&request(&said, "aa", None), mac(1), None, None, at(0))["status"];
    assert_eq!(status["macAddresses"], json!(["52:54:00:00:00:0a"]), "what is none is not kept");
}
