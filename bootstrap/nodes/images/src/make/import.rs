//! The images of the components in containerd's store. containerd of the tree itself unpacks them, in namespaces of their own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, anyhow, ensure};
use bundle::{Archive, Reference};
use nix::sched::{CloneFlags, unshare};
use pod_folders::{Missing, Root};
use pod_processes::mounts::{Mounted, found, separate};
use rustix::mount::MountAttrFlags;
use rustix::process::{Pid, Signal, kill_process};
use system_containers::Report;

use super::ImagesAt;
use super::tree::Tree;
use crate::archive::{self, Named};
use crate::limits;

/// The components of a control plane whose tag is the version of Kubernetes.
const VERSIONED: [&str; 4] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"];
/// The other images that kubeadm wants, whose tags are their own.
const OTHERS: [&str; 3] = ["etcd", "coredns", "pause"];
/// Where containerd keeps the compressed layers.
const CONTENT: &str = "var/lib/containerd/io.containerd.content.v1.content";
/// Where images wait for the first start of a node.
const WAITING: &str = "/kind/images";
/// Programs of the tree in their usual places.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The images that go into a node.
pub(super) struct Images {
    /// By their names.
    found: BTreeMap<String, (usize, bundle::Image)>,
    archives: Vec<Archive>,
    pause: Option<String>,
}

impl Images {
    /// Opens archives of images, image layouts, and folders with such.
    ///
    /// # Errors
    /// One of them cannot be read, or an image is for another platform.
    pub(super) fn open(paths: &[PathBuf], scratch: &Path) -> Result<Self> {
        let mut images = Self { found: BTreeMap::new(), archives: Vec::new(), pause: None };
        for path in container_images::Sources::new(paths.to_vec()).archives()? {
            let opened = Archive::open(&path, scratch)?;
            let names: Vec<String> = opened.names().map(str::to_owned).collect();
            for name in names {
                let reference: Reference = name.parse()?;
                if let Some(image) = opened.image(&reference, None)? {
                    images.pause = images.pause.or_else(|| (last(&name) == "pause").then(|| name.clone()));
                    images.found.entry(name).or_insert((images.archives.len(), image));
                }
            }
            images.archives.push(opened);
        }
        Ok(images)
    }

    /// Returns the name of the image with which each Pod begins.
    pub(super) fn pause(&self) -> Option<&str> {
        self.pause.as_deref()
    }

    /// Checks that all images are there that kubeadm wants for this version. Without any, nodes pull them.
    ///
    /// # Errors
    /// Some are missing; the message names all of them.
    pub(super) fn check(&self, version: &str) -> Result<()> {
        let has = |component: &str, version: Option<&str>| {
            self.found.keys().any(|name| {
                last(name) == component
                    && version.is_none_or(|version| name.ends_with(&format!(":{version}")))
            })
        };
        let versioned = VERSIONED.iter().filter(|name| !has(name, Some(version)));
        let mut missing: Vec<String> = versioned.map(|name| format!("{name}:{version}")).collect();
        missing.extend(OTHERS.iter().filter(|name| !has(name, None)).map(|name| (*name).to_owned()));
        ensure!(
            missing.is_empty() || self.found.is_empty(),
            "--images has no {}; `kubeadm config images list --kubernetes-version {version}` lists what nodes need. Add archives with them, or give no --images, so that nodes pull them",
            missing.join(", no ")
        );
        Ok(())
    }

    /// Puts the images into a tree.
    ///
    /// # Errors
    /// containerd of the tree cannot be run here, or refuses an image; the message has its last words.
    pub(super) fn put(&self, tree: &Tree, at: ImagesAt, scratch: &Path, report: Report<'_>) -> Result<()> {
        if self.found.is_empty() {
            return Ok(());
        }
        match at {
            ImagesAt::FirstStart => self.wait_for_start(tree, scratch),
            ImagesAt::Making => {
                self.import(tree, &scratch.join("containerd.log"), report)?;
                self.drop_layers(tree)
            }
        }
    }

    fn wait_for_start(&self, tree: &Tree, scratch: &Path) -> Result<()> {
        let path = scratch.join("images.tar");
        let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        self.write(file)?;
        tree.folder(WAITING, 0o755)?;
        tree.write(&format!("{WAITING}/images.tar"), 0o644, File::open(&path)?)
    }

    /// Writes all images to one archive, in which those that share a layer have it once.
    fn write(&self, out: impl Write) -> Result<()> {
        let names: Vec<[String; 1]> = self.found.keys().map(|name| [name.clone()]).collect();
        let images = self
            .found
            .values()
            .zip(&names)
            .map(|((at, image), names)| Named::of(&self.archives[*at], image, names));
        archive::write(&images.collect::<Vec<_>>(), BufWriter::new(out))
    }

