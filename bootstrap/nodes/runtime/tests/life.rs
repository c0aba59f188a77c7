//! The life of a container, each step by another server.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::{Fixture, busybox, make_busybox, spec, text, wait_for};

#[test]
fn a_container_outlives_its_servers_and_leaves_nothing() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    fixture.create("one");
    assert_eq!(fixture.state("one"), "created");
    let started = fixture.ask(&["start", "one"], b"");
    assert_eq!(started["state"], "running");
    let again = fixture.ask(&["start", "one"], b"");
    assert_eq!(again["pid"], started["pid"], "it is started once");
    fixture.create("two");
    let names = |label: &str| -> Vec<Value> {
        let listed = fixture.ask(&["list", label], b"");
        listed.as_array().unwrap().iter().map(|container| container["name"].clone()).collect()
    };
    assert_eq!(names("for=one"), ["one"]);
    assert_eq!(names("for=three"), [] as [Value; 0]);
    assert_eq!(names(""), ["one", "two"]);
    assert_eq!(
        fixture.shell("one", "hostname; cat /etc/hostname; echo $container; readlink /proc/1/exe"),
        "one\none\n\n/bin/busybox\n"
    );
    assert_eq!(
        fixture.shell("one", "tr '\\0' '\\n' < /proc/1/environ | grep container"),
        "container=docker\n"
    );
    fixture.ask(&["stop", "one", "10000"], b"");
    assert_eq!(fixture.state("one"), json!({"stopped": {"code": 7, "error": null}}));
    assert_eq!(text(&fixture.server(&["console", "one"], b"").stdout), "init runs as 1\nbye\n");
    let restarted = fixture.ask(&["start", "one"], b"");
    assert_eq!(restarted["address"], started["address"]);
    assert_ne!(restarted["pid"], started["pid"]);
    fixture.ask(&["kill", "one"], b"");
    assert_eq!(fixture.state("one"), json!({"stopped": {"code": 137, "error": null}}));
    for name in ["one", "two", "two", "never-there"] {
        fixture.ask(&["remove", name], b"");
    }
    assert_eq!(fixture.machine(), before);
}

#[test]
fn what_a_container_writes_stays_over_its_restart_and_never_reaches_the_image() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    let line = "echo more >> /var/lib/some/file; cat /var/lib/some/same; echo own > /root/file; touch /tmp/gone; rm /bin/env";
    assert_eq!(fixture.shell("one", line), "content\nmore\n", "both names are one file");
    fixture.ask(&["stop", "one", "10000"], b"");
    fixture.ask(&["start", "one"], b"");
    assert_eq!(fixture.shell("one", "cat /root/file; ls /tmp; test -e /bin/env || echo gone"), "own\ngone\n");
    assert_eq!(fs::read_to_string(busybox().join("var/lib/some/file")).unwrap(), "content\n");
    assert!(!busybox().join("root/file").exists());
    fixture.ask(&["remove", "one"], b"");
}

#[test]
fn an_init_that_does_not_listen_is_killed_after_its_time() {
    let image = make_busybox("#!/bin/sh\ntrap '' 37 15\nwhile :; do sleep 1; done\n");
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["create"], &spec("deaf", image.path()));
    fixture.ask(&["start", "deaf"], b"");
    fixture.ask(&["stop", "deaf", "100"], b"");
    assert_eq!(fixture.state("deaf"), json!({"stopped": {"code": 137, "error": null}}));
    fixture.ask(&["stop", "deaf", "100"], b"");
}

#[test]
fn an_init_that_ends_by_itself_is_seen() {
    let image = make_busybox("#!/bin/sh\nexit 42\n");
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["create"], &spec("short", image.path()));
    fixture.ask(&["start", "short"], b"");
    wait_for("the end", || fixture.state("short") == json!({"stopped": {"code": 42, "error": null}}));
    let refused = fixture.refused(&["exec", "short", "1000", "true"], b"");
    assert!(refused.contains("container short does not run (it is stopped): start it first"), "{refused}");
}

#[test]
fn a_paused_container_does_nothing_until_it_is_resumed() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    fixture.shell("one", "(while :; do date +%s%N > /tmp/now; done) > /dev/null 2>&1 &");
    let pid = fixture.ask(&["inspect", "one"], b"")["pid"].to_string();
    let now = || fs::read_to_string(format!("/proc/{pid}/root/tmp/now")).unwrap_or_default();
    wait_for("its first step", || !now().is_empty());
    fixture.ask(&["pause", "one"], b"");
    let first = now();
    assert_eq!(fixture.state("one"), "paused");
    let refused = fixture.refused(&["exec", "one", "1000", "true"], b"");
    assert!(refused.contains("container one is paused: resume it first"), "{refused}");
    assert_eq!(now(), first);
    fixture.ask(&["pause", "one"], b"");
    fixture.ask(&["resume", "one"], b"");
    wait_for("its next step", || now() != first && !now().is_empty());
    fixture.ask(&["pause", "one"], b"");
    fixture.ask(&["stop", "one", "10000"], b"");
    assert_eq!(
        fixture.state("one"),
        json!({"stopped": {"code": 7, "error": null}}),
        "it is resumed for its end"
    );
}

