//! Access to the disk for the journal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

/// Storage of a journal.
pub trait Disk: Send + Sync {
    /// Returns the path of the journal, for messages.
    fn path(&self) -> String;

    /// Reads the whole content.
    ///
    /// # Errors
    /// The disk fails.
    fn read(&mut self) -> io::Result<Vec<u8>>;

    /// Appends to the end. The bytes are durable when this returns; if it fails, nothing is written.
    ///
    /// # Errors
    /// The disk fails.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the content off at `length`.
    ///
    /// # Errors
    /// The disk fails.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Keeps the content under another name and begins an empty journal.
    ///
    /// # Errors
    /// The disk fails.
    fn set_aside(&mut self) -> io::Result<()>;
}

/// A journal in a file, which only one process can have open at a time.
pub struct FileDisk {
    path: PathBuf,
    file: File,
    length: u64,
}

impl FileDisk {
    /// Opens the file, or creates it so that only its owner can read it.
    ///
    /// # Errors
    /// The disk fails, or another process has it open.
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
        // The file's name must survive a crash as well as its content.
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
            // A partly written record must not remain before the next one.
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
        files::rename(&self.path, &self.path.with_extension(format!("{number}.journal")))?;
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

/// A journal in memory, for tests.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<Vec<u8>>>);

impl MemoryDisk {
    /// Makes a journal with this content.
    pub fn holding(content: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(content)))
    }

    /// Returns the content.
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
