//! Fetches blobs to files. What an interrupted attempt has received is kept, and the next one goes on from there.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use bundle::{Descriptor, Digest, Hashing};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::client::{Purpose, Session};
use crate::limits;
use crate::retry::Failure;

impl Session<'_> {
    /// Fetches a blob to `path`, unless it is there. The file appears only when it is whole and verified.
    ///
    /// # Errors
    /// The registry does not have it, sends something else again and again, or the disk is full.
    pub async fn download(&self, blob: &Descriptor, path: &Path) -> Result<()> {
        if path.exists() {
            return Ok(());
        }
        ensure!(blob.size <= limits::BLOB, "{}: it has more than {} bytes", blob.digest, limits::BLOB);
        let part = path.with_extension("part");
        let fetched = self.client.retried(async || {
            self.receive(blob, &part).await?;
            verified(&part, blob).await
        });
        fetched.await.with_context(|| format!("{} cannot be fetched", blob.digest))?;
        std::fs::rename(&part, path).with_context(|| path.display().to_string())
    }

    /// Receives what is missing of a blob.
    async fn receive(&self, blob: &Descriptor, part: &Path) -> Result<(), Failure> {
        let mut file = OpenOptions::new().create(true).append(true).open(part).map_err(full)?;
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

/// Checks the digest of a file; a damaged one is removed, so that the next attempt begins anew.
async fn verified(part: &Path, blob: &Descriptor) -> Result<(), Failure> {
    let path = part.to_owned();
    let digest = tokio::task::spawn_blocking(move || -> io::Result<Digest> {
        let mut hashing = Hashing::new(File::open(path)?);
        io::copy(&mut hashing, &mut io::sink())?;
        Ok(hashing.end().0)
    });
    let digest = digest.await.map_err(|error| Failure::Passing(error.into()))?.map_err(full)?;
    if digest == blob.digest {
        return Ok(());
    }
    std::fs::remove_file(part).map_err(full)?;
    Err(Failure::Passing(anyhow!("it has the digest {digest}: it is damaged")))
}