    fn import(&self, tree: &Tree, log: &Path, report: Report<'_>) -> Result<()> {
        report("unpacking the images for the nodes");
        let output = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        // Namespaces and the root folder are those of a thread, and stay those of the processes that it starts.
        let path = tree.path();
        let inside = std::thread::scope(|scope| scope.spawn(|| start(path, output)).join());
        let mut inside = inside.map_err(|_| anyhow!("the import ended early"))??;
        let imported = self.hand_over(&mut inside.ctr);
        inside.end();
        imported.with_context(|| {
            let text = fs::read_to_string(log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let last = lines[lines.len().saturating_sub(limits::LINES)..].join("\n");
            format!(
                "containerd of the root archive cannot unpack the images (the folder for temporary files must be on a disk, and not on an overlay); it says: {last}"
            )
        })
    }

    /// Hands the images to the client, and waits until containerd has them.
    fn hand_over(&self, ctr: &mut Child) -> Result<()> {
        let written = self.write(ctr.stdin.take().context("ctr has no input")?);
        let mut words = String::new();
        if let Some(stderr) = &mut ctr.stderr {
            drop(stderr.read_to_string(&mut words));
        }
        let status = ctr.wait().context("cannot wait for ctr")?;
        ensure!(status.success(), "ctr ends with {status}: {}", words.trim());
        written
    }

    /// Removes the compressed layers, which are unpacked: each node would copy them. Manifests and configs stay, which the kubelet asks for.
    fn drop_layers(&self, tree: &Tree) -> Result<()> {
        let layers = self.found.values().flat_map(|(_, image)| &image.layers);
        for layer in layers {
            tree.remove(&format!("{CONTENT}/{}", layer.digest.path()))?;
        }
        Ok(())
    }
}

/// Returns the last part of an image's name, without its tag.
fn last(name: &str) -> &str {
    let path = name.rsplit('/').next().unwrap_or_default();
    path.split([':', '@']).next().unwrap_or_default()
}

/// Puts this thread into the tree, with mounts and a network of its own.
fn enter(tree: &Path) -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET).context("cannot make namespaces")?;
    separate()?;
    // The root archive decides what its paths mean. In these mounts, it is another one than what was opened before.
    let root = Root::open(tree)?;
    for path in ["/proc", "/sys", "/dev"] {
        let mount = || Mounted::copy(found(Path::new(path))?)?.attach(root.place(path, Missing::Folder)?);
        mount().with_context(|| format!("cannot mount {path} into the tree"))?;
    }
    for path in ["/run", "/tmp"] {
        let new = Mounted::new("tmpfs", &[], MountAttrFlags::empty());
        let mounted = new.and_then(|new| new.attach(root.place(path, Missing::Folder)?));
        mounted.with_context(|| format!("cannot mount {path} into the tree"))?;
    }
    // Both are those of this thread alone, since it has mounts of its own.
    rustix::process::fchdir(&root).context("cannot enter the tree")?;
    rustix::process::chroot(".").context("cannot enter the tree")
}

/// The programs of the tree that run while images are imported.
struct Inside {
    containerd: Child,
    ctr: Child,
}

/// Starts containerd in the tree, and a client that waits until it listens.
fn start(tree: &Path, log: File) -> Result<Inside> {
    enter(tree)?;
    let containerd = command("containerd").stdout(log.try_clone()?).stderr(log).spawn();
    let mut containerd = containerd.context("cannot run containerd of the root archive")?;
    let mut ctr = command("ctr");
    ctr.args(["--connect-timeout", "60s", "--namespace", "k8s.io", "images", "import", "-"]);
    match ctr.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn() {
        Ok(ctr) => Ok(Inside { containerd, ctr }),
        Err(error) => {
            end(&mut containerd);
            Err(error).context("cannot run ctr of the root archive")
        }
    }
}

impl Inside {
    fn end(mut self) {
        drop(self.ctr.kill());
        drop(self.ctr.wait());
        end(&mut self.containerd);
    }
}

/// Asks containerd to end, so that its database is whole.
fn end(containerd: &mut Child) {
    if let Some(pid) = i32::try_from(containerd.id()).ok().and_then(Pid::from_raw) {
        // It may have ended by itself.
        kill_process(pid, Signal::TERM).ok();
    }
    drop(containerd.wait());
}

fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", PATH).stdin(Stdio::null());
    command
}
