//! Balancers in containers, each step by another server.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fixture::{Fixture, busybox, spec, text, wait_for};
use crate::kills::{CREATE, START, STARTED};

const PORT: u16 = 6443;

/// Starts a server on the machine that says everything twice. It is never ready, because it does not know TLS.
fn start_server(fixture: &Fixture) -> u16 {
    let listener = fixture.inside(|| TcpListener::bind(("0.0.0.0", 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut writer = stream.try_clone().unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if writer.write_all(format!("{line} {line}\n").as_bytes()).is_err() {
                        break;
                    }
                }
            });
        }
    });
    port
}

/// The configuration of a balancer before the server on the machine, whose address in the network of containers is this.
fn before(address: &str, port: u16) -> Vec<u8> {
    let (network, _) = address.rsplit_once('.').unwrap();
    json!({"port": PORT, "servers": [{"name": "one", "address": format!("{network}.1"), "port": port}]})
        .to_string()
        .into_bytes()
}

fn nothing() -> Vec<u8> {
    json!({"port": PORT, "servers": []}).to_string().into_bytes()
}

/// Makes a balancer, and returns its address.
fn make(fixture: &Fixture, name: &str) -> String {
    let made = fixture.ask(&["balance", name], &nothing());
    assert_eq!((&made["state"], &made["status"]["servers"]), (&json!("running"), &json!([])), "{made}");
    made["address"].as_str().unwrap().to_owned()
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn new(fixture: &Fixture, address: &str, port: u16) -> Self {
        let address = format!("{address}:{port}").parse().unwrap();
        let patience = Duration::from_secs(20);
        let stream = fixture.inside(|| TcpStream::connect_timeout(&address, patience).unwrap());
        stream.set_read_timeout(Some(patience)).unwrap();
        Self(BufReader::new(stream))
    }

    fn ask(&mut self, word: &str) {
        self.0.get_mut().write_all(format!("{word}\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{word} {word}\n"));
    }
}

#[test]
fn a_balancer_outlives_its_servers_and_leaves_nothing() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let machine = fixture.machine();
    let address = make(&fixture, "lb");
    let servers = before(&address, start_server(&fixture));
    let made = fixture.ask(&["balance", "lb", &address], &servers);
    assert_eq!(made["status"]["servers"][0]["name"], "one");
    let mut client = Client::new(&fixture, &address, PORT);
    client.ask("first");
    // A server that is killed in the middle of something.
    fixture.end_at("record");
    assert!(!fixture.server(&["create"], &spec("other", busybox())).status.success());
    client.ask("second");
    let again = fixture.ask(&["balance", "lb", &address], &servers);
    assert_eq!(again["status"]["connections"], 1);
    fixture.ask(&["balance", "lb"], &nothing());
    client.ask("third");
    let inspected = fixture.ask(&["balancer", "lb"], b"");
    assert_eq!(inspected["status"]["configuration"]["servers"], json!([]));
    let listed = fixture.ask(&["list", "for=lb"], b"");
    assert_eq!(listed[0]["address"], address.as_str());
    for _ in 0..2 {
        fixture.ask(&["unbalance", "lb"], b"");
    }
    assert_eq!(fixture.ask(&["balancer", "lb"], b""), Value::Null);
    assert_eq!(client.0.read(&mut [0; 8]).unwrap_or(0), 0, "its connections end with it");
    fixture.ask(&["remove", "other"], b"");
    assert_eq!(fixture.machine(), machine);
}

/// As `firstlight nodes delete` does, for which a balancer is a container as any other.
#[test]
fn a_balancer_that_is_deleted_leaves_nothing() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let machine = fixture.machine();
    for is_damaged in [false, true] {
        make(&fixture, "lb");
        if is_damaged {
            fs::write(fixture.data().join("containers/lb/record.json"), "").unwrap();
        }
        fixture.ask(&["delete", "lb"], b"");
        assert_eq!(fixture.machine(), machine, "{is_damaged}");
    }
    fixture.create("one");
    fixture.ask(&["delete", "one"], b"");
    assert_eq!(fixture.machine(), machine);
}

