//! What Ignition's configurations become.

use node_bootstrap::{Action, Bootstrap, Command, Format, Metadata, WriteFile, parse};
use serde_json::{Value, json};

fn read(mut config: Value) -> Result<Bootstrap, String> {
    if config.get("ignition").is_none() {
        config["ignition"] = json!({"version": "2.3.0"});
    }
    let text = config.to_string();
    parse(text.as_bytes(), Format::Ignition, &Metadata::default()).map_err(|error| error.to_string())
}

fn files(entry: Value) -> Vec<WriteFile> {
    let bootstrap = read(json!({"storage": {"files": [entry]}})).unwrap();
    let file = |action: Action| match action {
        Action::WriteFile(file) => file,
        Action::Run(_) => unreachable!("the data has files"),
    };
    bootstrap.steps.into_iter().map(|step| file(step.action)).collect()
}

#[test]
fn files_have_their_fields() {
    let cases = [
        // Their provider's panic.
        (json!({"path": "/x", "contents": {"source": "data:,a%20b"}}), "a b", None, None, false),
        (
            json!({"path": "/x", "filesystem": "root", "mode": 416, "contents": {"source": "data:;base64,YWI="}}),
            "ab",
            Some(0o640),
            None,
            false,
        ),
        (
            json!({"path": "/x", "contents": {"source": "data:text/plain;charset=utf-8;base64,YWI%3D"}}),
            "ab",
            None,
            None,
            false,
        ),
        (
            json!({"path": "/x", "contents": {"source": "data:;base64,H4sIAAAAAAACAytITM5OTeECAEPgQS8HAAAA", "compression": "gzip"}}),
            "packed\n",
            None,
            None,
            false,
        ),
        (
            json!({"path": "/x", "append": true, "contents": {"source": "data:,a"}, "user": {"name": "u"}, "group": {"id": 5}}),
            "a",
            None,
            Some("u:5"),
            true,
        ),
        (json!({"path": "/x", "contents": {"source": ""}, "user": {"id": 0}}), "", None, Some("0"), false),
        (json!({"path": "/x", "contents": {}, "group": {"name": "g"}}), "", None, Some(":g"), false),
        (json!({"path": "/x", "append": [{"source": "data:,a"}]}), "a", None, None, true),
        // It keeps what is there.
        (json!({"path": "/x"}), "", None, None, true),
    ];
    for (entry, content, mode, owner, append) in cases {
        let (path, content, owner) = ("/x".to_owned(), content.as_bytes().to_vec(), owner.map(str::to_owned));
        assert_eq!(files(entry.clone()), [WriteFile { path, content, mode, owner, append }], "{entry}");
    }
    let both = json!({"path": "/x", "contents": {"source": "data:,a"}, "append": [{"source": "data:,b"}, {"source": "data:,c"}]});
    let all: Vec<(Vec<u8>, bool)> = files(both).into_iter().map(|file| (file.content, file.append)).collect();
    assert_eq!(all, [(b"a".to_vec(), false), (b"b".to_vec(), true), (b"c".to_vec(), true)]);
}

fn texts(bootstrap: &Bootstrap) -> Vec<String> {
    let text = |action: &Action| match action {
        Action::WriteFile(file) => format!("> {}", file.path),
        Action::Run(Command::Shell(text)) => text.clone(),
        Action::Run(Command::Arguments(words)) => words.join(" "),
    };
    bootstrap.steps.iter().map(|step| text(&step.action)).collect()
}

#[test]
fn directories_and_links_are_made() {
    let bootstrap = read(json!({"storage": {
        "directories": [{"path": "/a b", "mode": 448, "user": {"name": "u"}}, {"path": "/c"}],
        "links": [{"path": "/d/e", "target": "../x"}, {"path": "/f", "target": "/g", "hard": true}],
    }}));
    assert_eq!(
        texts(&bootstrap.unwrap()),
        [
            "mkdir -p -- '/a b' && chown -- u '/a b' && chmod 0700 -- '/a b'",
            "mkdir -p -- /c && chmod 0755 -- /c",
            "mkdir -p -- /d && ln -sfT -- ../x /d/e",
            "mkdir -p -- / && ln -fT -- /g /f",
        ]
    );
}

