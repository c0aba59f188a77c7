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

fn newcomer<'a>(
    enrolment: &'a Enrolment,
    certificate: &'a str,
    lease_holder: Option<MacAddress>,
) -> Newcomer<'a> {
    Newcomer {
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
        let newcomer = Newcomer {
            heard: name.ends_with("speaks").then(|| at(seconds - 5)),
            is_host,
            tokens: if shows { &told } else { &[] },
            ..newcomer(&enrolment, certificate, has_lease.then(|| mac(1)))
        };
        let admitted = admit(&newcomer, mac(1), known, at(seconds));
        assert_eq!(admitted.as_ref().ok().copied(), expected, "{name}: {admitted:?}");
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
        let newcomer =
            Newcomer { is_host, is_approved, is_elsewhere, ..newcomer(&enrolment, "bb", lease_holder) };
        let admitted = admit(&newcomer, mac(1), Some(&known), at(60));
        let found = admitted.as_ref().map(|proof| *proof);
        let found = found.map_err(|refusal| matches!(refusal, Refusal::Unproven(_)));
        assert_eq!(found, expected, "{is_host} {is_approved} {is_elsewhere} {has_lease}: {admitted:?}");
        if let Err(Refusal::Unproven(text)) = admitted {
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
        let newcomer = Newcomer { tokens, ..newcomer(&enrolment, "aa", Some(mac(1))) };
        let admitted = admit(&newcomer, mac(1), known, at(seconds));
        assert_eq!(admitted.is_ok(), expected, "{name}: {admitted:?}");
        let proof = admitted.ok().flatten();
        let status = &enrolled(&newcomer, mac(1), proof, known, at(seconds))["status"];
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
        let newcomer = Newcomer { endorsement, ..newcomer(&enrolment, certificate, Some(mac(1))) };
        let status = known(pinned, proven_by);
        let admitted = admit(&newcomer, mac(1), Some(&status), at(1));
        assert_eq!(admitted.is_ok(), expected, "{name}: {admitted:?}");
        if let Err(Refusal::Endorsement(text)) = &admitted {
            assert!(
                text.contains("kubectl delete agents.netboot.firstlight.dev 52-54-00-00-00-01"),
                "{text}"
            );
        }
        assert_eq!(matches!(admitted, Err(Refusal::Endorsement(_))), !expected && pinned.is_some(), "{name}");
        let status = &enrolled(&newcomer, mac(1), None, Some(&status), at(1))["status"];
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
        let newcomer = newcomer(&enrolment, certificate, Some(mac(1)));
        let status = &enrolled(&newcomer, mac(1), None, Some(&known), at(0))["status"];
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
    let status = &enrolled(&newcomer(&said, "aa", None), mac(1), None, None, at(0))["status"];
    assert_eq!(status["macAddresses"], json!(["52:54:00:00:00:0a"]), "what is none is not kept");
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
        let patch = reported.take(report, true, now).unwrap();
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
    assert!(matches!(reported.take(wrong, true, at(20)), Err(Refusal::Malformed(_))));
}

#[test]
fn the_log_keeps_its_newest_lines() {
    let mut reported = Reported::default();
    let log = (0..150).map(|number| format!("line {number}")).collect();
    let patch = reported.take(Report { log, ..Report::default() }, true, at(0)).unwrap().unwrap();
    let log = patch["status"]["log"].as_array().unwrap();
    assert_eq!((log.len(), &log[0], &log[99]), (100, &json!("line 50"), &json!("line 149")));
}

#[test]
fn what_a_machine_reports_has_its_limits() {
    let line = |length: usize| vec!["x".repeat(length)];
    for (is_host, room) in [(true, limits::LOG), (false, limits::UNKNOWN_LOG)] {
        let mut reported = Reported::default();
        let count = room / LOG_LINE + 2;
        let log = (0..count).flat_map(|_| line(LOG_LINE)).collect();
        let patch = reported.take(Report { log, ..Report::default() }, is_host, at(0)).unwrap().unwrap();
        assert_eq!(patch["status"]["log"].as_array().unwrap().len(), room / LOG_LINE, "{is_host}");
    }
    for (length, expected) in [(limits::WORD, true), (limits::WORD + 1, false)] {
        let taken = Reported::default().take(report(&"i".repeat(length), State::Done, 1), true, at(0));
        assert_eq!(taken.is_ok(), expected, "{length}");
    }
    let mut progress = report("1", State::Running, 1);
    progress.instruction.as_mut().unwrap().message =
        "\u{1b}".to_owned() + &"m".repeat(limits::PROGRESS_MESSAGE + 9);
    let patch = Reported::default().take(progress, true, at(0)).unwrap().unwrap();
    assert_eq!(patch["status"]["instruction"]["message"], "m".repeat(limits::PROGRESS_MESSAGE));
}

#[test]
fn who_reports_without_end_writes_no_more_than_others() {
    let mut reported = Reported::default();
    let written = (0..1000).filter(|number| {
        let now = at(0) + Duration::milliseconds(*number);
        reported.take(report(&number.to_string(), State::Done, 1), false, now).unwrap().is_some()
    });
    assert_eq!(written.count(), limits::URGENT_WRITES as usize);
    assert!(reported.take(report("last", State::Done, 1), false, at(3)).unwrap().is_some(), "it is not lost");
}
