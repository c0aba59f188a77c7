//! A machine of its own for a test: namespaces for its network and its mounts, and a data directory.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use machinery::clock::Clock;
use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_node-runtime-try");

/// An init that says who it is, and ends with 7 when it is asked to.
const INIT: &str = "#!/bin/sh\ntrap 'echo bye; exit 7' 37\necho \"init runs as $$\"\nwhile :; do sleep 1000 & wait $!; done\n";

/// The kernel's default limits of inotify for each user.
const INOTIFY: [(&str, &str); 2] = [("max_user_instances", "128\n"), ("max_user_watches", "8192\n")];

/// Two namespaces, which end with this.
pub struct Fixture {
    keeper: Child,
    pub folder: TempDir,
}

/// What containers may change of a machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    mounts: String,
    links: String,
    tables: String,
    groups: Vec<PathBuf>,
    settings: Vec<(String, String)>,
    files: Vec<PathBuf>,
}

impl Fixture {
    /// `None` if this is no machine for system containers, which is a failure in CI. The limits of inotify, of which a kernel has one for all
    /// namespaces, are files here, so that tests neither change them for others nor see what others change.
    pub fn new() -> Option<Self> {
        let fixture = Self::with_inotify_of_machine()?;
        let folder = fixture.folder.path().join("inotify");
        fs::create_dir(&folder).unwrap();
        for (name, value) in INOTIFY {
            fs::write(folder.join(name), value).unwrap();
        }
        fixture.run("mount", &["--bind", folder.to_str().unwrap(), "/proc/sys/fs/inotify"]);
        Some(fixture)
    }

    /// The same with the limits of inotify of the whole machine.
    pub fn with_inotify_of_machine() -> Option<Self> {
        if !can_run() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut keeper = Command::new("unshare")
            .args(["--net", "--mount", "sh", "-c", "ip link set lo up; echo ready; exec sleep 100000"])
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Some(Self { keeper, folder })
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The number of a process in these namespaces.
    pub fn pid(&self) -> String {
        self.keeper.id().to_string()
    }

    /// The command that runs a program in these namespaces.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        let pid = self.keeper.id().to_string();
        command.args(["-t", &pid, "-n", "-m", "--", program]).args(arguments).env("RUST_BACKTRACE", "0");
        command
    }

