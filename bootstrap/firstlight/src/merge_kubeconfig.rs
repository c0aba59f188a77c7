//! Merges the administrator's kubeconfig into the user's own file, with kubectl's rules for the file and its lock.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use crate::data_directory::write_private;

/// The lists of a kubeconfig; the entries of each have unique names.
const LISTS: [&str; 3] = ["clusters", "users", "contexts"];

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

/// Puts the entries of the kubeconfig `from` into the file `into`. Entries of the same names are replaced, all others stay. `make_current`
/// makes the context of `from` the current one. Returns the name of this context.
///
/// # Errors
/// A file cannot be read, is not a kubeconfig, or is locked. Then `into` is unchanged.
pub fn merge(from: &Path, into: &Path, make_current: bool) -> Result<String> {
    let ours = read(from)?;
    // A symbolic link stays, and the file that it points to is written.
    let into = into.canonicalize().unwrap_or_else(|_| into.to_owned());
    if let Some(folder) = into.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let _lock = Lock::take(&into)?;
    let mut merged = match into.exists() {
        true => read(&into)?,
        false => {
            Map::from_iter([("apiVersion".to_owned(), "v1".into()), ("kind".to_owned(), "Config".into())])
        }
    };
    for list in LISTS {
        let entries = merged.entry(list).or_insert(Value::Null);
        if entries.is_null() {
            *entries = Value::Array(Vec::new());
        }
        let entries = entries.as_array_mut();
        let entries = entries.with_context(|| format!("{}: {list} is not a list", into.display()))?;
        for new in ours.get(list).and_then(Value::as_array).into_iter().flatten() {
            match entries.iter_mut().find(|entry| entry["name"] == new["name"]) {
                Some(entry) => *entry = new.clone(),
                None => entries.push(new.clone()),
            }
        }
    }
    let context = ours.get("current-context").and_then(Value::as_str).unwrap_or_default().to_owned();
    if make_current {
        merged.insert("current-context".to_owned(), context.clone().into());
    }
    let text = serde_saphyr::to_string(&merged).context("the kubeconfig cannot be written as YAML")?;
    write_private(&into, text.as_bytes())?;
    Ok(context)
}

/// Reads a kubeconfig. Its content is never part of an error, because it contains keys.
fn read(path: &Path) -> Result<Map<String, Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_saphyr::from_str(&text) {
        Ok(Value::Object(config)) => {
            let kind = config.get("kind").and_then(Value::as_str).unwrap_or("Config");
            ensure!(kind == "Config", "{} is not a kubeconfig: its kind is {kind}", path.display());
            Ok(config)
        }
        _ => bail!("{} is not a kubeconfig", path.display()),
    }
}

/// The lock file with which kubectl, too, keeps others from writing a kubeconfig.
struct Lock(PathBuf);

impl Lock {
    fn take(file: &Path) -> Result<Self> {
        let mut name: OsString = file.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => Ok(Self(path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
                "{} is locked by another program; if none is writing it, remove {}",
                file.display(),
                path.display()
            ),
            Err(error) => Err(error).with_context(|| format!("cannot create {}", path.display())),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If the file cannot be removed, the next program that takes the lock names it.
        drop(std::fs::remove_file(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    const OURS: &str = "current-context: firstlight\nclusters: [{name: firstlight, cluster: {server: new}}]\n\
        users: [{name: admin, user: {client-key-data: a2V5}}]\ncontexts: [{name: firstlight, context: {cluster: firstlight}}]\n";

    #[test]
    fn only_entries_of_the_same_names_change() {
        let folder = tempfile::tempdir().unwrap();
        let (from, into) = (folder.path().join("ours"), folder.path().join("deep/config"));
        std::fs::write(&from, OURS).unwrap();
        assert_eq!(merge(&from, &into, true).unwrap(), "firstlight", "a file that does not exist is created");
        assert_eq!(std::fs::metadata(&into).unwrap().permissions().mode() & 0o777, 0o600);
        let theirs = "kind: Config\ncurrent-context: work\nextensions: [{name: kept}]\nclusters:\n- {name: work, cluster: {server: work}}\n\
            - {name: firstlight, cluster: {server: old}}\nusers:\n- {name: work, user: {exec: {command: login}}}\ncontexts: null\n";
        let linked = folder.path().join("linked");
        std::fs::write(&linked, theirs).unwrap();
        std::fs::remove_file(&into).unwrap();
        std::os::unix::fs::symlink(&linked, &into).unwrap();
        merge(&from, &into, true).unwrap();
        assert!(into.is_symlink());
        let merged = Value::Object(read(&into).unwrap());
        let expected = json!({
            "kind": "Config",
            "current-context": "firstlight",
            "extensions": [{"name": "kept"}],
            "clusters": [{"name": "work", "cluster": {"server": "work"}}, {"name": "firstlight", "cluster": {"server": "new"}}],
            "users": [{"name": "work", "user": {"exec": {"command": "login"}}}, {"name": "admin", "user": {"client-key-data": "a2V5"}}],
            "contexts": [{"name": "firstlight", "context": {"cluster": "firstlight"}}],
        });
        assert_eq!(merged, expected);
        std::fs::write(&from, OURS.replace("current-context: firstlight", "current-context: other")).unwrap();
        merge(&from, &into, false).unwrap();
        assert_eq!(read(&into).unwrap()["current-context"], "firstlight");
        let names: Vec<_> = std::fs::read_dir(into.parent().unwrap()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "the lock is gone: {names:?}");
    }

    #[test]
    fn what_is_not_a_kubeconfig_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (from, into) = (folder.path().join("ours"), folder.path().join("config"));
        std::fs::write(&from, OURS).unwrap();
        for (text, expected) in [
            ("kind: Pod", "its kind is Pod"),
            ("secret: [", "is not a kubeconfig"),
            ("users: {secret: 1}", "users is not a list"),
        ] {
            std::fs::write(&into, text).unwrap();
            let error = format!("{:#}", merge(&from, &into, true).unwrap_err());
            assert!(error.contains(expected) && !error.contains("secret"), "{error}");
            assert_eq!(std::fs::read_to_string(&into).unwrap(), text);
        }
        std::fs::write(&into, "").unwrap();
        std::fs::write(folder.path().join("config.lock"), "").unwrap();
        let error = merge(&from, &into, true).unwrap_err().to_string();
        assert!(error.contains("is locked by another program"), "{error}");
        assert!(folder.path().join("config.lock").exists(), "the lock of the other program stays");
    }
}
