//! The image of balancers, which is made of this program.
//!
//! It has this program, the libraries that it has loaded, and nothing else: a statically linked program needs none. It is imported once for each
//! build of the program, and removed with the last container that needs it.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;

use anyhow::{Context, Result, ensure};
use http::{Method, StatusCode};
use machinery::hash::fnv1a_64;
use metal_boot::images::program::Entry;
use system_containers::balancer::{CONFIGURATION, FOLDER, STATUS};
use tar::{Builder, EntryType, Header};
use tokio::sync::Mutex;

use crate::api::ImageInspected;
use crate::balancer::{PROGRAM, Program};
use crate::client::{Client, Sent, quoted, unless_missing, unless_refused};
use crate::{limits, progress};

/// The repository of the image.
const REPOSITORY: &str = "localhost/firstlight-balancer";

pub(super) struct BalancerImage {
    /// The files of this program.
    program: Program,
    /// Held while the image is made or removed.
    alone: Mutex<()>,
}

impl BalancerImage {
    pub(super) fn new(program: Program) -> Self {
        Self { program, alone: Mutex::default() }
    }

    /// Returns the name of the image, which is made if the daemon does not have it.
    pub(super) async fn find_or_make(&self, client: &Client) -> Result<String> {
        let _alone = self.alone.lock().await;
        let program = self.program;
        let read = tokio::task::spawn_blocking(move || {
            let files = program(PROGRAM)?;
            let tag = tag(&files)?;
            anyhow::Ok((files, tag))
        });
        let (files, tag) = read.await.context("this program was not read")??;
        let image = format!("{REPOSITORY}:{tag}");
        let found = client.get::<ImageInspected>(&format!("/images/{image}/json")).await;
        if unless_missing(found)?.is_some() {
            return Ok(image);
        }
        let archive = node_images::stream(move |out| write(&files, out));
        // Podman takes no tag of its own.
        let path = format!("/images/create?fromSrc=-&repo={}", quoted(&image));
        let made = async {
            let lines = client.stream(Method::POST, &path, Sent::Archive(archive), limits::IMAGE).await?;
            progress::finish(lines, limits::IMAGE, &mut |_| ()).await
        };
        let made = tokio::time::timeout(limits::IMAGE, made).await;
        made.context("it takes too long").flatten().context("the image of balancers cannot be made")?;
        Ok(image)
    }

    /// Removes the image unless another one needs it.
    pub(super) async fn forget(&self, client: &Client, image: &str) -> Result<()> {
        let _alone = self.alone.lock().await;
        ensure!(!image.is_empty(), "the daemon does not say which image it had");
        let path = format!("/images/{image}");
        let removed = client.call(Method::DELETE, &path, Sent::Nothing, limits::CALL).await;
        unless_refused(removed, &[StatusCode::CONFLICT, StatusCode::NOT_FOUND]).map(drop)
    }
}

/// Returns by what an image of these files is known.
fn tag(files: &[Entry]) -> Result<String> {
    let mut text = String::new();
    for file in files {
        match file {
            Entry::File { path, source } => {
                let found = std::fs::metadata(source);
                let found = found.with_context(|| format!("cannot read {}", source.display()))?;
                let (size, time, nanoseconds) = (found.size(), found.mtime(), found.mtime_nsec());
                text.push_str(&format!("{path} {size} {time} {nanoseconds}\n"));
            }
            Entry::Link { path, target } => text.push_str(&format!("{path} {target}\n")),
        }
    }
    Ok(format!("{:016x}", fnv1a_64(text.as_bytes())))
}

/// Writes the archive of the files and of the folders in which a balancer has its mounts.
fn write(files: &[Entry], out: &mut dyn Write) -> Result<()> {
    let mut archive = Builder::new(out);
    for folder in [FOLDER.to_owned(), format!("{FOLDER}/{CONFIGURATION}"), format!("{FOLDER}/{STATUS}")] {
        let mut header = header(EntryType::Directory, 0);
        archive.append_data(&mut header, format!("{}/", relative(&folder)), std::io::empty())?;
    }
    for file in files {
        match file {
            Entry::File { path, source } => {
                let cannot = || format!("cannot read {}", source.display());
                let opened = File::open(source).with_context(cannot)?;
                let size = opened.metadata().with_context(cannot)?.len();
                archive.append_data(&mut header(EntryType::Regular, size), relative(path), opened)?;
            }
            Entry::Link { path, target } => {
                archive.append_link(&mut header(EntryType::Symlink, 0), relative(path), target)?;
            }
        }
    }
    Ok(archive.into_inner()?.flush()?)
}

fn relative(path: &str) -> &str {
    path.trim_start_matches('/')
}

fn header(kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o755);
    header.set_mtime(0);
    header
}
