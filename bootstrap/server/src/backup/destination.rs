//! The destination of a backup: standard output, or a file that appears complete or not at all.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// A backup that is being written. If it is dropped before [`Destination::finish`], it leaves no file behind.
pub(super) struct Destination {
    out: Box<dyn Write + Send>,
    file: Option<Unfinished>,
}

struct Unfinished {
    temporary: PathBuf,
    path: PathBuf,
}

impl Destination {
    /// Starts to write `path`; `-` is standard output.
    pub(super) fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            let out = std::io::stdout();
            ensure!(
                !out.is_terminal(),
                "a backup holds keys and Secrets and is no text; name a file, or redirect standard output"
            );
            return Ok(Self { out: Box::new(out), file: None });
        }
        let failed = || format!("cannot write {}", path.display());
        let path = files::behind_links(path).with_context(failed)?;
        files::is_replaceable(&path).with_context(failed)?;
        let mut name = path.file_name().with_context(failed)?.to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let temporary = path.with_file_name(name);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary);
        let file = file.with_context(failed)?;
        let out = Box::new(std::io::BufWriter::with_capacity(1 << 20, file));
        Ok(Self { out, file: Some(Unfinished { temporary, path }) })
    }

    /// Writes bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).with_context(|| self.failed())
    }

    /// Syncs the file and renames it to its final name.
    pub(super) fn finish(mut self) -> Result<()> {
        self.out.flush().with_context(|| self.failed())?;
        let Some(unfinished) = &self.file else { return Ok(()) };
        files::publish(&unfinished.temporary, &unfinished.path)
    }

    fn failed(&self) -> String {
        match &self.file {
            Some(unfinished) => format!("cannot write {}", unfinished.path.display()),
            None => "cannot write to standard output".to_owned(),
        }
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Some(unfinished) = &self.file {
            // After `finish` the file has its final name, so nothing is removed.
            drop(std::fs::remove_file(&unfinished.temporary));
        }
    }
}
