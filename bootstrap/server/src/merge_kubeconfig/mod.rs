//! Merges the administrator's kubeconfig into the user's own file, and takes it out again, with kubectl's rules for the file and its lock.
//!
//! The entries of a server have one name, `firstlight-NAME`. An extension of its context names the data directory, so that entries of
//! others with this name are recognised, and are never changed. All other bytes of the file stay as they are.

mod edit;
mod layout;
mod lock;
mod owner;
mod record;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use self::lock::Lock;
use self::owner::{identity, mark, others, owned};
use self::record::Record;
use crate::data_directory::{DataDirectory, write_private};

/// The lists of a kubeconfig; the entries of each have unique names.
const LISTS: [&str; 3] = ["clusters", "users", "contexts"];
const CURRENT: &str = "current-context";
/// A kubeconfig without entries.
const EMPTY: &str = "apiVersion: v1\nkind: Config\n";

/// Returns the file that kubectl would write new entries to: the first file of `$KUBECONFIG` that exists, or its last file, or
/// `~/.kube/config`.
///
/// # Errors
/// Neither `KUBECONFIG` nor `HOME` is set.
pub fn users_own() -> Result<PathBuf> {
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let files: Vec<PathBuf> =
        std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect();
    if let Some(file) = files.iter().find(|path| path.exists()).or(files.last()) {
        return Ok(file.clone());
    }
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    Ok(Path::new(&home.context("neither KUBECONFIG nor HOME is set")?).join(".kube/config"))
}

/// Returns the file that has the entries of the server on `directory`, if there is one.
///
/// # Errors
/// The record about it cannot be read.
pub fn merged_into(directory: &DataDirectory) -> Result<Option<PathBuf>> {
    Ok(Record::of(directory)?.map(|record| record.file))
}

/// Fails if the file `into` has entries named `name` that are not of the server on `directory`.
///
/// # Errors
/// Such an entry, or the file cannot be read.
pub fn refuse_foreign(directory: &DataDirectory, name: &str, into: &Path) -> Result<()> {
    if !into.exists() {
        return Ok(());
    }
    let config = config(into, &read(into)?)?;
    check_name(&config, owned(&config, directory).as_deref(), name, into)
}

/// Fails if entries named `name` are not those of the server, which are named `owned`.
fn check_name(config: &Map<String, Value>, owned: Option<&str>, name: &str, into: &Path) -> Result<()> {
    if owned == Some(name) {
        return Ok(());
    }
    match LISTS.iter().find(|list| entry(config, list, name).is_some()) {
        None => Ok(()),
        Some(list) => bail!(
            "{} has an entry {name} in its {list} that is not of this server, and stays; choose another name with --name, or remove the entry",
            into.display()
        ),
    }
}

/// Puts the entries of the kubeconfig `from`, which is that of the server on `directory`, into the file `into`. `make_current` makes its
/// context the current one. Returns the name of this context.
///
/// # Errors
/// A file cannot be read, is not a kubeconfig, is locked, or has entries of the same name of another server. Then `into` is unchanged.
pub fn merge(directory: &DataDirectory, from: &Path, into: &Path, make_current: bool) -> Result<String> {
    let into = whole_path(into)?;
    if merged_into(directory)?.is_some_and(|file| file != into) {
        unmerge(directory)?;
    }
    let mut ours = config(from, &read(from)?)?;
    let name = text(&ours, CURRENT).context("the kubeconfig of the server has no current context")?;
    mark(&mut ours, directory);
    let _lock = Lock::take(&into)?;
    let (old, created) = if into.exists() { (read(&into)?, false) } else { (EMPTY.to_owned(), true) };
    let before = config(&into, &old)?;
    let owned = owned(&before, directory);
    check_name(&before, owned.as_deref(), &name, &into)?;
    // The server may have had another name.
    let owned = owned.filter(|owned| *owned != name);
    let mut change = Change::new(&into, &old)?;
    for list in LISTS {
        if let Some(owned) = &owned {
            change.remove(list, owned)?;
        }
        let entries = ours.get(list).and_then(Value::as_array);
        entries.into_iter().flatten().try_for_each(|entry| change.set(list, entry))?;
    }
    if owned.is_some() {
        for (other, mut theirs) in others(&before, directory, &into) {
            if theirs.former == owned {
                theirs.former = Some(name.clone());
                theirs.write(&other)?;
            }
        }
    }
    let current = text(&before, CURRENT);
    let is_ours = current.is_some() && (current.as_ref() == Some(&name) || current == owned);
    if make_current || is_ours {
        change.set_current(&name)?;
    }
    let earlier = Record::of(directory)?.unwrap_or_else(|| Record { created, ..Record::default() });
    let former = if is_ours { earlier.former } else { current };
    let directory_now = Some(identity(directory));
    Record { file: into.clone(), former, created: earlier.created, directory: directory_now }
        .write(directory)?;
    change.write()?;
    Ok(name)
}

/// Returns the path of a file that may not exist yet, by which every working directory finds it. Its folder is made. A symbolic link stays, and
/// the file that it points to is written.
fn whole_path(file: &Path) -> Result<PathBuf> {
    if let Ok(path) = file.canonicalize() {
        return Ok(path);
    }
    let file = files::behind_links(file)?;
    let name = file.file_name().with_context(|| format!("{} is not the name of a file", file.display()))?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let folder = folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
    Ok(folder.join(name))
}

