//! A local folder: `BASE/LABEL/VERSION/FILE`.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::published::Published;
use crate::configuration::Provider;
use crate::{Context, Error, Result, version};

/// The folder of one provider, with a folder for each version.
pub(super) struct Folder(PathBuf);

/// The folder that a path names, the version in the path, and the name of the components file.
pub(super) fn parse(url: &str, path: &str, provider: &Provider) -> Result<Published<Folder>> {
    let failed = || "error creating the local filesystem repository client".to_owned();
    parts(url, path, provider).map_err(Error::Invalid).context(failed)
}

fn parts(url: &str, path: &str, provider: &Provider) -> Result<Published<Folder>, String> {
    let quoted = format!("{url:?}");
    if !Path::new(path).is_absolute() {
        return Err(format!("invalid path: path {quoted} must be an absolute path"));
    }
    let mut names = path.rsplitn(4, '/');
    let (Some(file), Some(release), Some(label)) = (names.next(), names.next(), names.next()) else {
        return Err(
            "invalid path: path should be in the form {basepath}/{provider-name}/{version}/{components.yaml}"
                .to_owned(),
        );
    };
    let base = names.next().unwrap_or_default();
    if release != "latest" && version::parse(release).is_none() {
        return Err(format!(
            "invalid version: {release:?}. Version must obey the syntax and semantics of the \"Semantic Versioning\" specification (http://semver.org/) and path format {{basepath}}/{{provider-name}}/{{version}}/{{components.yaml}}"
        ));
    }
    if label != provider.label() {
        return Err(format!(
            "invalid path: path {quoted} must contain provider {:?} in the format {{basepath}}/{{provider-label}}/{{version}}/{{components.yaml}}",
            provider.label()
        ));
    }
    let folder = Folder(Path::new(if base.is_empty() { "/" } else { base }).join(label));
    Ok(Published { source: folder, version: release.to_owned(), components_file: file.to_owned() })
}

impl Folder {
    pub fn file(&self, version: &str, name: &str) -> Result<Bytes> {
        let path = self.0.join(version).join(name);
        if path.is_dir() {
            return Err(Error::invalid(format!(
                "invalid path: file {name:?} is actually a directory {:?}",
                path.display().to_string()
            )));
        }
        let shown = path.display().to_string();
        let failed = || format!("failed to read file {shown:?} from local release {version}");
        match std::fs::read(&path) {
            Ok(text) => Ok(text.into()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Error::invalid(format!("stat {shown}: no such file or directory"))).context(failed)
            }
            Err(error) => Err(error).context(failed),
        }
    }

    pub fn versions(&self) -> Result<Vec<String>> {
        let entries =
            std::fs::read_dir(&self.0).context(|| "failed to list release directories".to_owned())?;
        let folders = entries.flatten().filter(|entry| entry.path().is_dir());
        let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
        Ok(names.filter(|name| version::parse(name).is_some()).collect())
    }
}
