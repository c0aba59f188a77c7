//! Bootstrap data of recorded nodes: the steps compared with what Cluster API's provider ran for them.

use node_bootstrap::{Action, Bootstrap, Command, Format, Metadata, NodeOptions, WriteFile, parse};
use serde_json::Value;

/// A recorded command.
struct Recorded {
    words: Vec<String>,
    input: Option<String>,
}

fn recorded(text: &str) -> Vec<Recorded> {
    let all: Vec<Value> = serde_json::from_str(text).unwrap();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    all.iter()
        .map(|call| Recorded {
            words: call["cmd"].as_array().unwrap().iter().map(word).collect(),
            input: call["stdin"].as_str().map(str::to_owned),
        })
        .collect()
}

/// Replays recorded commands into files and other commands.
fn replayed(calls: &[Recorded]) -> (Vec<WriteFile>, Vec<String>) {
    let (mut files, mut commands): (Vec<WriteFile>, Vec<String>) = (Vec::new(), Vec::new());
    for call in calls {
        let words: Vec<&str> = call.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["mkdir", ..] => {}
            ["chmod", mode, _] => files.last_mut().unwrap().mode = u32::from_str_radix(mode, 8).ok(),
            ["chown", owner, _] => files.last_mut().unwrap().owner = Some((*owner).to_owned()),
            ["/bin/sh", "-c", text] if call.input.is_some() => {
                let mut parts = text.split(' ').skip(1);
                let (arrow, path) = (parts.next().unwrap(), parts.next().unwrap());
                files.push(WriteFile {
                    path: path.to_owned(),
                    content: call.input.clone().unwrap().into_bytes(),
                    mode: None,
                    owner: None,
                    append: arrow == ">>",
                });
            }
            // The mark that its start leaves, which this crate does without.
            ["/bin/sh", "-c", text] => {
                commands.push(text.replace("echo started > /run/cluster-api/capd.bootstrap.started && ", ""));
            }
            words => commands.push(words.join(" ")),
        }
    }
    (files, commands)
}

fn adapted(data: &str, format: Format) -> Bootstrap {
    let metadata = Metadata::new("d1-cp-pch7q", "d1-cp-pch7q");
    parse(data.as_bytes(), format, &metadata).unwrap().adapt(NodeOptions::default()).unwrap()
}

fn documents(content: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(content).unwrap();
    let read = machinery::decode::yaml_documents(text).unwrap();
    read.into_iter().map(|(_, document)| sorted(document.value)).collect()
}

/// The order of flags says nothing. Their provider writes `taints: null`, which means the same as none.
fn sorted(mut document: Value) -> Value {
    if let Some(registration) = document.get_mut("nodeRegistration").and_then(Value::as_object_mut) {
        registration.retain(|_, value| !value.is_null());
        if let Some(flags) = registration.get_mut("kubeletExtraArgs").and_then(Value::as_array_mut) {
            flags.sort_by_key(|flag| flag["name"].to_string());
        }
    }
    document
}

fn same_file(ours: &WriteFile, theirs: &WriteFile) {
    assert_eq!(ours.path, theirs.path);
    assert_eq!(ours.append, theirs.append, "{}", ours.path);
    assert_eq!(ours.mode, theirs.mode, "{}", ours.path);
    // A new file is root's anyway.
    assert_eq!(ours.owner.as_deref().filter(|owner| *owner != "root:root"), theirs.owner.as_deref());
    if ours.path.starts_with("/run/kubeadm/") {
        assert_eq!(documents(&ours.content), documents(&theirs.content), "{}", ours.path);
    } else if ours.path.ends_with("/gzipbase64") {
        // Their provider undoes only base64.
        assert_eq!(ours.content, b"packed\n");
    } else {
        // Their scanner loses the line break at the end of a section.
        assert_eq!(ours.content.trim_ascii_end(), theirs.content.trim_ascii_end(), "{}", ours.path);
    }
}

#[test]
fn cloud_config_becomes_what_was_recorded() {
    let cases = [
        (include_str!("data/recorded/init.cloud-config"), include_str!("data/recorded/init.json")),
        (
            include_str!("data/recorded/join-control-plane.cloud-config"),
            include_str!("data/recorded/join-control-plane.json"),
        ),
        (
            include_str!("data/recorded/worker-files.cloud-config"),
            include_str!("data/recorded/worker-files.json"),
        ),
        (
            include_str!("data/recorded/worker-pool.cloud-config"),
            include_str!("data/recorded/worker-pool.json"),
        ),
    ];
    for (data, calls) in cases {
        let (files, commands) = replayed(&recorded(calls));
        let steps = adapted(data, Format::CloudConfig).steps;
        let (written, run) = steps.split_at(files.len());
        for (step, theirs) in written.iter().zip(&files) {
            let Action::WriteFile(ours) = &step.action else { panic!("{} writes no file", step.what) };
            same_file(ours, theirs);
        }
        // The last step looks for the success file.
        let (last, run) = run.split_last().unwrap();
        assert_eq!(last.what, "look for /run/cluster-api/bootstrap-success.complete");
        let ours: Vec<Action> = run.iter().map(|step| step.action.clone()).collect();
        let theirs: Vec<Action> =
            commands.into_iter().map(|text| Action::Run(Command::Shell(text))).collect();
        let shown: Vec<&str> = run.iter().map(|step| step.what.as_str()).collect();
        assert_eq!(ours, theirs, "{shown:?}");
    }
}

