//! Images of nodes that are made of an archive of a Debian, programs, and images of components.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use container_images::Sources;
use flate2::Compression;
use flate2::write::GzEncoder;
use node_images::{ImagesAt, Recipe, make};
use rustix::fs::lgetxattr;
use tar::{Builder, EntryType, Header};

use super::fixture::{Machine, config, layer, layout, node, pipe};

/// The capability `cap_net_raw+ep` as the kernel keeps it.
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const TIME: i64 = 1_700_000_000;
/// The programs that a Debian has.
const PROGRAMS: [&str; 17] = [
    "usr/sbin/init",
    "usr/bin/containerd",
    "usr/bin/containerd-shim-runc-v2",
    "usr/bin/ctr",
    "usr/sbin/runc",
    "usr/local/bin/crictl",
    "usr/sbin/conntrack",
    "usr/sbin/ethtool",
    "usr/bin/ip",
    "usr/sbin/iptables",
    "usr/bin/mount",
    "usr/bin/nsenter",
    "usr/bin/systemctl",
    "usr/lib/cni/bridge",
    "usr/lib/cni/host-local",
    "usr/lib/cni/loopback",
    "usr/lib/cni/portmap",
];
/// The images that kubeadm wants.
const IMAGES: [&str; 7] = [
    "registry.k8s.io/kube-apiserver:v1.36.3",
    "registry.k8s.io/kube-controller-manager:v1.36.3",
    "registry.k8s.io/kube-scheduler:v1.36.3",
    "registry.k8s.io/kube-proxy:v1.36.3",
    "registry.k8s.io/coredns/coredns:v1.14.2",
    "registry.k8s.io/pause:3.10.2",
    "registry.k8s.io/etcd:3.6.8-0",
];

/// A folder with everything that an image is made of.
struct Kitchen {
    folder: tempfile::TempDir,
}

impl Kitchen {
    fn new(without: &[&str]) -> Self {
        Self::with(without, &[])
    }

