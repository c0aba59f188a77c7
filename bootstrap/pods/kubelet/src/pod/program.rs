//! The flags of a container's program, as far as its file shows them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use container_images::Config;
use k8s_openapi::api::core::v1::Container;

use crate::limits;

/// How much of the file is looked at in one go, in bytes.
const CHUNK: usize = 1 << 20;

/// The program of a container.
pub(super) struct Program<'a> {
    /// The root folder of the container.
    pub(super) root: &'a Path,
    /// The container, which may name the program.
    pub(super) container: &'a Container,
    /// The config of the image, which does otherwise.
    pub(super) image: &'a Config,
}

impl Program<'_> {
    /// Returns whether the program has a flag of this name: its file contains it.
    pub(super) fn contains(&self, flag: &str) -> bool {
        self.path().is_some_and(|path| contains(&path, flag.as_bytes()).unwrap_or_default())
    }

    fn path(&self) -> Option<PathBuf> {
        let own = self.container.command.as_ref().filter(|command| !command.is_empty());
        let name = own.unwrap_or(&self.image.entrypoint).first()?;
        if name.contains('/') {
            return Some(self.root.join(name.trim_start_matches('/')));
        }
        let path = self.image.environment.iter().find_map(|variable| variable.strip_prefix("PATH="));
        let folders = path.unwrap_or_default().split(':').map(|folder| folder.trim_start_matches('/'));
        folders.map(|folder| self.root.join(folder).join(name)).find(|path| path.is_file())
    }
}

fn contains(path: &Path, text: &[u8]) -> std::io::Result<bool> {
    let mut file = File::open(path)?.take(limits::PROGRAM);
    let mut window = Vec::with_capacity(CHUNK + text.len());
    loop {
        let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut window)?;
        if window.windows(text.len()).any(|part| part == text) {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        // The text may begin in one part and end in the next.
        window.drain(..window.len().saturating_sub(text.len() - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_found_wherever_it_is() {
        let folder = std::env::temp_dir().join(format!("firstlight-program-{}", std::process::id()));
        for (before, expected) in [(0, true), (CHUNK - 3, true), (CHUNK, true), (2 * CHUNK - 1, true)] {
            let content = [vec![b'-'; before], b"webhook-port".to_vec(), vec![0; 5]].concat();
            std::fs::write(&folder, content).unwrap();
            assert_eq!(contains(&folder, b"webhook-port").unwrap(), expected, "{before}");
            assert!(!contains(&folder, b"webhook-ports").unwrap());
        }
        std::fs::remove_file(&folder).unwrap();
    }
}
