use super::*;

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

#[test]
fn who_is_let_in() {
    let known = AgentStatus {
        certificate_sha256: Some("aa".into()),
        boot_id: Some("first".into()),
        last_seen_time: Some(rfc3339(at(0))),
        ..AgentStatus::default()
    };
    let fresh = AgentStatus::default();
    let holder = |last| Some(MacAddress([0x52, 0x54, 0, 0, 0, last]));
    let cases = [
        ("the first", None, "aa", "first", None, 0, true),
        ("an object without a machine", Some(&fresh), "aa", "first", None, 0, true),
        ("its own address", None, "aa", "first", holder(1), 0, true),
        ("an address of its second interface", None, "aa", "first", holder(2), 0, true),
        ("another's address", None, "aa", "first", holder(3), 0, false),
        ("again", Some(&known), "aa", "first", None, 1, true),
        ("another certificate", Some(&known), "bb", "first", None, 60, false),
        ("another start, too soon", Some(&known), "bb", "second", None, 5, false),
        ("another start, but the first still speaks", Some(&known), "bb", "second", None, 20, false),
        ("another start", Some(&known), "bb", "second", None, 6, true),
    ];
    for (name, known, certificate, boot, lease_holder, seconds, expected) in cases {
        let enrolment = enrolment(boot);
        let address = IpAddr::from([10, 0, 0, 9]);
        let heard = name.ends_with("speaks").then(|| at(seconds - 5));
        let newcomer = Newcomer {
            enrolment: &enrolment,
            certificate,
            endorsement: None,
            address,
            lease_holder,
            heard,
            boot_mode: None,
            tokens: &[],
        };
        let admitted = admit(&newcomer, known, at(seconds));
        assert_eq!(admitted.is_ok(), expected, "{name}: {admitted:?}");
    }
}

/// What was told, what is shown, by whom, when (seconds), and whether it lets the agent in.
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
        let newcomer = Newcomer {
            enrolment: &enrolment,
            certificate: "aa",
            endorsement: None,
            address: IpAddr::from([10, 0, 0, 9]),
            lease_holder: None,
            heard: None,
            boot_mode: None,
            tokens,
        };
        let admitted = admit(&newcomer, known, at(seconds));
        assert_eq!(admitted.is_ok(), expected, "{name}: {admitted:?}");
        let status = &enrolled(&newcomer, MacAddress([1; 6]), known, at(seconds))["status"];
        assert_eq!(status["bootTokenSHA256"].is_string(), shown.is_some(), "{name}");
    }
}

#[test]
fn a_machine_is_known_by_its_tpm() {
    let known = |key: Option<&str>| AgentStatus {
        certificate_sha256: Some("aa".into()),
        boot_id: Some("first".into()),
        endorsement_key_sha256: key.map(str::to_owned),
        last_seen_time: Some(rfc3339(at(0))),
        ..AgentStatus::default()
    };
    // What is pinned, what is shown, the certificate, and whether that is let in.
    let cases = [
        ("pinned at the first contact", None, Some("ek"), "aa", true),
        ("it still runs with another certificate", None, Some("ek"), "bb", false),
        ("its own", Some("ek"), Some("ek"), "aa", true),
        ("its own, after its certificate was lost", Some("ek"), Some("ek"), "bb", true),
        ("another TPM", Some("ek"), Some("other"), "aa", false),
        ("no TPM", Some("ek"), None, "aa", false),
    ];
    for (name, pinned, endorsement, certificate, expected) in cases {
        let enrolment = enrolment("first");
        let newcomer = Newcomer {
            enrolment: &enrolment,
            certificate,
            endorsement,
            address: IpAddr::from([10, 0, 0, 9]),
            lease_holder: None,
            heard: None,
            boot_mode: None,
            tokens: &[],
        };
        let status = known(pinned);
        let admitted = admit(&newcomer, Some(&status), at(1));
        assert_eq!(admitted.is_ok(), expected, "{name}: {admitted:?}");
        if let Err(Refusal::Endorsement(text)) = &admitted {
            assert!(
                text.contains("kubectl delete agents.netboot.firstlight.dev 52-54-00-00-00-01"),
                "{text}"
            );
        }
        assert_eq!(matches!(admitted, Err(Refusal::Endorsement(_))), !expected && pinned.is_some(), "{name}");
        let status = &enrolled(&newcomer, MacAddress([1; 6]), Some(&status), at(1))["status"];
        assert_eq!(status.get("endorsementKeySHA256").and_then(Value::as_str), endorsement, "{name}");
    }
}