    /// Runs a program in these namespaces, which must succeed, and returns its output.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program, arguments).output().unwrap();
        assert!(output.status.success(), "{program} {arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Starts a server that does one thing and ends.
    pub fn server_at(&self, data: &Path, arguments: &[&str], input: &[u8]) -> Output {
        let arguments = [&[data.to_str().unwrap()], arguments].concat();
        // Somebody has left a file open, which no process of a container may have.
        let leaves = "exec 9< /etc/passwd; exec \"$0\" \"$@\"";
        let mut command = self.command("sh", &[&["-c", leaves, PROGRAM], &arguments[..]].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may end before it has read everything.
        child.stdin.take().unwrap().write_all(input).ok();
        child.wait_with_output().unwrap()
    }

    pub fn server(&self, arguments: &[&str], input: &[u8]) -> Output {
        self.server_at(&self.data(), arguments, input)
    }

    /// The same; it must succeed, and prints JSON.
    pub fn ask(&self, arguments: &[&str], input: &[u8]) -> Value {
        let output = self.server(arguments, input);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }

    /// The same; it must fail, and says why.
    pub fn refused(&self, arguments: &[&str], input: &[u8]) -> String {
        let output = self.server(arguments, input);
        assert!(!output.status.success(), "{arguments:?} did not fail: {}", text(&output.stdout));
        text(&output.stderr)
    }

    pub fn create(&self, name: &str) {
        self.ask(&["create"], &spec(name, busybox()));
    }

    pub fn create_and_start(&self, name: &str) -> Value {
        self.create(name);
        self.ask(&["start", name], b"")
    }

    /// Runs a shell's line in a container, and returns its output.
    pub fn shell(&self, name: &str, line: &str) -> String {
        let output = self.server(&["exec", name, "20000", "sh", "-c", line], b"");
        assert!(output.status.success(), "{line}: {} {}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    pub fn state(&self, name: &str) -> Value {
        self.ask(&["inspect", name], b"")["state"].clone()
    }

    /// Ends the next process that comes to this step.
    pub fn end_at(&self, step: &str) {
        fs::create_dir_all(self.data()).unwrap();
        fs::write(self.data().join("end-at"), step).unwrap();
    }

    /// Whether a process has come to the step of [`Self::end_at`].
    pub fn has_ended_there(&self) -> bool {
        !self.data().join("end-at").exists()
    }

    /// Does something in the network of these namespaces.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let network = fs::File::open(format!("/proc/{}/ns/net", self.keeper.id())).unwrap();
        let work = move || {
            nix::sched::setns(network, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
            work()
        };
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    /// The instances and watches of inotify, and whether packets are forwarded, one a line.
    pub fn settings(&self) -> String {
        let names = ["fs/inotify/max_user_instances", "fs/inotify/max_user_watches", "net/ipv4/ip_forward"];
        let lines = names.map(|name| self.run("cat", &[&format!("/proc/sys/{name}")]));
        lines.map(|line| line.trim().to_owned()).join("\n")
    }

    pub fn machine(&self) -> Machine {
        let identity = fs::read_to_string(self.data().join("identity")).unwrap_or_default();
        let read = |path: String| (path.clone(), fs::read_to_string(path).unwrap_or_default());
        let machine =
            ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "fs/file-max", "fs/nr_open"];
        let mut settings: Vec<_> = machine.iter().map(|name| read(format!("/proc/sys/{name}"))).collect();
        settings.push(("of the fixture".to_owned(), self.settings()));
        let folders = ["containers", "balancers"].map(|name| fs::read_dir(self.data().join(name)));
        let entries = folders.into_iter().flatten().flatten().flatten();
        Machine {
            mounts: fs::read_to_string(format!("/proc/{}/mounts", self.keeper.id())).unwrap(),
            links: self.run("ip", &["-o", "addr"]),
            tables: text(&self.server(&["tables"], b"").stdout),
            groups: groups(&identity),
            settings,
            files: entries.map(|entry| entry.path()).collect(),
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // What a test that failed has left must not stay on the machine.
        for data in fs::read_dir(self.folder.path()).into_iter().flatten().flatten() {
            fs::remove_file(data.path().join("end-at")).ok();
            for container in fs::read_dir(data.path().join("containers")).into_iter().flatten().flatten() {
                self.server_at(&data.path(), &["remove", container.file_name().to_str().unwrap()], b"");
            }
        }
        self.keeper.kill().ok();
        self.keeper.wait().ok();
    }
}

fn groups(identity: &str) -> Vec<PathBuf> {
    if identity.is_empty() {
        return Vec::new();
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let tops = node_runtime::groups::parse(&mounts).into_iter();
    tops.map(|top| top.path.join(format!("firstlight-{identity}"))).filter(|path| path.exists()).collect()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A container of an image.
pub fn spec(name: &str, image: &Path) -> Vec<u8> {
    json!({"name": name, "image": image, "volumes": ["/var"], "labels": {"for": name}})
        .to_string()
        .into_bytes()
}

fn busybox_program() -> Option<&'static str> {
    ["/usr/bin/busybox", "/bin/busybox"].into_iter().find(|path| Path::new(path).exists())
}

#[allow(clippy::print_stdout, reason = "it says why tests are skipped")]
fn can_run() -> bool {
    let can = rustix::process::geteuid().is_root() && busybox_program().is_some();
    let why = "system containers need root, and their tests the package busybox-static (tests/netboot/install-tools)";
    assert!(can || std::env::var_os("CI").is_none(), "{why}");
    if !can {
        println!("skipped: {why}");
    }
    can
}

/// An image with busybox, which all tests share and nobody changes.
pub fn busybox() -> &'static Path {
    static IMAGE: OnceLock<PathBuf> = OnceLock::new();
    IMAGE.get_or_init(|| {
        // Nobody drops what is static, so that it has one place for all runs.
        let image = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node-runtime-busybox");
        fs::remove_dir_all(&image).ok();
        fill_busybox(&image, INIT);
        image
    })
}

/// Makes an image with busybox and this init.
pub fn make_busybox(init: &str) -> TempDir {
    let image = tempfile::tempdir().unwrap();
    fill_busybox(image.path(), init);
    image
}

fn fill_busybox(root: &Path, init: &str) {
    for folder in
        ["bin", "sbin", "etc", "proc", "sys", "dev", "run", "tmp", "var/lib/some", "root", "usr/bin"]
    {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let program = busybox_program().unwrap();
    fs::copy(program, root.join("bin/busybox")).unwrap();
    let applets = Command::new(program).arg("--list").output().unwrap();
    for applet in text(&applets.stdout).lines().filter(|applet| !["busybox", "init"].contains(applet)) {
        symlink("busybox", root.join("bin").join(applet)).unwrap();
    }
    write_program(&root.join("sbin/init"), init.as_bytes());
    fs::write(root.join("var/lib/some/file"), "content\n").unwrap();
    fs::hard_link(root.join("var/lib/some/file"), root.join("var/lib/some/same")).unwrap();
}

pub fn write_program(path: &Path, content: &[u8]) {
    use std::os::unix::fs::PermissionsExt;

    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Waits until something is so.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let clock = Clock::system();
    let deadline = clock.monotonic() + Duration::from_secs(30);
    while !is_so() {
        assert!(clock.monotonic() < deadline, "{what} did not happen");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