#[test]
fn units_are_written_before_any_is_started() {
    let bootstrap = read(json!({"systemd": {"units": [
        {"name": "a.service", "enabled": true, "contents": "[Unit]"},
        {"name": "var-x.mount", "enable": true, "contents": "[Mount]"},
        {"name": "a.service", "enabled": true, "dropins": [{"name": "10.conf", "contents": "x"}]},
        {"name": "b.service", "mask": true},
        {"name": "c.service", "enabled": false},
        {"name": "d.service", "contents": "[Unit]"},
    ]}}));
    let bootstrap = bootstrap.unwrap();
    let what: Vec<&str> = bootstrap.steps.iter().map(|step| step.what.as_str()).collect();
    assert_eq!(
        what,
        [
            "write /etc/systemd/system/a.service",
            "write /etc/systemd/system/var-x.mount",
            "write /etc/systemd/system/a.service.d/10.conf",
            "write /etc/systemd/system/d.service",
            "systemctl daemon-reload",
            "systemctl enable --now var-x.mount",
            "systemctl enable --now a.service",
            "systemctl mask --now -- b.service",
        ]
    );
    assert_eq!(bootstrap.warnings, ["systemd.units: c.service is not disabled, it may run already"]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let cases = [
        (
            json!({"ignition": {"version": "1.0.0"}}),
            "ignition.version: the version \"1.0.0\" is not known: use 2.3.0 or 3.x",
        ),
        (json!({"ignition": {}}), "ignition.version: the version \"\" is not known"),
        (json!({"storage": {"files": "s3cret"}}), "line 1 of the bootstrap data: a field has another type"),
        (json!({"storage": {"files": [{"path": "x"}]}}), "storage.files[0].path: the path must be absolute"),
        (
            json!({"storage": {"files": [{"path": "/x", "mode": 4096}]}}),
            "storage.files[0].mode: the mode is larger",
        ),
        (
            json!({"storage": {"files": [{"path": "/x", "contents": {"source": "data:s3cret"}}]}}),
            "storage.files[0].contents: the data: URL has no comma before its data",
        ),
        (
            json!({"storage": {"files": [{"path": "/x", "contents": {"source": "data:;base64,s3cret!"}}]}}),
            "storage.files[0].contents: the content is not base64",
        ),
        (
            json!({"storage": {"files": [{"path": "/x", "contents": {"source": "data:,s3cret", "compression": "xz"}}]}}),
            "storage.files[0].contents: the compression is not known: use gzip",
        ),
        (json!({"storage": {"links": [{"path": "/x"}]}}), "storage.links[0].target: the target is missing"),
        (
            json!({"systemd": {"units": [{"name": "../x"}]}}),
            "systemd.units[0].name: the name must have letters",
        ),
        (
            json!({"systemd": {"units": [{"name": "x.service", "dropins": [{"name": "a/b"}]}]}}),
            "systemd.units[0].dropins[0].name: the name must have letters",
        ),
        (json!({"passwd": {"users": [{"name": "a b"}]}}), "passwd.users[0].name: the name must have letters"),
        (json!({"passwd": {"groups": [{}]}}), "passwd.groups[0].name: the name is missing"),
    ];
    for (config, expected) in cases {
        let error = read(config.clone()).unwrap_err();
        assert!(error.starts_with(expected) && !error.contains("s3cret"), "{config}: {error}");
    }
    let error = parse(b"{\n\n s3cret", Format::Ignition, &Metadata::default()).unwrap_err().to_string();
    assert_eq!(error, "line 3 of the bootstrap data: it is no JSON");
}

#[test]
fn what_a_node_does_not_do_is_a_warning() {
    let cases = [
        (
            json!({"storage": {"files": [{"path": "/x", "contents": {"source": "https://x"}}]}}),
            "storage.files[0]: /x is left out, nodes fetch no files",
        ),
        (
            json!({"storage": {"files": [{"path": "/x", "filesystem": "oem"}]}}),
            "storage.files[0]: not applied, a node has no filesystem but root",
        ),
        (json!({"storage": {"raid": [{}]}}), "storage.raid: not applied, a node has no disks of its own"),
        (
            json!({"ignition": {"version": "3.4.0", "config": {"merge": [{"source": "https://x"}]}}}),
            "ignition.config: not applied, nodes fetch no further configuration",
        ),
        (
            json!({"kernelArguments": {"shouldExist": ["a"]}}),
            "kernelArguments: not applied, a node has the kernel of its machine",
        ),
    ];
    for (config, expected) in cases {
        let bootstrap = read(config.clone()).unwrap();
        assert_eq!((bootstrap.warnings, bootstrap.steps.len()), (vec![expected.to_owned()], 0), "{config}");
    }
    assert_eq!(read(json!({"storage": {"disks": []}, "networkd": {}})).unwrap(), Bootstrap::default());
}