#[test]
fn its_address_stays_and_nobody_else_takes_it() {
    let Some(fixture) = Fixture::new() else { return };
    let address = make(&fixture, "lb");
    let servers = before(&address, start_server(&fixture));
    let reaches = || {
        let ensured = fixture.ask(&["balance", "lb", &address], &servers);
        assert_eq!(
            (&ensured["address"], &ensured["state"]),
            (&json!(address), &json!("running")),
            "{ensured}"
        );
        Client::new(&fixture, &address, PORT).ask("word");
    };
    reaches();
    fixture.ask(&["stop", "lb", "20000"], b"");
    let inspected = fixture.ask(&["balancer", "lb"], b"");
    assert_eq!(
        inspected["state"],
        json!({"stopped": {"code": 0, "error": null}}),
        "it ends when it is asked to"
    );
    assert_eq!(inspected["status"], Value::Null);
    reaches();
    fixture.ask(&["kill", "lb"], b"");
    reaches();
    // Its container is removed behind our back, and others are made before anybody looks.
    fixture.ask(&["remove", "lb"], b"");
    for node in ["one", "two"] {
        fixture.create(node);
    }
    reaches();
    let refused = fixture.refused(&["balance", "lb", "10.0.0.1"], &servers);
    assert!(
        refused.contains("balancer lb cannot be made") && refused.contains("shall have 10.0.0.1"),
        "{refused}"
    );
    let refused = fixture.refused(&["balance", "one"], &servers);
    assert!(refused.contains("there is a container of this name that is no balancer"), "{refused}");
    let refused = fixture.refused(&["unbalance", "one"], b"");
    assert!(refused.contains("that is no balancer"), "{refused}");
    // The folder of its configuration is another one now.
    fixture.ask(&["stop", "lb", "20000"], b"");
    let other = fixture.folder.path().join("other");
    fs::rename(fixture.data(), &other).unwrap();
    let output = fixture.server_at(&other, &["balance", "lb"], &servers);
    assert!(output.status.success(), "{}", text(&output.stderr));
    fs::rename(&other, fixture.data()).unwrap();
    Client::new(&fixture, &address, PORT).ask("word");
}

#[test]
fn one_that_was_killed_at_any_step_is_completed_or_removed() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let machine = fixture.machine();
    for step in CREATE.into_iter().chain(START).chain([STARTED]) {
        for is_removed in [true, false] {
            fixture.end_at(step);
            let output = fixture.server(&["balance", "lb"], &nothing());
            assert!(step == STARTED || !output.status.success(), "{step}: {}", text(&output.stdout));
            wait_for(step, || {
                fixture.has_ended_there() && fixture.ask(&["balancer", "lb"], b"")["state"] != "running"
            });
            if !is_removed {
                make(&fixture, "lb");
            }
            fixture.ask(&["unbalance", "lb"], b"");
            assert_eq!(fixture.machine(), machine, "{step}");
        }
    }
}