#[test]
fn another_start_forgets_the_instruction_of_the_last() {
    let known = AgentStatus { boot_id: Some("first".into()), ..AgentStatus::default() };
    for (boot, expected) in [("first", false), ("second", true)] {
        let enrolment = enrolment(boot);
        let newcomer = Newcomer {
            enrolment: &enrolment,
            certificate: "aa",
            endorsement: None,
            address: "::ffff:10.0.0.9".parse().unwrap(),
            lease_holder: None,
            heard: None,
            boot_mode: Some("UEFI"),
            tokens: &[],
        };
        let status = &enrolled(&newcomer, MacAddress([1; 6]), Some(&known), at(0))["status"];
        assert_eq!(status.as_object().unwrap().contains_key("instruction"), expected, "{boot}");
        assert_eq!((&status["address"], &status["bootMode"]), (&json!("10.0.0.9"), &json!("UEFI")));
    }
}

fn agent(spec: Value, boot: &str) -> Agent {
    serde_json::from_value(json!({
        "metadata": { "name": "a" },
        "spec": { "instruction": spec },
        "status": { "bootID": boot },
    }))
    .unwrap()
}

#[test]
fn instructions_are_for_one_start() {
    let deploy = json!({
        "id": "deploy/1", "action": "Deploy", "bootID": "now", "configDrive": true,
        "image": { "url": "http://a/b", "checksum": "12" },
        "rootDeviceHints": { "deviceName": "/dev/vda", "minSizeGigabytes": 4 },
    });
    assert_eq!(instruction(&agent(deploy.clone(), "earlier")), None);
    let Some(Instruction { action: Action::Deploy(deployment), .. }) = instruction(&agent(deploy, "now"))
    else {
        panic!("an instruction to deploy");
    };
    assert_eq!((deployment.image.checksum.as_str(), deployment.config_drive), ("12", true));
    assert_eq!(deployment.root_device_hints.min_size_gigabytes, Some(4));
    let clean = instruction(&agent(json!({ "id": "1", "action": "Clean", "erase": "Everything" }), "now"));
    assert_eq!(clean.map(|clean| clean.action), Some(Action::Clean { erase: Erase::Everything }));
    assert_eq!(instruction(&agent(json!({ "id": "1", "action": "Dance" }), "now")), None);
    assert!(is_same("deploy/2026-11-22T09:00:00Z", "deploy2026-11-22T090000Z"));
    assert!(!is_same("deploy/1", "deploy/2"));
}

fn report(id: &str, state: State, done: u64) -> Report {
    let progress = Progress { id: id.into(), state, message: String::new(), done, total: 100 };
    Report { instruction: Some(progress), ..Report::default() }
}

#[test]
fn only_what_is_new_is_written_and_not_too_often() {
    let mut reported = Reported::default();
    let half = |seconds, half: i64| at(seconds) + Duration::milliseconds(500 * half);
    let line = || Report { log: vec!["a\x1b[31m line".into()], ..Report::default() };
    let steps = [
        ("the first", half(0, 0), Report::default(), true),
        ("nothing new", half(5, 0), Report::default(), false),
        ("a heartbeat", half(10, 0), Report::default(), true),
        ("an instruction begins", half(10, 1), report("1", State::Running, 0), true),
        ("it goes on, too soon", half(11, 0), report("1", State::Running, 10), false),
        ("it goes on", half(11, 1), report("1", State::Running, 20), true),
        ("the same again", half(13, 0), report("1", State::Running, 20), false),
        ("a line", half(14, 0), line(), true),
        ("it ends", half(14, 1), report("1", State::Done, 100), true),
        ("another begins", half(15, 0), report("2", State::Failed, 0), true),
    ];
    for (name, now, report, expected) in steps {
        let patch = reported.take(report, now).unwrap();
        assert_eq!(patch.is_some(), expected, "{name}");
        let Some(patch) = patch else { continue };
        let instruction = &patch["status"]["instruction"];
        match name {
            "it ends" => {
                assert_eq!(instruction["startTime"], "2026-11-22T09:00:10Z");
                assert_eq!(instruction["endTime"], "2026-11-22T09:00:14Z");
            }
            "another begins" => assert_eq!(instruction["startTime"], "2026-11-22T09:00:15Z"),
            "a line" => assert_eq!(patch["status"]["log"], json!(["a[31m line"])),
            "it goes on" => {
                assert_eq!((&instruction["bytesDone"], &instruction["endTime"]), (&json!(20), &Value::Null))
            }
            _ => {}
        }
    }
    let wrong = Report { inventory: Some(json!({ "cpu": 7 })), ..Report::default() };
    assert!(matches!(reported.take(wrong, at(20)), Err(Refusal::Malformed(_))));
}

#[test]
fn the_log_keeps_its_newest_lines() {
    let mut reported = Reported::default();
    let log = (0..150).map(|number| format!("line {number}")).collect();
    let patch = reported.take(Report { log, ..Report::default() }, at(0)).unwrap().unwrap();
    let log = patch["status"]["log"].as_array().unwrap();
    assert_eq!((log.len(), &log[0], &log[99]), (100, &json!("line 50"), &json!("line 149")));
}