#[test]
fn a_paused_container_is_removed() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create("one");
    let before = fixture.machine();
    fixture.ask(&["start", "one"], b"");
    fixture.ask(&["pause", "one"], b"");
    fixture.ask(&["remove", "one"], b"");
    fixture.create("one");
    assert_eq!(fixture.machine(), before);
}

#[test]
fn a_process_that_has_the_number_of_an_init_is_not_taken_for_it() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    fixture.ask(&["kill", "one"], b"");
    let state = fixture.data().join("containers/one/state.json");
    let mut written: Value = serde_json::from_str(&fs::read_to_string(&state).unwrap()).unwrap();
    // This process has another time of its start.
    for process in ["init", "supervisor"] {
        written[process]["pid"] = json!(std::process::id());
    }
    fs::write(&state, written.to_string()).unwrap();
    assert_eq!(fixture.state("one"), json!({"stopped": {"code": 137, "error": null}}));
    fixture.ask(&["stop", "one", "10"], b"");
    fixture.ask(&["remove", "one"], b"");
}

#[test]
fn the_machine_keeps_its_settings() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    let line = "echo 1 > /proc/sys/vm/overcommit_memory; echo 10 > /proc/sys/kernel/panic; echo 1 > /proc/sys/kernel/panic_on_oops; \
                cat /proc/sys/kernel/panic; echo 5 > /proc/sys/vm/swappiness || echo refused; echo 1 > /proc/sys/net/ipv4/ip_forward; \
                echo h > /proc/sysrq-trigger || echo refused";
    let before = fs::read_to_string("/proc/sys/kernel/panic").unwrap();
    assert_eq!(fixture.shell("one", line), "10\nrefused\nrefused\n");
    assert_eq!(fs::read_to_string("/proc/sys/kernel/panic").unwrap(), before);
    assert_ne!(before, "10\n");
}

#[test]
fn no_process_of_ours_is_in_the_control_groups_of_a_container() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    // A process outside of the container's namespace of processes would be 0.
    let line = "for group in /sys/fs/cgroup/*/; do cat $group/cgroup.procs; done | sort -n | head -n 1";
    assert_eq!(fixture.shell("one", line), "1\n");
    let own = fixture.shell("one", "cat /proc/self/cgroup | grep -v ':/$' || true");
    assert_eq!(own, "", "its groups begin at its own");
}

#[test]
fn no_file_that_the_server_has_inherited_is_open_in_a_container() {
    let Some(fixture) = Fixture::new() else { return };
    let pid = fixture.create_and_start("one")["pid"].to_string();
    let files = |process: &str| {
        let entries = fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
        entries.filter_map(|entry| fs::read_link(entry.path()).ok()).collect::<Vec<_>>()
    };
    let state = fs::read_to_string(fixture.data().join("containers/one/state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    for process in [pid, state["supervisor"]["pid"].to_string()] {
        let left = files(&process);
        assert!(!left.contains(&Path::new("/etc/passwd").to_owned()), "{left:?}");
    }
    assert_eq!(fixture.shell("one", "ls /proc/self/fd | wc -l"), "4\n", "the list itself is the fourth");
}

#[test]
fn a_supervisor_is_in_no_group_of_the_server() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    let state = fs::read_to_string(fixture.data().join("containers/one/state.json")).unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    let groups = fs::read_to_string(format!("/proc/{}/cgroup", state["supervisor"]["pid"])).unwrap();
    // The kernel keeps a hierarchy that was mounted once, and nobody can enter its groups when it is not mounted any more.
    let is_mounted = |line: &&str| {
        let mut names = line.split(':').nth(1).unwrap_or_default().split(',');
        names.any(|name| Path::new("/sys/fs/cgroup").join(name.trim_start_matches("name=")).is_dir())
    };
    let mut mounted = groups.lines().filter(is_mounted);
    assert!(mounted.all(|line| line.ends_with("/_supervisors")), "{groups}");
}

