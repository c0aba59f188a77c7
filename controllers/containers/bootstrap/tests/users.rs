//! Users: their commands really run, with programs that only note how they were called.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command as Process;

use node_bootstrap::{Action, Bootstrap, Command, Format, Metadata, parse};

/// Programs that note their words and their input. `id` knows `root` only.
const PROGRAM: &str = "#!/bin/sh\nname=${0##*/}\n{ printf '%s' \"$name\"; for word; do printf ' [%s]' \"$word\"; done; \
                       [ \"$name\" != chpasswd ] || printf ' < %s' \"$(cat)\"; echo; } >>\"$NOTED\"\n";

const ID: &str = "#!/bin/sh\n[ \"$1\" = -g ] && { echo 7; exit; }\n[ \"$2\" = root ]\n";

struct Ran {
    noted: String,
    warnings: String,
    code: Option<i32>,
    folder: tempfile::TempDir,
}

fn users(text: &str) -> Bootstrap {
    parse(text.as_bytes(), Format::CloudConfig, &Metadata::default()).unwrap()
}

/// Runs the commands of all users, with `failing` among the programs as one that fails.
fn run(bootstrap: &Bootstrap, failing: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let getent = format!(
        "#!/bin/sh\n[ \"$1 $2\" != 'group none' ] || exit 2\necho \"x:x:1:1::{}/home:/bin/sh\"\n",
        folder.path().display()
    );
    let fails = "#!/bin/sh\necho first >&2\necho 'it went wrong' >&2\nexit 4\n";
    let all = [("id", ID), ("getent", getent.as_str())]
        .into_iter()
        .chain(["useradd", "groupadd", "usermod", "chpasswd", "chown"].map(|name| (name, PROGRAM)));
    for (name, text) in all {
        let path = programs.join(name);
        fs::write(&path, if name == failing { fails } else { text }).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    if failing == "no useradd" {
        fs::remove_file(programs.join("useradd")).unwrap();
    }
    let (noted, warnings) = (folder.path().join("noted"), folder.path().join("warnings"));
    let mut code = None;
    for step in &bootstrap.steps {
        let Action::Run(Command::Shell(text)) = &step.action else { panic!("{step:?}") };
        let path = format!("{}:/nowhere", programs.display());
        // Only the programs of the folder, and those of the shell's own folder that have no other form here.
        let tools = ["mkdir", "chmod", "cut", "grep", "tail", "cat", "sh"];
        for tool in tools {
            let found = Process::new("/bin/sh").args(["-c", &format!("command -v {tool}")]).output().unwrap();
            let found = String::from_utf8(found.stdout).unwrap();
            let _ = std::os::unix::fs::symlink(found.trim(), programs.join(tool));
        }
        let text = text.replace("/etc/sudoers.d", &folder.path().join("sudoers.d").display().to_string());
        let mut process = Process::new("/bin/sh");
        process
            .args(["-c", &text])
            .env("PATH", path)
            .env("NOTED", &noted)
            .env("BOOTSTRAP_WARNINGS", &warnings);
        code = process.status().unwrap().code();
    }
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    Ran { noted: read(&noted), warnings: read(&warnings), code, folder }
}

const ADMIN: &str = "users:
- name: admin
  passwd: $6$salt$hash
  gecos: The Admin's
  groups: wheel, none
  primary_group: staff
  homedir: /home/admin
  shell: /bin/bash
  uid: 1234
  sudo: ALL=(ALL) NOPASSWD:ALL
  lock_passwd: false
  ssh_authorized_keys:
  - ssh-ed25519 AAAA a'b@example
  - ssh-ed25519 BBBB
";

#[test]
fn a_user_is_made_with_all_that_is_asked_for() {
    let ran = run(&users(ADMIN), "");
    assert_eq!((ran.code, ran.warnings.as_str()), (Some(0), ""));
    let home = ran.folder.path().join("home");
    let expected = format!(
        "groupadd [--] [none]\nuseradd [--comment] [The Admin's] [--home] [/home/admin] [--shell] [/bin/bash] [--uid] \
         [1234] [--gid] [staff] [--groups] [wheel,none] [-m] [--] [admin]\nchpasswd [-e] < admin:$6$salt$hash\nusermod \
         [--unlock] [--] [admin]\nchown [-R] [--] [admin:7] [{}/.ssh]\n",
        home.display()
    );
    assert_eq!(ran.noted, expected);
    let keys = fs::read_to_string(home.join(".ssh/authorized_keys")).unwrap();
    assert_eq!(keys, "ssh-ed25519 AAAA a'b@example\nssh-ed25519 BBBB\n");
    let rules = fs::read_to_string(ran.folder.path().join("sudoers.d/90-cloud-init-users")).unwrap();
    assert_eq!(rules, "admin ALL=(ALL) NOPASSWD:ALL\n");
}

#[test]
fn forms_of_users() {
    let cases = [
        ("users: [plain]", "useradd [-m] [--] [plain]\nusermod [--lock] [--] [plain]\n"),
        ("users: [{name: a, system: true}]", "useradd [-M] [--system] [--] [a]\nusermod [--lock] [--] [a]\n"),
        (
            "users: [{name: a, no_create_home: true, no_user_group: true, sudo: false, groups: [wheel]}]",
            "useradd [--groups] [wheel] [-M] [--no-user-group] [--] [a]\nusermod [--lock] [--] [a]\n",
        ),
        // One that is there.
        (
            "users: [{name: root, plain_text_passwd: a b, lock_passwd: false}]",
            "chpasswd < root:a b\nusermod [--unlock] [--] [root]\n",
        ),
        ("users: [{name: a, lock_passwd: false}]", "useradd [-m] [--] [a]\n"),
    ];
    for (text, expected) in cases {
        let ran = run(&users(text), "");
        assert_eq!((ran.noted.as_str(), ran.warnings.as_str(), ran.code), (expected, "", Some(0)), "{text}");
    }
}

#[test]
fn a_user_that_cannot_be_made_is_a_warning() {
    let cases = [
        ("no useradd", "the user admin is not made: the node image has no useradd\n"),
        ("useradd", "the user admin could not be made as asked for: it went wrong\n"),
        ("usermod", "the user admin could not be made as asked for: it went wrong\n"),
    ];
    for (failing, expected) in cases {
        let ran = run(&users(ADMIN), failing);
        assert_eq!((ran.warnings.as_str(), ran.code), (expected, Some(0)), "{failing}");
    }
}

#[test]
fn names_that_would_be_something_else_are_refused() {
    for name in ["''", "-x", "a b", "../x", "a:b", "a/b", "\"a\\nb\""] {
        let text = format!("users: [{{name: {name}}}]");
        let error =
            parse(text.as_bytes(), Format::CloudConfig, &Metadata::default()).unwrap_err().to_string();
        assert!(error.starts_with("users[0].name: the name "), "{name}: {error}");
    }
}