    /// The same, and the Debian has these links besides.
    fn with(without: &[&str], links: &[(&str, &str)]) -> Self {
        let kitchen = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(kitchen.path("root.tar.gz"), debian(without, links)).unwrap();
        fs::create_dir(kitchen.path("binaries")).unwrap();
        fs::write(kitchen.path("binaries/kubernetes"), "#!/bin/sh\n").unwrap();
        for name in ["kubeadm", "kubelet", "kubectl"].iter().filter(|name| !without.contains(name)) {
            symlink("kubernetes", kitchen.path("binaries").join(name)).unwrap();
        }
        fs::create_dir(kitchen.path("images")).unwrap();
        for (number, name) in IMAGES.iter().enumerate().filter(|(_, name)| !without.contains(name)) {
            let layer = layer(&node());
            layout(&kitchen.path("images").join(number.to_string()), name, &config(&layer), &layer);
        }
        kitchen
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn recipe(&self) -> Recipe {
        Recipe {
            kubernetes: "v1.36.3".to_owned(),
            name: "kindest/node:v1.36.3".to_owned(),
            root: self.path("root.tar.gz"),
            binaries: self.path("binaries"),
            images: vec![self.path("images")],
            images_at: ImagesAt::FirstStart,
            scratch: self.folder.path().to_owned(),
            time: TIME,
        }
    }

    /// Makes an image; the error is its whole text. Nothing is left of it besides the image.
    fn make(&self, recipe: &Recipe) -> Result<Vec<u8>, String> {
        let names = || -> BTreeSet<PathBuf> {
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
        };
        let before = names();
        let mut out = Vec::new();
        let made = make(recipe, &mut out, &|_| ()).map_err(|error| format!("{error:#}"));
        assert_eq!(names(), before);
        made.map(|_| out)
    }
}

/// Returns the archive of a small Debian.
fn debian(without: &[&str], links: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let header = |kind, mode, size: usize| {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(2_000_000_000);
        header.set_size(size as u64);
        header
    };
    let usual = [("./bin", "usr/bin"), ("./sbin", "usr/sbin"), ("./lib", "usr/lib")];
    for (link, target) in usual.iter().chain(links) {
        archive.append_link(&mut header(EntryType::Symlink, 0o777, 0), link, target).unwrap();
    }
    let text = |path: &str| if path == "usr/bin/mount" { 0o4755 } else { 0o755 };
    for path in PROGRAMS.iter().filter(|path| !without.contains(path)) {
        let path = format!("./{path}");
        let mode = text(&path[2..]);
        archive.append_data(&mut header(EntryType::Regular, mode, 10), path, &b"#!/bin/sh\n"[..]).unwrap();
    }
    archive.append_pax_extensions([("SCHILY.xattr.security.capability", &CAPABILITY[..])]).unwrap();
    archive.append_data(&mut header(EntryType::Regular, 0o755, 1), "usr/bin/ping", &b"x"[..]).unwrap();
    let long = format!("usr/share/{}/file", "long".repeat(30));
    archive.append_data(&mut header(EntryType::Regular, 0o644, 1), long, &b"x"[..]).unwrap();
    for path in ["etc/machine-id", "etc/ssh/ssh_host_rsa_key", "usr/lib/sysctl.d/50-default.conf"] {
        archive.append_data(&mut header(EntryType::Regular, 0o644, 1), path, &b"x"[..]).unwrap();
    }
    archive.append_link(&mut header(EntryType::Link, 0o644, 0), "etc/second", "etc/machine-id").unwrap();
    archive.into_inner().unwrap().finish().unwrap()
}

#[tokio::test]
async fn a_made_image_is_that_of_a_node() {
    let (kitchen, machine) = (Kitchen::new(&[]), Machine::new());
    let archive = kitchen.make(&kitchen.recipe()).unwrap();
    fs::write(machine.local().join("node.tar"), archive).unwrap();
    let image = machine.find("kindest/node:v1.36.3").await.unwrap();
    assert_eq!(image.command, ["/sbin/init"]);
    assert_eq!(image.kubernetes.as_deref(), Some("v1.36.3"));
    assert_eq!(image.environment["container"], "docker");
    let root = Path::new(&image.id);
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    assert!(text("etc/containerd/config.toml").contains("sandbox_image = \"registry.k8s.io/pause:3.10.2\""));
    assert!(!text("etc/containerd/config.toml").contains("conf_template"));
    assert!(text("etc/containerd/bridge.toml").contains("conf_template"));
    assert!(text("usr/local/bin/node-containerd").ends_with("exec /usr/bin/containerd \"$@\"\n"));
    assert!(
        text("kind/manifests/default-storage.yaml").contains("provisioner: firstlight.dev/node-storage\n")
    );
    assert!(text("etc/default/kubelet").contains("--fail-cgroupv1=false"));
    let found = |path: &str| fs::symlink_metadata(root.join(path)).unwrap();
    // One program with three names, as it was in the folder.
    assert_eq!(found("usr/bin/kubeadm").ino(), found("usr/bin/kubelet").ino());
    assert_eq!(found("opt/cni/bin/bridge").ino(), found("usr/lib/cni/bridge").ino());
    assert_eq!(found("usr/bin/mount").mode() & 0o7777, 0o4755);
    assert_eq!(found("usr/bin/mount").mtime(), TIME, "nothing is younger than the image");
    let mut value = [0; 20];
    assert_eq!(lgetxattr(root.join("usr/bin/ping"), "security.capability", &mut value), Ok(20));
    assert_eq!(value, CAPABILITY);
    assert!(root.join(format!("usr/share/{}/file", "long".repeat(30))).exists());
    assert_eq!((text("etc/machine-id").as_str(), text("etc/second").as_str()), ("", "x"));
    assert!(!root.join("etc/ssh/ssh_host_rsa_key").exists());
    assert!(!root.join("usr/lib/sysctl.d/50-default.conf").exists());
    let masked = fs::read_link(root.join("etc/systemd/system/getty.target")).unwrap();
    assert_eq!(masked, Path::new("/dev/null"));
    // The images wait for the first start, each with its name.
    let waiting = Sources::new(vec![root.join("kind/images")]);
    for name in IMAGES {
        assert!(waiting.find(&name.parse().unwrap(), machine.folder.path()).is_ok(), "{name}");
    }
}

#[test]
fn the_same_input_makes_the_same_image() {
    let (one, two) = (Kitchen::new(&[]), Kitchen::new(&[]));
    let image = one.make(&one.recipe()).unwrap();
    assert!(image == two.make(&two.recipe()).unwrap());
    let later = Recipe { time: TIME + 1, ..one.recipe() };
    assert!(image != one.make(&later).unwrap());
}

#[test]
fn what_is_missing_is_named_with_its_place() {
    for (without, expected) in [
        (&["kubeadm", "kubectl"][..], &["binaries has no kubeadm, no kubectl", "dl.k8s.io"][..]),
        (
            &["usr/local/bin/crictl", "usr/sbin/conntrack", "usr/lib/cni/bridge", "usr/sbin/init"],
            &[
                "/usr/bin/crictl (",
                "cri-tools",
                "/usr/bin/conntrack (Debian's package: conntrack)",
                "/sbin/init (Debian's package: systemd-sysv)",
                "/opt/cni/bin/bridge (Debian's package: containernetworking-plugins)",
                "binaries",
            ],
        ),
        (
            &[IMAGES[3], IMAGES[6]],
            &["no kube-proxy:v1.36.3, no etcd", "kubeadm config images list --kubernetes-version v1.36.3"],
        ),
    ] {
        let kitchen = Kitchen::new(without);
        let error = kitchen.make(&kitchen.recipe()).unwrap_err();
        for expected in expected {
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}

#[test]
fn a_recipe_that_cannot_be_followed_is_refused() {
    let kitchen = Kitchen::new(&[]);
    let no_archive = kitchen.path("binaries/kubernetes");
    let xz = kitchen.path("root.tar.xz");
    fs::write(&xz, b"\xfd7zXZ\0").unwrap();
    let waits = kitchen.path("pipe");
    pipe(&waits);
    let recipe = || kitchen.recipe();
    for (recipe, expected) in [
        (Recipe { kubernetes: "1.36.3".to_owned(), ..recipe() }, "write it as v1.36.3"),
        (Recipe { kubernetes: "v1.36".to_owned(), ..recipe() }, "write it as v1.36.3"),
        (Recipe { kubernetes: "v1.36.3\n".to_owned(), ..recipe() }, "write it as v1.36.3"),
        (Recipe { kubernetes: "v1.35.0".to_owned(), ..recipe() }, "no kube-apiserver:v1.35.0"),
        (Recipe { name: "Node".to_owned(), ..recipe() }, "is no name of an image"),
        (Recipe { root: kitchen.path("nothing"), ..recipe() }, "cannot read"),
        (Recipe { root: no_archive, ..recipe() }, "kubernetes is no archive of a system"),
        (Recipe { root: xz, ..recipe() }, "use gzip or zstd"),
        (Recipe { root: waits.clone(), ..recipe() }, "it is a named pipe and no regular file"),
        (Recipe { images: vec![kitchen.path("nothing")], ..recipe() }, "cannot read"),
        (Recipe { images: vec![waits], ..recipe() }, "it is a named pipe and no regular file"),
        (Recipe { scratch: kitchen.path("nothing"), ..recipe() }, "cannot"),
    ] {
        let error = kitchen.make(&recipe).unwrap_err();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

/// The root archive decides where its own `/proc` and `/run` are, and nothing else.
#[test]
fn links_of_the_root_archive_lead_to_nothing_on_this_machine() {
    let outside = tempfile::tempdir().unwrap();
    let at = |name: &str| outside.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(at("run")).unwrap();
    let (processes, run) = (at("processes"), at("run"));
    let kitchen =
        Kitchen::with(&[], &[("./proc", &processes), ("./run", &run), ("./tmp", "../../var/temporary")]);
    let recipe = Recipe { images_at: ImagesAt::Making, ..kitchen.recipe() };
    let error = kitchen.make(&recipe).unwrap_err();
    // Everything was mounted, each at its place below the root folder; containerd of this Debian is a script without a shell.
    assert!(error.contains("cannot run containerd of the root archive"), "{error}");
    assert!(!fs::exists(&processes).unwrap() && fs::read_dir(&run).unwrap().next().is_none());
}

#[tokio::test]
async fn a_bundle_carries_a_node() {
    let (kitchen, machine) = (Kitchen::new(&[]), Machine::new());
    let path = kitchen.path("node.tar");
    fs::write(&path, kitchen.make(&kitchen.recipe()).unwrap()).unwrap();
    let container = bundle::Container { name: None, path, platforms: bundle::Platforms::own() };
    let additions = bundle::Additions { containers: vec![container], ..Default::default() };
    bundle::write(&machine.local().join("site.bundle"), None, &additions).unwrap();
    assert!(machine.find("kindest/node:v1.36.3").await.is_ok());
}

#[tokio::test]
async fn without_images_nodes_pull_them() {
    let kitchen = Kitchen::new(&[]);
    assert!(kitchen.make(&Recipe { images: Vec::new(), ..kitchen.recipe() }).is_ok());
}
