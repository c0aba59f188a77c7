//! Fetches blobs to files. What an interrupted attempt has received is kept, and the next one goes on from there.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use bundle::{Descriptor, Digest, Hashing};
use http::{HeaderMap, HeaderValue, StatusCode, header};

use crate::client::{Purpose, Session};
use crate::limits;
use crate::transport::next;

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
        let mut pause = limits::PAUSE;
        let mut attempt = 1;
        loop {
            let received = match self.receive(blob, &part).await {
                Ok(()) => verified(&part, blob).await,
                Err(error) => Err(error),
            };
            match received {
                Ok(()) => return std::fs::rename(&part, path).with_context(|| path.display().to_string()),
                Err(error) if attempt >= limits::TRIES || error.is::<io::Error>() => {
                    return Err(error).with_context(|| format!("{} cannot be fetched", blob.digest));
                }
                Err(error) => tracing::debug!("{} is fetched again: {error:#}", blob.digest),
            }
            self.client.clock.sleep(pause).await;
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }

    /// Receives what is missing of a blob.
    async fn receive(&self, blob: &Descriptor, part: &Path) -> Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(part)?;
        let mut length = file.seek(SeekFrom::End(0))?;
        if length > blob.size {
            file.set_len(0)?;
            length = 0;
        }
        if length == blob.size {
            return Ok(());
        }
        let mut headers = HeaderMap::new();
        if length > 0 {
            // With its end, because some registries do not understand a range without one.
            let range = format!("bytes={length}-{}", blob.size - 1);
            headers.insert(header::RANGE, HeaderValue::from_str(&range)?);
        }
        let answer = self.get(Purpose::Pull, &format!("blobs/{}", blob.digest), &headers).await?;
        match answer.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::RANGE_NOT_SATISFIABLE => return Ok(()),
            _ => {
                file.set_len(0)?;
                length = 0;
            }
        }
        let mut body = answer.into_body();
        while let Some(bytes) = next(&mut body).await? {
            length += bytes.len() as u64;
            ensure!(length <= blob.size, "{}: more comes than {} bytes", blob.digest, blob.size);
            file.write_all(&bytes)?;
        }
        ensure!(length == blob.size, "{}: it ends after {length} of {} bytes", blob.digest, blob.size);
        Ok(())
    }
}

/// Checks the digest of a file; a damaged one is removed, so that the next attempt begins anew.
async fn verified(part: &Path, blob: &Descriptor) -> Result<()> {
    let path = part.to_owned();
    let digest = tokio::task::spawn_blocking(move || -> io::Result<Digest> {
        let mut hashing = Hashing::new(File::open(path)?);
        io::copy(&mut hashing, &mut io::sink())?;
        Ok(hashing.end().0)
    });
    let digest = digest.await.context("the digest was not computed")??;
    if digest != blob.digest {
        std::fs::remove_file(part)?;
    }
    ensure!(digest == blob.digest, "it has the digest {digest}: it is damaged");
    Ok(())
}
