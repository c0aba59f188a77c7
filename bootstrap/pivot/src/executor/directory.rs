//! Objects in a directory: what `clusterctl move --to-directory` writes and `--from-directory` reads, with checksums on top.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Pivot, Work, refuse};
use crate::error::{Error, Result};
use crate::graph::Scope;
use crate::inventory::{Discovery, Found, Inventory};
use crate::journal::{Before, Header, Record};
use crate::object::{Key, Object};
use crate::progress::Phase;
use crate::report::Report;

/// Holds the checksums as comments, so that clusterctl reads it as an empty document.
const CHECKSUMS: &str = "firstlight-checksums.yaml";

/// How the target of a journal begins where it is a directory.
pub(super) const DIRECTORY: &str = "directory ";

impl Pivot {
    /// Writes every object that would move into `folder`, with the source paused meanwhile.
    ///
    /// # Errors
    /// What is not at rest, a folder that holds something else, a disk or server that refuses.
    pub async fn save(mut self, folder: &Path) -> Result<Report> {
        self.begin_anew()?;
        let mut work = self.read().await?;
        self.report.findings = work.inventory.unsteady.clone();
        refuse(&self.report.findings)?;
        let names = file_names(&work.inventory);
        only_these(folder, &names.values().map(String::as_str).collect())?;
        self.journal.append(Record::Started(Header {
            id: self.random.uid(),
            source: self.source.identity().await?,
            target: format!("{DIRECTORY}{}", folder.display()),
            namespace: self.options.namespace.clone(),
            keep_source: true,
        }))?;
        self.journal.append(Record::Planned(work.inventory.plan.clone()))?;
        self.pause_source(&work).await?;
        self.wait_until_released(&mut work).await?;
        work.inventory = work.discovery.inventory(&self.source, &work.scope).await?;
        let written = self.write(&work, folder);
        // Whatever the disk says, the source must go on.
        self.undo(&work).await?;
        written?;
        let mut report = self.finish();
        report.saved(&folder.display().to_string());
        Ok(report)
    }

    fn write(&self, work: &Work, folder: &Path) -> Result<()> {
        let names = file_names(&work.inventory);
        only_these(folder, &names.values().map(String::as_str).collect())?;
        let mut checksums =
            String::from("# What the files beside it must be, for `firstlight move --from-directory`.\n");
        for (number, (key, name)) in names.iter().enumerate() {
            let text = work.inventory.items[key].object.text.as_bytes();
            write_file(&folder.join(name), text)?;
            checksums.push_str(&format!("# {:x}  {name}\n", Sha256::digest(text)));
            self.progress.at(Phase::Copy, number + 1, names.len());
        }
        write_file(&folder.join(CHECKSUMS), checksums.as_bytes())
    }

    /// Creates at the target what `folder` holds; what is there already is left as it is.
    ///
    /// # Errors
    /// A file that is missing, edited or no object, a server that refuses.
    pub async fn restore_from(mut self, folder: &Path) -> Result<Report> {
        let mut discovery = Discovery::read(&self.target).await?;
        let reading = read_files(&mut discovery, folder)?;
        let scope = Scope::default();
        let mut inventory = discovery.assemble(reading, &scope);
        for step in inventory.plan.groups.iter_mut().flatten() {
            step.shared = true;
            step.kept = None;
        }
        let befores: Vec<Before> = inventory
            .roots()
            .map(|item| Before {
                object: item.object.key.clone(),
                paused: Value::Null,
                managed_fields: item.object.value()["metadata"]["managedFields"].clone(),
            })
            .collect();
        let namespaces: BTreeSet<String> =
            inventory.plan.namespaces().into_iter().map(ToOwned::to_owned).collect();
        for name in &namespaces {
            self.make_namespace(name).await?;
        }
        let mut work = Work {
            discovery,
            scope,
            inventory,
            identities: Default::default(),
            namespaces,
            given_up: BTreeSet::new(),
            marked: BTreeMap::new(),
        };
        self.journal.append(Record::Planned(work.inventory.plan.clone()))?;
        self.journal.append(Record::Pausing(befores))?;
        self.copy(&mut work, &mut HashMap::new()).await?;
        if let Some((key, difference)) = self.verify(&work).await?.into_iter().next() {
            return Err(Error::Different {
                object: key.to_string(),
                difference,
                advice: "Look at it at the target, then run the same command again",
            });
        }
        self.unpause_target(&mut work).await?;
        self.journal.append(Record::Done)?;
        let mut report = self.finish();
        report.saved(&folder.display().to_string());
        Ok(report)
    }