#[test]
fn ignition_becomes_what_was_recorded() {
    let (files, commands) = replayed(&recorded(include_str!("data/recorded/worker-ignition.json")));
    assert_eq!(commands, ["systemctl daemon-reload", "systemctl enable --now kubeadm.service"]);
    let bootstrap = adapted(include_str!("data/recorded/worker-ignition.ign"), Format::Ignition);
    assert_eq!(bootstrap.warnings, [""; 0]);
    let what: Vec<&str> = bootstrap.steps.iter().map(|step| step.what.as_str()).collect();
    assert_eq!(
        what,
        [
            "write /etc/example/file",
            "write /etc/kubeadm.sh",
            "write /etc/kubeadm.yml",
            "write /etc/systemd/system/kubeadm.service",
            "systemctl daemon-reload",
            "systemctl enable --now kubeadm.service",
            "look for /run/cluster-api/bootstrap-success.complete",
        ]
    );
    for (step, theirs) in bootstrap.steps.iter().zip(&files) {
        let Action::WriteFile(ours) = &step.action else { panic!("{} writes no file", step.what) };
        assert_eq!((&ours.path, ours.mode), (&theirs.path, theirs.mode));
        let text = std::str::from_utf8(&ours.content).unwrap();
        match ours.path.as_str() {
            "/etc/kubeadm.sh" => {
                let flag = "--ignore-preflight-errors=SystemVerification,Swap,\
                            FileContent--proc-sys-net-bridge-bridge-nf-call-iptables";
                assert!(
                    text.contains(&format!("\nkubeadm join {flag} --config /etc/kubeadm.yml\n")),
                    "{text}"
                );
            }
            "/etc/kubeadm.yml" => {
                let document = &documents(&ours.content)[0];
                let flags = document["nodeRegistration"]["kubeletExtraArgs"].as_array().unwrap();
                // Their provider gives none here, and the Node soon had pressure on its disk.
                assert!(flags.iter().any(|flag| flag["name"] == "eviction-hard"), "{text}");
            }
            _ => assert_eq!(ours.content.trim_ascii_end(), theirs.content.trim_ascii_end()),
        }
    }
}

#[test]
fn all_that_the_kubeadm_controllers_write_is_read() {
    let whole = adapted(include_str!("data/whole.cloud-config"), Format::CloudConfig);
    let what: Vec<&str> = whole.steps.iter().map(|step| step.what.as_str()).collect();
    assert_eq!(what.first(), Some(&"echo \"early\""));
    assert_eq!(what[what.len() - 6], "make the user admin");
    assert_eq!(what[what.len() - 5], "hostnamectl set-hostname \"d1-cp-pch7q\"");
    assert_eq!(what[what.len() - 4], "echo 'quoted' \"text\": # and more");
    assert!(
        what[what.len() - 3].starts_with("kubeadm init --ignore-preflight-errors=SystemVerification,"),
        "{what:?}"
    );
    assert_eq!(
        whole.warnings,
        [
            "disk_setup: not applied, a node has no disks of its own",
            "fs_setup: not applied, a node has no disks of its own",
            "mounts: not applied, a node has no disks of its own; extraMounts of the DevMachine brings folders of the \
             machine",
            "ntp: not applied, a node has the clock of its machine",
            "bootcmd: runs once, with the bootstrap, and not again at each start of the node",
        ]
    );
    let join = adapted(include_str!("data/join-file.cloud-config"), Format::CloudConfig);
    assert_eq!(join.steps.len(), 5);
    let ignition = adapted(include_str!("data/whole.ign"), Format::Ignition);
    assert_eq!(
        ignition.warnings,
        [
            "storage.disks: not applied, a node has no disks of its own",
            "storage.filesystems: not applied, a node has no disks of its own",
            "networkd: not applied, a node's network is that of its container",
            "storage.files[16]: /opt/d is left out, nodes fetch no files",
        ]
    );
    let last: Vec<&str> = ignition.steps.iter().rev().take(5).map(|step| step.what.as_str()).collect();
    assert_eq!(
        last,
        [
            "look for /run/cluster-api/bootstrap-success.complete",
            "systemctl enable --now ntpd.service",
            "systemctl enable --now kubeadm.service",
            "systemctl enable --now var-lib-etcd.mount",
            "systemctl daemon-reload",
        ]
    );
}
