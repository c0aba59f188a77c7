//! Where the paths of a container are that has no root folder of its own.

use std::path::{Path, PathBuf};

use pod_processes::Mount;

/// The paths of a container: those of its image and its volumes lie elsewhere.
#[derive(Clone, Debug)]
pub struct Paths {
    root: PathBuf,
    mounts: Vec<Mount>,
}

impl Paths {
    /// Returns the paths of a container with this root folder and these mounts.
    pub fn new(root: &Path, mounts: Vec<Mount>) -> Self {
        Self { root: root.to_owned(), mounts }
    }

    /// Returns where a path of the container is on this machine; a path of neither a volume nor the image stays as it is.
    pub fn on_this_machine(&self, path: &str) -> String {
        let below = |mount: &&Mount| {
            let target = mount.target.trim_end_matches('/');
            path == target || path.strip_prefix(target).is_some_and(|rest| rest.starts_with('/'))
        };
        if let Some(mount) = self.mounts.iter().filter(below).max_by_key(|mount| mount.target.len()) {
            let rest = &path[mount.target.trim_end_matches('/').len()..];
            return format!("{}{rest}", mount.path().display());
        }
        let in_image = self.root.join(path.trim_start_matches('/'));
        if path.starts_with('/') && in_image.exists() {
            in_image.display().to_string()
        } else {
            path.to_owned()
        }
    }

    /// The program, and the arguments that are paths or `--flag=path`.
    pub fn of_command(&self, command: Vec<String>) -> Vec<String> {
        let mut all = command.into_iter();
        let program = all.next().map(|program| self.on_this_machine(&program));
        program.into_iter().chain(all.map(|argument| self.of_value(&argument))).collect()
    }

    /// The variables whose values are paths.
    pub fn of_environment(&self, environment: Vec<(String, String)>) -> Vec<(String, String)> {
        let moved = |(name, value): (String, String)| {
            let value = if name == "PATH" { self.search_path(&value) } else { self.of_value(&value) };
            (name, value)
        };
        environment.into_iter().map(moved).collect()
    }

    /// Returns the links that a private folder for temporary files needs, so that volumes below `/tmp` are found in it: path and target.
    pub fn links(&self, temporary: &Path) -> Vec<(PathBuf, PathBuf)> {
        let below = |mount: &Mount| {
            let path = mount.target.strip_prefix("/tmp/")?;
            Some((temporary.join(path.trim_end_matches('/')), mount.path()))
        };
        self.mounts.iter().filter_map(below).collect()
    }

    fn search_path(&self, path: &str) -> String {
        path.split(':').map(|folder| self.on_this_machine(folder)).collect::<Vec<_>>().join(":")
    }

    /// Moves a value that begins with the path of a volume. Paths of the image are not moved, because a value may mean this machine's.
    fn of_value(&self, value: &str) -> String {
        let (flag, path) = match value.split_once('=') {
            Some((flag, path)) if value.starts_with('-') => (format!("{flag}="), path),
            _ => (String::new(), value),
        };
        let is_mounted = self.mounts.iter().any(|mount| path.starts_with(&mount.target));
        if is_mounted { format!("{flag}{}", self.on_this_machine(path)) } else { value.to_owned() }
    }
}
