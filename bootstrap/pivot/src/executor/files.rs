//! The files in a directory of objects.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::inventory::{Discovery, Found, Inventory};
use crate::object::{Key, Object};

/// The file with the checksums. They are comments, so that clusterctl reads the file as an empty document.
pub(super) const CHECKSUMS: &str = "firstlight-checksums.yaml";

/// Returns the file names `<Kind>_<namespace>_<name>.yaml`, like clusterctl; if two groups have a kind of the same name, the group
/// follows the kind.
pub(super) fn file_names(inventory: &Inventory) -> BTreeMap<Key, String> {
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

/// Returns the files of a folder, sorted by name.
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

/// Fails if the folder contains other files: a restore reads every file of the folder, so files of an earlier save must not remain.
pub(super) fn only_these(folder: &Path, names: &BTreeSet<&str>) -> Result<()> {
    for path in files(folder)? {
        let name = name_of(&path);
        if name != CHECKSUMS && !names.contains(name.as_str()) {
            return Err(file_error(&path, "it is no part of what is saved; save into an empty directory"));
        }
    }
    Ok(())
}

/// Writes a file that only its owner may read, because objects contain keys and tokens.
pub(super) fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    ::files::write(path, 0o600, content).map_err(|error| file_error(path, format!("{error:#}")))
}

pub(super) fn read_files(discovery: &mut Discovery, folder: &Path) -> Result<Vec<Found>> {
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

/// Checks that every saved file exists unchanged, and that there is no other file.
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