#[test]
fn it_ends_with_its_supervisor_and_is_started_again() {
    let Some(fixture) = Fixture::new() else { return };
    let address = make(&fixture, "lb");
    let pid = fixture.ask(&["inspect", "lb"], b"")["pid"].to_string();
    let state = fs::read_to_string(fixture.data().join("containers/lb/state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    fixture.run("kill", &["-9", &state["supervisor"]["pid"].to_string()]);
    // The kernel forgets the bond when a process changes its user.
    wait_for("its end", || !Path::new("/proc").join(&pid).exists());
    assert_eq!(make(&fixture, "lb"), address);
}

#[test]
fn it_has_no_rights_and_sees_nothing() {
    let Some(fixture) = Fixture::new() else { return };
    make(&fixture, "lb");
    let pid = fixture.ask(&["inspect", "lb"], b"")["pid"].to_string();
    let process = Path::new("/proc").join(&pid);
    let status = fs::read_to_string(process.join("status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_else(|| panic!("{name}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(name), "0000000000000000", "{name}");
    }
    for name in ["Uid", "Gid"] {
        assert_eq!(field(name), "65534 65534 65534 65534", "{name}");
    }
    assert_eq!((field("Groups").as_str(), field("NoNewPrivs").as_str()), ("", "1"));
    assert_eq!(field("Threads"), "1");
    let private: u64 = field("RssAnon").trim_end_matches(" kB").parse().unwrap();
    assert!(private <= 5 << 10, "{private} kB");
    let names = |path: &str| {
        let entries = fs::read_dir(process.join("root").join(path)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(""), ["balancer"]);
    assert_eq!(names("balancer"), ["configuration", "status"]);
    let mounts = fs::read_to_string(process.join("mounts")).unwrap();
    let mounts: Vec<(&str, bool)> = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .map(|words| (words[1], words[3].split(',').any(|option| option == "ro")))
        .collect();
    let expected = [("/", true), ("/balancer/configuration", true), ("/balancer/status", false)];
    assert_eq!(mounts, expected);
    for namespace in ["mnt", "net", "pid", "uts", "ipc", "cgroup"] {
        let link = |process: &str| fs::read_link(format!("/proc/{process}/ns/{namespace}")).unwrap();
        assert_ne!(link(&pid), link(&fixture.pid()), "{namespace}");
    }
    for entry in fs::read_dir(process.join("fd")).unwrap() {
        let target = fs::read_link(entry.unwrap().path()).unwrap().display().to_string();
        let is_harmless = ["socket:", "anon_inode:", "/dev/pts/"].iter().any(|kind| target.starts_with(kind));
        assert!(is_harmless, "{target}");
    }
    let output = fixture.server(&["exec", "lb", "5000", "sh"], b"");
    assert_eq!(output.status.code(), Some(127), "{}", text(&output.stderr));
}

#[test]
fn it_says_at_its_console_and_to_who_starts_it_what_is_wrong() {
    let Some(fixture) = Fixture::new() else { return };
    let address = make(&fixture, "lb");
    // A port for which a process needs a right elsewhere.
    let low = json!({"port": 443, "servers": []}).to_string().into_bytes();
    fixture.ask(&["balance", "lb"], &low);
    drop(Client::new(&fixture, &address, 443));
    let file = fixture.data().join("balancers/lb/configuration/balancer.json");
    fs::write(&file, "garbage").unwrap();
    let inspected = fixture.ask(&["balancer", "lb"], b"");
    let error = inspected["status"]["error"].as_str().unwrap();
    assert!(error.contains("/balancer/configuration/balancer.json is no configuration"), "{error}");
    let console = text(&fixture.server(&["console", "lb"], b"").stdout);
    assert!(console.contains("listening on port 6443 for 0 servers"), "{console}");
    assert!(console.contains("the configuration stays as it was"), "{console}");
    fixture.ask(&["stop", "lb", "20000"], b"");
    let refused = fixture.refused(&["start", "lb"], b"");
    assert!(
        refused.contains("container lb cannot be started") && refused.contains("is no configuration"),
        "{refused}"
    );
    make(&fixture, "lb");
    fixture.ask(&["pause", "lb"], b"");
    let paused = fixture.ask(&["balance", "lb"], &nothing());
    assert_eq!((&paused["state"], &paused["status"]), (&json!("paused"), &Value::Null));
    fixture.ask(&["resume", "lb"], b"");
    let refused = fixture.refused(&["balance", "lb"], br#"{"port": 0, "servers": []}"#);
    assert!(refused.contains("port: 0 is no port"), "{refused}");
    let with_image = json!({"name": "x", "init": "balancer", "image": busybox()}).to_string();
    let refused = fixture.refused(&["create"], with_image.as_bytes());
    assert!(refused.contains("init: a balancer has no image"), "{refused}");
    let empty = json!({"name": "x", "init": {"command": []}, "image": busybox()}).to_string();
    let refused = fixture.refused(&["create"], empty.as_bytes());
    assert!(refused.contains("init: the command of container x is empty"), "{refused}");
}
