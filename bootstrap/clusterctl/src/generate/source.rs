//! Reads templates from a file, standard input, GitHub or any `https://` address.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bytes::Bytes;

use crate::configuration::Configuration;
use crate::network::Request;
use crate::repository::{Fetcher, Project};
use crate::{Context, Error, Result};

/// The most bytes of a file, which may also be a pipe or a device.
const MOST_BYTES: u64 = 64 << 20;
const FAILED: &str = "invalid GetFromURL operation";

/// Reads the text at an address: `-`, a path, `file://` or `https://`.
///
/// # Errors
/// Nothing is there, or the address is invalid.
pub async fn fetch(address: &str, configuration: &Configuration, fetcher: &Fetcher) -> Result<Bytes> {
    let failed = || FAILED.to_owned();
    match address.split_once("://") {
        _ if address == "-" => {
            let mut text = Vec::new();
            let read = std::io::stdin().read_to_end(&mut text);
            read.context(|| format!("{FAILED}: failed to read stdin"))?;
            Ok(text.into())
        }
        None => file(address).context(failed),
        Some(("file", path)) => file(path).context(failed),
        Some(("https", rest)) => match rest.strip_prefix("github.com/") {
            Some(path) => github(address, path, configuration, fetcher).await.context(failed),
            None => raw(address, fetcher).await.context(failed),
        },
        Some(_) => Err(Error::invalid(format!(
            "{FAILED}: unable to read content from {address:?}. Only reading from GitHub and local file system is supported"
        ))),
    }
}

fn file(path: &str) -> Result<Bytes> {
    if Path::new(path).is_dir() {
        return Err(Error::invalid(format!("invalid path: file {path:?} is actually a directory")));
    }
    let read = || {
        let mut text = Vec::new();
        File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut text).map(|_| text)
    };
    match read() {
        Ok(text) if text.len() as u64 > MOST_BYTES => {
            Err(Error::invalid(format!("file {path:?} has more than {MOST_BYTES} bytes")))
        }
        Ok(text) => Ok(text.into()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Error::invalid(format!("failed to read file {path:?}")))
        }
        Err(error) => Err(error).context(|| format!("failed to read file {path:?}")),
    }
}

async fn github(
    address: &str,
    path: &str,
    configuration: &Configuration,
    fetcher: &Fetcher,
) -> Result<Bytes> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [owner, name, "blob", branch, file @ ..] if !file.is_empty() => {
            let project = Project::new(owner, name, configuration);
            let content = project.content(fetcher, branch, &file.join("/")).await;
            content.context(|| format!("failed to get \"/{path}\""))
        }
        [owner, name, "releases", "download", tag, asset, ..] => {
            let project = Project::new(owner, name, configuration);
            project.asset(fetcher, tag, asset).await
        }
        parts if parts.len() < 5 => Err(Error::invalid(format!(
            "invalid GitHub url {address:?}: a GitHub url should be in on of these the forms\n\
             - https://github.com/{{owner}}/{{repository}}/blob/{{branch}}/{{path-to-file}}\n\
             - https://github.com/{{owner}}/{{repository}}/releases/download/{{tag}}/{{asset-file-name}}"
        ))),
        _ => Err(Error::invalid(format!("unknown github URL: {address}"))),
    }
}

async fn raw(address: &str, fetcher: &Fetcher) -> Result<Bytes> {
    let answer = fetcher.network().get(Request::new(address)).await?;
    match answer.status {
        200 => Ok(answer.body),
        status => Err(Error::invalid(format!("failed to get file, got {status}"))),
    }
}