    async fn make_namespace(&self, name: &str) -> Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        match self.target.create(&format!("create Namespace {name}"), "/api/v1/namespaces", &namespace).await
        {
            Err(error) if !error.is_already_exists() => Err(error),
            _ => Ok(()),
        }
    }
}

/// `<Kind>_<namespace>_<name>.yaml`, as clusterctl names them; where two groups have a kind of that name, the group stands after it.
fn file_names(inventory: &Inventory) -> BTreeMap<Key, String> {
    let plain = |key: &Key| format!("{}_{}_{}.yaml", key.kind, key.namespace, key.name);
    let mut count: HashMap<String, usize> = HashMap::new();
    for key in inventory.items.keys() {
        *count.entry(plain(key)).or_default() += 1;
    }
    let name = |key: &Key| match count[&plain(key)] {
        1 => plain(key),
        _ => format!("{}.{}_{}_{}.yaml", key.kind, key.group, key.namespace, key.name),
    };
    inventory.items.keys().map(|key| (key.clone(), name(key))).collect()
}

fn file_error(path: &Path, why: impl ToString) -> Error {
    Error::File { path: path.display().to_string(), why: why.to_string() }
}

/// The files of a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(|error| file_error(folder, error))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| file_error(folder, error))?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A restore reads every file of the folder: one of an earlier save must not be among them.
fn only_these(folder: &Path, names: &BTreeSet<&str>) -> Result<()> {
    for path in files(folder)? {
        let name = name_of(&path);
        if name != CHECKSUMS && !names.contains(name.as_str()) {
            return Err(file_error(&path, "it is no part of what is saved; save into an empty directory"));
        }
    }
    Ok(())
}

/// Files hold keys and tokens: only their owner may read them.
fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    opened
        .and_then(|mut file| file.write_all(content).and_then(|()| file.sync_all()))
        .map_err(|error| file_error(path, error))
}

fn read_files(discovery: &mut Discovery, folder: &Path) -> Result<Vec<Found>> {
    let paths = files(folder)?;
    let mut contents: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for path in &paths {
        let content = std::fs::read(path).map_err(|error| file_error(path, error))?;
        contents.insert(name_of(path), content);
    }
    if let Some(checksums) = contents.remove(CHECKSUMS) {
        check(folder, &contents, &String::from_utf8_lossy(&checksums))?;
    }
    contents.iter().map(|(name, content)| read_object(discovery, &folder.join(name), content)).collect()
}

/// Every file that was saved is there as it was, and no other.
fn check(folder: &Path, contents: &BTreeMap<String, Vec<u8>>, checksums: &str) -> Result<()> {
    let lines = checksums.lines().filter_map(|line| line.strip_prefix("# ")?.split_once("  "));
    let expected: BTreeMap<&str, &str> = lines.map(|(checksum, name)| (name, checksum)).collect();
    for (name, checksum) in &expected {
        let Some(content) = contents.get(*name) else {
            return Err(file_error(
                &folder.join(name),
                "it is missing; restore it from where the directory was saved",
            ));
        };
        if format!("{:x}", Sha256::digest(content)) != *checksum {
            let why = format!(
                "it was changed after it was saved; restore it, or delete {CHECKSUMS} if you meant to"
            );
            return Err(file_error(&folder.join(name), why));
        }
    }
    match contents.keys().find(|name| !expected.contains_key(name.as_str())) {
        Some(name) => Err(file_error(
            &folder.join(name),
            "it was not saved with the others; take it out of the directory",
        )),
        None => Ok(()),
    }
}

fn read_object(discovery: &mut Discovery, path: &Path, content: &[u8]) -> Result<Found> {
    let text = std::str::from_utf8(content).map_err(|_| file_error(path, "it is no text"))?;
    let value: Value =
        serde_saphyr::from_str(text).map_err(|error| file_error(path, format!("it is no YAML: {error}")))?;
    let field = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api, kind) = (field("/apiVersion"), field("/kind"));
    if [api, kind, field("/metadata/name"), field("/metadata/uid")].contains(&"") {
        return Err(file_error(path, "it has no apiVersion, kind, metadata.name or metadata.uid"));
    }
    let (group, version) = api.split_once('/').unwrap_or(("", api));
    let known = discovery.kinds.iter().position(|known| known.is(group, kind));
    let Some(index) = known else {
        return Err(file_error(
            path,
            format!("the target has no kind {kind} of {api}; install its provider there"),
        ));
    };
    discovery.kinds[index].version = version.to_owned();
    let known = &discovery.kinds[index];
    let parsed = Object::parse(known, &value.to_string()).map_err(|error| file_error(path, error))?;
    Ok(Found::saved(known, index, parsed))
}
