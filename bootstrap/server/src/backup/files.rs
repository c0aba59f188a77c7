//! The files of a data directory that a backup contains in addition to the objects.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::data_directory::DataDirectory;

/// The name of the pivot's journal.
pub const JOURNAL: &str = "pivot.journal";
const PKI: &str = "pki/";
/// Certificates that are not in backups: the authority issues them again at the next start, for the address of that start.
const ISSUED: [&str; 4] = ["server.crt", "server.key", "admin.crt", "admin.key"];
/// The number of attempts to read files that change meanwhile.
const ATTEMPTS_MAX: usize = 5;

/// Returns whether a path below the data directory belongs to a backup.
pub fn belongs(path: &str) -> bool {
    if path == JOURNAL {
        return true;
    }
    path.strip_prefix(PKI).is_some_and(|name| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let key = [".crt", ".key", ".pub"].iter().any(|end| name.len() > end.len() && name.ends_with(end));
        key && name.chars().all(plain) && !ISSUED.contains(&name)
    })
}

/// Returns the result of `moment` together with the files at that moment: they are read before and after it, until both reads agree.
pub(super) async fn at_moment<T, F>(
    directory: &DataDirectory,
    mut moment: impl FnMut() -> F,
) -> Result<(T, Vec<(String, Vec<u8>)>)>
where
    F: Future<Output = Result<T>>,
{
    for _ in 0..ATTEMPTS_MAX {
        let before = read(directory)?;
        let taken = moment().await?;
        if before == read(directory)? {
            return Ok((taken, before));
        }
    }
    anyhow::bail!(
        "{} or its keys change while they are read; wait until the pivot has ended, then back up again",
        directory.path().join(JOURNAL).display()
    )
}

/// Returns the files with their paths below the directory.
pub(super) fn read(directory: &DataDirectory) -> Result<Vec<(String, Vec<u8>)>> {
    let mut names = vec![JOURNAL.to_owned()];
    let pki = directory.pki();
    let failed = || format!("cannot read {}", pki.display());
    match std::fs::read_dir(&pki) {
        Ok(listed) => {
            for entry in listed {
                names.push(format!("{PKI}{}", entry.with_context(failed)?.file_name().to_string_lossy()));
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(failed),
    }
    names.retain(|name| belongs(name));
    names.sort();
    let mut files = Vec::new();
    for name in names {
        let path = directory.path().join(&name);
        match std::fs::read(&path) {
            Ok(content) => files.push((name, content)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }
    Ok(files)
}

/// Checks that the keys and certificates of a data directory can be parsed.
///
/// # Errors
/// The first damaged file.
pub(super) fn check(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<()> {
    for (name, content) in files {
        let damaged = || format!("{} is damaged; restore it from a backup", folder.join(name).display());
        let text = std::str::from_utf8(content);
        match name.rsplit('.').next() {
            Some("crt") => drop(pki::inspect(text.with_context(damaged)?).with_context(damaged)?),
            Some("key") => {
                drop(pki::PrivateKey::from_pem(text.with_context(damaged)?).with_context(damaged)?)
            }
            Some("pub") => {
                drop(pki::VerifyingKey::from_pem(text.with_context(damaged)?).with_context(damaged)?)
            }
            _ => {}
        }
    }
    let text = |name: &str| {
        let found = files.iter().find(|(file, _)| file == name)?;
        std::str::from_utf8(&found.1).ok()
    };
    if let (Some(certificate), Some(key)) = (text("pki/ca.crt"), text("pki/ca.key")) {
        let authority = pki::CertificateAuthority::from_pem(certificate, key);
        ensure!(
            authority.is_ok(),
            "{} does not belong to its certificate; restore it from a backup",
            folder.join("pki/ca.key").display()
        );
    }
    Ok(())
}
