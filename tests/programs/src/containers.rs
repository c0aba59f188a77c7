//! The container images of a node, from programs that were built here.

use std::collections::BTreeMap;
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
/// What kube-proxy calls, in a Debian.
const NFT: &str = "/usr/sbin/nft";
const XTABLES: &str = "/usr/sbin/xtables-nft-multi";
/// The names under which kube-proxy calls the second one.
const IPTABLES: [&str; 6] =
    ["iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"];
/// The folder of iptables' plugins, and the one that needs a library which no other needs. Without it no Service has two backends.
const PLUGINS: &str = "/usr/lib/x86_64-linux-gnu/xtables";
const STATISTIC: &str = "/usr/lib/x86_64-linux-gnu/xtables/libxt_statistic.so";

/// The image of the web server for Pods of tests.
pub const WEB: &str = "docker.io/library/web:1";

/// Writes an archive with the web server, and with its client as `/web get URL`.
///
/// # Errors
/// The program is not in the folder `programs`, or the file cannot be written.
pub fn write_web(programs: &Path, output: &Path) -> Result<()> {
    let mut archive = Archive::create(output)?;
    let layer = archive.layer(&[("/web".to_owned(), Content::Of(&programs.join("web")))])?;
    archive.image(WEB, &[&layer], "/web")?;
    archive.finish()
}

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

/// Writes an archive with the images that kubeadm wants, under the names in the file `images` of `programs`. `debian` is a tree with `nft` and
/// `iptables`.
///
/// # Errors
/// Fails if a program is missing, or kubeadm wants an unknown image.
pub fn write(programs: &Path, debian: &Path, output: &Path) -> Result<()> {
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
    let proxy = filters(debian)?;
    let proxy: Vec<_> = proxy.iter().map(|(path, file)| (path.clone(), file.content())).collect();
    let proxy = archive.layer(&proxy)?;
    for part in KUBERNETES {
        let layers = if part == "kube-proxy" { &[&kubernetes, &proxy][..] } else { &[&kubernetes][..] };
        archive.image(name(part)?, layers, &format!("/usr/local/bin/{part}"))?;
    }
    for (part, path) in [("etcd", "/usr/local/bin/etcd"), ("coredns", "/coredns"), ("pause", "/pause")] {
        let layer = archive.layer(&[(path.to_owned(), Content::Of(&programs.join(part)))])?;
        archive.image(name(part)?, &[&layer], path)?;
    }
    archive.finish()
}

/// A file of a tree, or a link.
enum Found {
    File(PathBuf),
    Link(String),
}

impl Found {
    fn content(&self) -> Content<'_> {
        match self {
            Self::File(path) => Content::Of(path),
            Self::Link(target) => Content::Link(target),
        }
    }
}

/// Returns what kube-proxy calls to filter packets, by paths: nft and iptables with its plugins.
fn filters(tree: &Path) -> Result<BTreeMap<String, Found>> {
    let mut found = BTreeMap::new();
    let plugins = tree.join(PLUGINS.trim_start_matches('/'));
    for entry in std::fs::read_dir(&plugins).with_context(|| format!("{}", plugins.display()))? {
        let file = entry?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("{PLUGINS}/{name}");
        let one = match std::fs::read_link(&file) {
            Ok(target) => Found::Link(target.to_string_lossy().into_owned()),
            Err(_) => Found::File(file),
        };
        found.insert(path, one);
    }
    for program in [NFT, XTABLES, STATISTIC] {
        let files = with_libraries(tree, program)?;
        found.extend(files.into_iter().map(|(path, file)| (path, Found::File(file))));
    }
    let names =
        IPTABLES.map(|name| (format!("/usr/sbin/{name}"), Found::Link("xtables-nft-multi".to_owned())));
    found.extend(names);
    Ok(found)
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