#[test]
fn after_a_start_of_the_machine_a_container_is_started_again_unless_its_files_may_be_damaged() {
    let Some(fixture) = Fixture::new() else { return };
    let address = fixture.create_and_start("one")["address"].clone();
    fixture.ask(&["kill", "one"], b"");
    let folder = fixture.data().join("containers/one");
    for file in ["record.json", "state.json"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        assert!(text.contains(boot.trim()));
        fs::write(folder.join(file), text.replace(boot.trim(), "another-start")).unwrap();
    }
    fs::remove_file(folder.join("durable")).ok();
    let refused = fixture.refused(&["start", "one"], b"");
    assert!(
        refused.contains("its files were on the disk") && refused.contains("create it again"),
        "{refused}"
    );
    fs::write(folder.join("durable"), "").unwrap();
    // The network is gone, too.
    let identity = fs::read_to_string(fixture.data().join("identity")).unwrap();
    fixture.run("ip", &["link", "delete", &format!("fl{identity}")]);
    assert_eq!(fixture.ask(&["start", "one"], b"")["address"], address);
    fixture.shell("one", "true");
}

#[test]
fn a_full_disk_leaves_nothing() {
    let image = make_busybox("#!/bin/sh\nwhile :; do sleep 1000; done\n");
    fs::write(image.path().join("var/large"), vec![1; 4 << 20]).unwrap();
    let Some(fixture) = Fixture::new() else { return };
    fs::create_dir_all(fixture.data()).unwrap();
    fixture.run("mount", &["-t", "tmpfs", "-o", "size=2m", "tmpfs", fixture.data().to_str().unwrap()]);
    let refused = fixture.refused(&["create"], &spec("one", image.path()));
    assert!(refused.contains("cannot copy the volume /var of the image: is the disk full?"), "{refused}");
    assert_eq!(fixture.run("ls", &[fixture.data().join("containers").to_str().unwrap()]), "");
}

#[test]
fn many_containers_are_made_at_once() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    let names = ["a", "b", "c", "d", "e", "f"];
    let all = |work: &(dyn Fn(&str) + Sync)| {
        std::thread::scope(|scope| names.iter().for_each(|name| drop(scope.spawn(|| work(name)))));
    };
    all(&|name| drop(fixture.create_and_start(name)));
    let listed = fixture.ask(&["list"], b"");
    let addresses: std::collections::BTreeSet<String> =
        listed.as_array().unwrap().iter().map(|container| container["address"].to_string()).collect();
    assert_eq!(addresses.len(), names.len(), "{listed}");
    all(&|name| drop(fixture.shell(name, "true")));
    all(&|name| drop(fixture.ask(&["remove", name], b"")));
    assert_eq!(fixture.machine(), before);
}

#[test]
fn mounts_of_the_machine_are_seen_as_they_were_given() {
    let Some(fixture) = Fixture::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "given\n").unwrap();
    let mounts = json!([
        {"source": folder.path(), "target": "/given/folder", "readOnly": true},
        {"source": folder.path().join("file"), "target": "/etc/given"},
    ]);
    let mut spec: Value = serde_json::from_slice(&spec("one", busybox())).unwrap();
    spec["mounts"] = mounts;
    fixture.ask(&["create"], spec.to_string().as_bytes());
    fixture.ask(&["start", "one"], b"");
    let line =
        "cat /given/folder/file; echo x > /given/folder/file || echo refused; echo changed > /etc/given";
    assert_eq!(fixture.shell("one", line), "given\nrefused\n");
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "changed\n");
    fixture.ask(&["remove", "one"], b"");
    assert!(folder.path().join("file").exists(), "what was given is not removed");
    spec["mounts"] = json!([{"source": "/no/such/place", "target": "/x"}]);
    fixture.ask(&["create"], spec.to_string().as_bytes());
    let refused = fixture.refused(&["start", "one"], b"");
    assert!(
        refused.contains("container one cannot be started")
            && refused.contains("cannot mount /no/such/place at /x"),
        "{refused}"
    );
}

#[test]
fn the_console_keeps_the_newest_lines() {
    let image = make_busybox(
        "#!/bin/sh\ntrap 'exit 0' 37\nseq 1 2000000\necho the end\nwhile :; do sleep 1000 & wait $!; done\n",
    );
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["create"], &spec("loud", image.path()));
    fixture.ask(&["start", "loud"], b"");
    wait_for("the last line", || {
        text(&fixture.server(&["console", "loud"], b"").stdout).ends_with("2000000\nthe end\n")
    });
    let size = |name: &str| {
        fs::metadata(Path::new(&fixture.data()).join("containers/loud").join(name))
            .map_or(0, |found| found.len())
    };
    let kept = size("console.log") + size("console.log.1");
    assert!(kept <= node_runtime::limits::CONSOLE + (64 << 10), "{kept}");
}
