//! The journal's door to the disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// Where a journal is kept.
pub trait Disk: Send + Sync {
    /// Its name, for a person.
    fn path(&self) -> String;

    /// All of it.
    ///
    /// # Errors
    /// As the disk.
    fn read(&mut self) -> io::Result<Vec<u8>>;

    /// Adds to its end; durable when this returns, and without any effect where it fails.
    ///
    /// # Errors
    /// As the disk.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts it off.
    ///
    /// # Errors
    /// As the disk.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Keeps what there is under another name and begins anew.
    ///
    /// # Errors
    /// As the disk.
    fn set_aside(&mut self) -> io::Result<()>;
}

/// A journal in a file, which one process at a time has open.
pub struct FileDisk {
    path: PathBuf,
    file: File,
    length: u64,
}

impl FileDisk {
    /// Opens the file, or makes it, readable by its owner only.
    ///
    /// # Errors
    /// Where the disk refuses, or another process works with it.
    pub fn open(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder)?;
        }
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        file.try_lock().map_err(|error| match error {
            std::fs::TryLockError::WouldBlock => {
                io::Error::new(io::ErrorKind::ResourceBusy, "another process works with it")
            }
            std::fs::TryLockError::Error(error) => error,
        })?;
        // The name must survive a crash as well as the content.
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        let length = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, length })
    }
}

impl Disk for FileDisk {
    fn path(&self) -> String {
        self.path.display().to_string()
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut content)?;
        self.length = content.len() as u64;
        Ok(content)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length))?;
        if let Err(error) = self.file.write_all(bytes).and_then(|()| self.file.sync_data()) {
            // Half a record must not stand before the next one.
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)?;
        self.file.sync_data()?;
        self.length = length;
        Ok(())
    }

    fn set_aside(&mut self) -> io::Result<()> {
        let free = |number: &u32| !self.path.with_extension(format!("{number}.journal")).exists();
        let number = (1..u32::MAX).find(free).unwrap_or(u32::MAX);
        std::fs::rename(&self.path, self.path.with_extension(format!("{number}.journal")))?;
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

/// A journal in memory, for tests.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<Vec<u8>>>);

impl MemoryDisk {
    /// With this content.
    pub fn holding(content: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(content)))
    }

    /// What it holds.
    pub fn content(&self) -> Vec<u8> {
        self.0.lock().clone()
    }
}

impl Disk for MemoryDisk {
    fn path(&self) -> String {
        "in memory".into()
    }

    fn read(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.content())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.lock().truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }

    fn set_aside(&mut self) -> io::Result<()> {
        self.0.lock().clear();
        Ok(())
    }
}
