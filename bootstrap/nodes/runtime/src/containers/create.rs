//! The creation of a container: its record, then its files. Nothing of the machine is changed.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use anyhow::{Context, Result, bail};
use pod_folders::Root;

use super::data::Data;
use super::{Folder, Record, copy, image, observe, paths, remove};
use crate::network::{self, Order, Range};
use crate::process::boot;
use system_containers::{Container, Init, Spec};

pub(super) async fn create(data: &Data, range: Option<Range>, spec: &Spec) -> Result<Container> {
    spec.check()?;
    let mut spec = spec.clone();
    paths::absolute(&mut spec)?;
    if let Some(program) = program(&spec.init) {
        image::check(Path::new(&spec.image), program)?;
    }
    let name = spec.name.as_str();
    let lock = data.lock(name).await?;
    let folder = data.folder(name);
    let existing = folder.read()?;
    if existing.is_some_and(|record| record.prepared.is_some() && !record.is_removing) {
        bail!("name: there is a container of this name: remove it first, or use another name");
    }
    if folder.path().exists() {
        remove::remove_all_of(data, name)
            .await
            .context("what an earlier creation has left cannot be removed")?;
    }
    let created = make(data, range, &spec).await;
    if created.is_err() {
        // What cannot be removed now has a record, and is removed with it later.
        remove::remove_all_of(data, name).await.ok();
        lock.remove();
    }
    created
}

async fn make(data: &Data, range: Option<Range>, spec: &Spec) -> Result<Container> {
    let folder = data.folder(&spec.name);
    let mut record = write_record(data, range, spec).await?;
    data.step("record");
    let (spec, target) = (spec.clone(), folder.clone());
    let filled = tokio::task::spawn_blocking(move || match spec.init {
        Init::Balancer => make_folder(&target.root()),
        _ => fill(Path::new(&spec.image), &spec.volumes, &target),
    });
    let filled = filled.await;
    filled.context("the copy was interrupted")??;
    data.step("volumes");
    record.prepared = Some(boot()?);
    folder.write(&record)?;
    data.step("prepared");
    let path = folder.path().to_owned();
    // Nobody waits until gigabytes are on the disk. Before that, the container lasts only until the machine loses power.
    tokio::task::spawn_blocking(move || make_durable(&path));
    observe::find(data, &record.spec.name).context("it was removed")
}

/// Chooses an address and writes the record. Nothing on the machine is changed for the container before its record is written.
async fn write_record(data: &Data, range: Option<Range>, spec: &Spec) -> Result<Record> {
    let _lock = data.lock_all().await?;
    let range = range_of(data, range).await?;
    let taken = taken(data, range).await?;
    let record = Record {
        spec: spec.clone(),
        identity: data.identity().to_owned(),
        range,
        address: range.free(spec.address, &taken, Order::of(&spec.init))?,
        created: data.clock().now(),
        prepared: None,
        is_removing: false,
    };
    data.folder(&spec.name).write(&record)?;
    Ok(record)
}

/// Returns the addresses that containers have. One whose record cannot be read cannot be started, so that it has an address only
/// as long as it runs, and then a link.
async fn taken(data: &Data, range: Range) -> Result<Vec<Ipv4Addr>> {
    let (mut taken, mut is_one_unreadable) = (Vec::new(), false);
    for name in data.names()? {
        match data.folder(&name).read() {
            Ok(record) => taken.extend(record.map(|record| record.address)),
            Err(_) => is_one_unreadable = true,
        }
    }
    if is_one_unreadable {
        taken.extend(network::linked(&data.network(range)).await?);
    }
    Ok(taken)
}

/// Returns the range of the network, which is chosen with the first container.
async fn range_of(data: &Data, wanted: Option<Range>) -> Result<Range> {
    if let Some(range) = data.range()? {
        return Ok(range);
    }
    let range = network::find_range(wanted, data.identity()).await?;
    data.choose_range(range)?;
    Ok(range)
}

/// Returns the first program of the image that is run; `None` if there is no image.
fn program(init: &Init) -> Option<&str> {
    match init {
        Init::System => Some("/sbin/init"),
        Init::Command(parts) => parts.first().map(String::as_str),
        Init::Balancer => None,
    }
}

/// Makes the folders of a container and copies its volumes.
fn fill(image: &Path, volumes: &[String], folder: &Folder) -> Result<()> {
    for path in [folder.root(), folder.upper(), folder.work(), folder.private(""), folder.volumes()] {
        make_folder(&path)?;
    }
    let found = fs::metadata(image).with_context(|| format!("cannot read {}", image.display()))?;
    // The root folder of an overlay has the owner and the mode of its upper folder.
    let like_image = chown(folder.upper(), Some(found.uid()), Some(found.gid())).and_then(|()| {
        fs::set_permissions(folder.upper(), fs::Permissions::from_mode(found.mode() & 0o7777))
    });
    like_image.with_context(|| format!("cannot change {}", folder.upper().display()))?;
    let root = Root::open(image)?;
    for (number, volume) in volumes.iter().enumerate() {
        copy::volume(&root, volume, &folder.volume(number))
            .with_context(|| format!("cannot copy the volume {volume} of the image: is the disk full?"))?;
    }
    Ok(())
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))
}

/// The file that says that everything of a container is on the disk.
const DURABLE: &str = "durable";

fn make_durable(folder: &Path) -> Option<()> {
    let opened = fs::File::open(folder).ok()?;
    rustix::fs::syncfs(&opened).ok()?;
    // Not with its folder, which may have been removed in the meantime.
    let marker = fs::File::create(folder.join(DURABLE)).ok()?;
    marker.sync_all().ok()
}

/// Returns whether everything of a container is on the disk.
pub(super) fn is_durable(folder: &Path) -> bool {
    folder.join(DURABLE).exists()
}
