//! Fetches blobs to files. What an interrupted attempt has received is kept, and the next one goes on from there.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use bundle::{Descriptor, Hashing};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::client::{Purpose, Session};
use crate::limits;
use crate::retry::Failure;

/// Is told how many bytes of a blob are there.
pub type Received<'a> = &'a (dyn Fn(u64) + Send + Sync);

impl Session<'_> {
    /// Fetches a blob to `path`, unless it is there undamaged. The file appears only when it is whole, verified, and on the disk.
    ///
    /// # Errors
    /// The registry does not have it, sends something else again and again, or the disk is full.
    pub async fn download(&self, blob: &Descriptor, path: &Path) -> Result<()> {
        self.download_with(blob, path, &|_| ()).await
    }

    /// The same, and tells `received` how many bytes of the blob are there whenever some have come.
    ///
    /// # Errors
    /// As [`Self::download`].
    pub async fn download_with(&self, blob: &Descriptor, path: &Path, received: Received<'_>) -> Result<()> {
        // Whatever an earlier process left: a disk that lost power may have a name without its content.
        if verified(path, blob).await? {
            return Ok(());
        }
        ensure!(blob.size <= limits::BLOB, "{}: it has more than {} bytes", blob.digest, limits::BLOB);
        let part = path.with_extension("part");
        let fetched = self.client.retried(async || {
            self.receive(blob, &part, received).await?;
            match verified(&part, blob).await.map_err(Failure::Lasting)? {
                true => Ok(()),
                false => {
                    Err(Failure::Passing(anyhow!("what was received has another digest: it is damaged")))
                }
            }
        });
        fetched.await.with_context(|| format!("{} cannot be fetched", blob.digest))?;
        let path = path.to_owned();
        tokio::task::spawn_blocking(move || files::publish(&part, &path)).await.context("the server ends")?
    }

    /// Receives what is missing of a blob.
    async fn receive(&self, blob: &Descriptor, part: &Path, received: Received<'_>) -> Result<(), Failure> {
        let mut file = files::append(part, 0o600).map_err(Failure::Lasting)?;
        let mut length = file.seek(SeekFrom::End(0)).map_err(full)?;
        if length > blob.size {
            file.set_len(0).map_err(full)?;
            length = 0;
        }
        if length == blob.size {
            return Ok(());
        }
        let mut headers = HeaderMap::new();
        if length > 0 {
            // With its end, because some registries do not understand a range without one.
            let range = format!("bytes={length}-{}", blob.size - 1);
            let range = HeaderValue::from_str(&range).map_err(|error| Failure::Lasting(error.into()))?;
            headers.insert(header::RANGE, range);
        }
        let answer = self.ask(Purpose::Pull, &format!("blobs/{}", blob.digest), &headers).await?;
        match answer.status {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::RANGE_NOT_SATISFIABLE => return Ok(()),
            _ => {
                file.set_len(0).map_err(full)?;
                length = 0;
            }
        }
        let mut body = answer.body;
        while let Some(bytes) = body.next().await.map_err(Failure::Passing)? {
            length += bytes.len() as u64;
            if length > blob.size {
                return Err(Failure::Passing(anyhow!("more comes than {} bytes", blob.size)));
            }
            file.write_all(&bytes).map_err(full)?;
            received(length);
        }
        if length < blob.size {
            return Err(Failure::Passing(anyhow!("it ends after {length} of {} bytes", blob.size)));
        }
        Ok(())
    }
}

/// A failure of the disk, which another attempt would meet, too.
fn full(error: io::Error) -> Failure {
    Failure::Lasting(error.into())
}

/// [`is_whole`] in a thread that may wait for the disk.
async fn verified(path: &Path, blob: &Descriptor) -> Result<bool> {
    let (file, blob) = (path.to_owned(), blob.clone());
    let found =
        tokio::task::spawn_blocking(move || is_whole(&file, &blob)).await.context("the server ends")?;
    found.with_context(|| format!("cannot use {}", path.display()))
}

/// Returns whether there is a file with the size and the digest of a blob. A damaged one is removed, so that the next attempt begins anew.
fn is_whole(path: &Path, blob: &Descriptor) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let is_whole = file.metadata()?.len() == blob.size && {
        let mut hashing = Hashing::new(file);
        io::copy(&mut hashing, &mut io::sink())?;
        hashing.end().0 == blob.digest
    };
    if !is_whole {
        std::fs::remove_file(path)?;
    }
    Ok(is_whole)
}
