//! The container images of a node, from programs that were built here.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::archive::{Archive, Content};

/// The image for pods of tests.
const BUSYBOX: &str = "docker.io/library/busybox:1.37";
/// The commands of busybox that they call.
const COMMANDS: [&str; 4] = ["sh", "httpd", "nslookup", "sleep"];
/// The programs that are one file.
const KUBERNETES: [&str; 4] = ["kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler"];
/// What kube-proxy calls.
const NFT: &str = "/usr/sbin/nft";

/// Writes an archive with busybox, under its usual name.
///
/// # Errors
/// Debian's package busybox-static is missing, or the file cannot be written.
pub fn write_busybox(output: &Path) -> Result<()> {
    let mut archive = Archive::create(output)?;
    let mut files = vec![
        ("/bin/busybox".to_owned(), Content::Of(Path::new("/bin/busybox"))),
        ("/tmp".to_owned(), Content::Folder),
    ];
    files.extend(COMMANDS.map(|name| (format!("/bin/{name}"), Content::Link("busybox"))));
    let layer = archive.layer(&files)?;
    archive.image(BUSYBOX, &[&layer], "/bin/sh")?;
    archive.finish()
}

/// Writes an archive with the images that kubeadm wants, under the names in the file `images` of `programs`. `debian` is the tree with `nft`.
///
/// # Errors
/// Fails if a program is missing, or kubeadm wants an unknown image.
pub(super) fn write(programs: &Path, debian: &Path, output: &Path) -> Result<()> {
    let names = std::fs::read_to_string(programs.join("images"))?;
    let name = |part: &str| {
        let of_part =
            |name: &&str| name.rsplit('/').next().is_some_and(|last| last.starts_with(&format!("{part}:")));
        names.lines().find(of_part).with_context(|| format!("kubeadm wants no image {part}"))
    };
    let mut archive = Archive::create(output)?;
    let program = programs.join("kubernetes");
    let mut files = vec![("/usr/local/bin/kubernetes".to_owned(), Content::Of(&program))];
    files.extend(KUBERNETES.map(|name| (format!("/usr/local/bin/{name}"), Content::Link("kubernetes"))));
    // Containers write there.
    files.extend(["/tmp", "/run", "/etc"].map(|folder| (folder.to_owned(), Content::Folder)));
    let kubernetes = archive.layer(&files)?;
    let libraries = with_libraries(debian, NFT)?;
    let files: Vec<_> =
        libraries.iter().map(|(path, file)| (path.clone(), Content::Of(file.as_path()))).collect();
    let nft = archive.layer(&files)?;
    for part in KUBERNETES {
        let layers = if part == "kube-proxy" { &[&kubernetes, &nft][..] } else { &[&kubernetes][..] };
        archive.image(name(part)?, layers, &format!("/usr/local/bin/{part}"))?;
    }
    for (part, path) in [("etcd", "/usr/local/bin/etcd"), ("coredns", "/coredns"), ("pause", "/pause")] {
        let layer = archive.layer(&[(path.to_owned(), Content::Of(&programs.join(part)))])?;
        archive.image(name(part)?, &[&layer], path)?;
    }
    archive.finish()
}

/// Returns a program of a tree and the libraries that it loads, by their paths in the tree.
fn with_libraries(tree: &Path, program: &str) -> Result<Vec<(String, PathBuf)>> {
    let output =
        Command::new("chroot").arg(tree).args(["ldd", program]).output().context("chroot is needed")?;
    ensure!(output.status.success(), "ldd {program}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let libraries =
        text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    let paths = std::iter::once(program).chain(libraries);
    Ok(paths.map(|path| (path.to_owned(), tree.join(path.trim_start_matches('/')))).collect())
}