/// Takes the entries of the server on `directory` out of the file that they were merged into, and makes the former context the current one
/// again. Returns the file; `None` if there is nothing to take out.
///
/// # Errors
/// The file cannot be read, is not a kubeconfig, or is locked. Then it is unchanged.
pub fn unmerge(directory: &DataDirectory) -> Result<Option<PathBuf>> {
    let Some(file) = merged_into(directory)? else { return Ok(None) };
    if !file.exists() {
        Record::remove(directory)?;
        return Ok(None);
    }
    let _lock = Lock::take(&file)?;
    // Another server that stopped meanwhile may have changed the record.
    let Some(record) = Record::of(directory)? else { return Ok(None) };
    let old = read(&file)?;
    let before = config(&file, &old)?;
    let Some(name) = owned(&before, directory) else {
        Record::remove(directory)?;
        return Ok(None);
    };
    for (other, mut theirs) in others(&before, directory, &file) {
        if theirs.former.as_ref() == Some(&name) {
            theirs.former.clone_from(&record.former);
        }
        theirs.created |= record.created;
        theirs.write(&other)?;
    }
    let mut change = Change::new(&file, &old)?;
    LISTS.iter().try_for_each(|list| change.remove(list, &name))?;
    if text(&before, CURRENT).as_ref() == Some(&name) {
        let former = record.former.filter(|former| entry(&before, "contexts", former).is_some());
        change.set_current(&former.unwrap_or_default())?;
    }
    if record.created && change.is_empty() {
        std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    } else {
        change.write()?;
    }
    Record::remove(directory)?;
    Ok(Some(file))
}

/// A change of a kubeconfig: its text, and what the text should say.
struct Change<'a> {
    file: &'a Path,
    text: String,
    expected: Map<String, Value>,
}

impl<'a> Change<'a> {
    fn new(file: &'a Path, text: &str) -> Result<Self> {
        Ok(Self { file, text: text.to_owned(), expected: config(file, text)? })
    }

    fn set(&mut self, list: &str, entry: &Value) -> Result<()> {
        let entries = self.entries(list)?;
        match entries.iter_mut().find(|found| found["name"] == entry["name"]) {
            Some(found) => *found = entry.clone(),
            None => entries.push(entry.clone()),
        }
        self.apply(edit::set_entry(&self.text, list, entry))
    }

    fn remove(&mut self, list: &str, name: &str) -> Result<()> {
        if self.expected.get(list).is_none_or(Value::is_null) {
            return Ok(());
        }
        self.entries(list)?.retain(|entry| entry["name"] != name);
        self.apply(edit::remove_entry(&self.text, list, name))
    }

    fn set_current(&mut self, name: &str) -> Result<()> {
        self.expected.insert(CURRENT.to_owned(), name.into());
        self.apply(edit::set_current_context(&self.text, name))
    }

    fn entries(&mut self, list: &str) -> Result<&mut Vec<Value>> {
        let entries = self.expected.entry(list).or_insert(Value::Null);
        if entries.is_null() {
            *entries = Value::Array(Vec::new());
        }
        entries.as_array_mut().with_context(|| format!("{}: {list} is not a list", self.file.display()))
    }

    /// Takes a changed text, if it says what it should.
    fn apply(&mut self, changed: Option<String>) -> Result<()> {
        let says = |text: &String| config(self.file, text).is_ok_and(|config| config == self.expected);
        self.text = changed.filter(says).with_context(|| {
            format!(
                "{} is written in a way in which single entries cannot be changed; let KUBECONFIG list both files instead",
                self.file.display()
            )
        })?;
        Ok(())
    }

    /// Returns whether the kubeconfig has no entry.
    fn is_empty(&self) -> bool {
        LISTS.iter().all(|list| self.expected.get(*list).and_then(Value::as_array).is_none_or(Vec::is_empty))
    }

    fn write(&self) -> Result<()> {
        write_private(self.file, self.text.as_bytes())
    }
}

fn entry<'a>(config: &'a Map<String, Value>, list: &str, name: &str) -> Option<&'a Value> {
    config.get(list)?.as_array()?.iter().find(|entry| entry["name"] == name)
}

fn text(config: &Map<String, Value>, key: &str) -> Option<String> {
    config.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn read(path: &Path) -> Result<String> {
    let text = files::open(path).and_then(std::io::read_to_string);
    text.with_context(|| format!("cannot read {}", path.display()))
}

/// Reads a kubeconfig. Its content is never part of an error, because it contains keys.
fn config(path: &Path, text: &str) -> Result<Map<String, Value>> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_saphyr::from_str(text) {
        Ok(Value::Object(config)) => {
            let kind = config.get("kind").and_then(Value::as_str).unwrap_or("Config");
            ensure!(kind == "Config", "{} is not a kubeconfig: its kind is {kind}", path.display());
            Ok(config)
        }
        Ok(Value::Null) => Ok(Map::new()),
        _ => bail!("{} is not a kubeconfig", path.display()),
    }
}
