//! The images of nodes, made once of Debian's packages and Go's modules.

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use node_programs::{build, once, run, write, write_web};

/// The minor version to which an upgrade is played. Its programs are those of the older one with another version stamped in. It is not the other way
/// round, because a control plane's controller gives kubeadm 1.35 a feature gate that 1.36 does not know any more.
const NEWER: &str = "v1.37.0";

/// The files that the suite has made:
///
/// - `root.tar`, a Debian for nodes without Kubernetes, and `debian`, the packages that it was made of
/// - `VERSION/binaries` and `VERSION/images.tar`, Kubernetes' programs for the node, and the container images that kubeadm wants
/// - `VERSION/node.tar`, an OCI archive with the image `kindest/node:VERSION`, as `firstlight image node` makes it
/// - `web.tar`, an OCI archive with the image of a web server
///
/// Upstream's Docker provider is in another folder.
pub struct Images {
    folder: PathBuf,
}

/// Makes all images, unless they have been made of the same things.
///
/// # Errors
/// Something cannot be built.
pub fn prepare() -> Result<Images> {
    let images = Images::find();
    let here = here();
    run(&here.join("make-root"), [images.folder.as_os_str()])?;
    for (version, programs) in [(images.older(), build(None)?), (NEWER, build(Some(NEWER))?)] {
        let folder = images.folder.join(version);
        let made_of = [
            images.folder.join("root.made-of"),
            programs.join("made-of"),
            here.join("../../programs/src"),
            here.join("../../../bootstrap/nodes/images/src"),
            here.join("../../../bootstrap/nodes/images/data"),
        ];
        std::fs::create_dir_all(&folder)?;
        once(&folder.join("made-of"), &made_of, || images.make(version, &programs))?;
        if version == images.older() {
            write_web(&programs, &images.web())?;
        }
    }
    Ok(images)
}

impl Images {
    /// Returns the images that [`prepare`] has made.
    pub fn find() -> Self {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("/"));
        Self { folder: workspace.join("target/tools/nodes") }
    }

    /// Returns the folder of all.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the older version, that of the programs.
    pub fn older(&self) -> &'static str {
        node_programs::version()
    }

    /// Returns the newer version.
    pub fn newer(&self) -> &'static str {
        NEWER
    }

    /// Returns the archive with the image of a node.
    pub fn node(&self, version: &str) -> PathBuf {
        self.folder.join(version).join("node.tar")
    }

    /// Returns the archive with the image of the web server.
    pub fn web(&self) -> PathBuf {
        self.folder.join("web.tar")
    }

    /// Returns the folder with upstream's Docker provider.
    pub fn capd(&self) -> PathBuf {
        self.folder.with_file_name("capd")
    }

    /// Returns kubectl.
    pub fn kubectl(&self) -> PathBuf {
        self.folder.join(self.older()).join("binaries/kubectl")
    }

    /// Returns the Debian without Kubernetes.
    pub fn debian(&self) -> PathBuf {
        self.folder.join("debian")
    }

    /// Prints where they are.
    ///
    /// # Errors
    /// Nothing can be printed.
    pub fn print(&self) -> Result<()> {
        for path in [self.node(self.older()), self.node(self.newer()), self.web()] {
            writeln!(std::io::stdout(), "{}", std::fs::canonicalize(path)?.display())?;
        }
        Ok(())
    }

    fn make(&self, version: &str, programs: &Path) -> Result<()> {
        let folder = self.folder.join(version);
        let (binaries, archive) = (folder.join("binaries"), folder.join("images.tar"));
        collect(programs, &binaries)?;
        write(programs, &self.debian(), &archive)?;
        let root = self.folder.join("root.tar");
        let made = Command::new(firstlight()?)
            .args(["image", "node", "--kubernetes", version, "--root"])
            .arg(root)
            .arg("--binaries")
            .arg(binaries)
            .arg("--images")
            .arg(archive)
            .arg("--output")
            .arg(self.node(version))
            .status()?;
        ensure!(made.success(), "`firstlight image node` fails");
        Ok(())
    }
}

/// Returns the program under test.
///
/// # Errors
/// Nobody has named it.
pub fn firstlight() -> Result<PathBuf> {
    let named = std::env::var_os("FIRSTLIGHT_BINARY").map(PathBuf::from);
    named.context("FIRSTLIGHT_BINARY must name the program: run `cargo xtask nodes`")
}

/// Makes the folder with the programs of a node.
fn collect(programs: &Path, folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir(folder)?;
    for name in ["kubernetes", "crictl"] {
        std::fs::hard_link(programs.join(name), folder.join(name)).with_context(|| name.to_owned())?;
    }
    for name in ["kubeadm", "kubelet", "kubectl"] {
        symlink("kubernetes", folder.join(name))?;
    }
    Ok(())
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("images")
}
