//! Fetches manifests from web servers, as `kubectl apply -f https://…` does.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use clusterctl::network::{Https, Network, Request};
use net::Proxies;

use super::read::{Elsewhere, is_address};

/// The option `-k`, which needs another program.
#[derive(Debug, Clone, Default, Args)]
pub struct Kustomize {
    /// Folder for kustomize; prints the command that applies it
    #[arg(short = 'k', long = "kustomize", value_name = "DIR", hide = true)]
    pub kustomize: Option<PathBuf>,
}

impl Kustomize {
    /// Fails if the option is given: kustomize is part of kubectl, not of this program.
    ///
    /// # Errors
    /// The message has the command that does it.
    pub fn check(&self, command: &str) -> Result<()> {
        let Some(folder) = self.kustomize.as_deref().map(Path::display) else { return Ok(()) };
        Err(anyhow::anyhow!(
            "-k needs kustomize, which is part of kubectl: kubectl kustomize {folder} | firstlight {command} -f -"
        ))
    }
}

/// Fetches the sources that are addresses.
///
/// # Errors
/// A server does not answer with a text.
pub async fn fetch(sources: &[PathBuf]) -> Result<Elsewhere> {
    let mut elsewhere = Elsewhere::default();
    let addresses: Vec<&PathBuf> = sources.iter().filter(|source| is_address(source)).collect();
    if addresses.is_empty() {
        return Ok(elsewhere);
    }
    let network = Https::new(Proxies::of_process())?;
    for address in addresses {
        let address = address.display().to_string();
        let answer = network.get(Request::new(address.as_str())).await?;
        ensure!(answer.status == 200, "cannot read {address}: the server answered {}", answer.status);
        let text =
            String::from_utf8(answer.body.to_vec()).with_context(|| format!("{address} is no text"))?;
        elsewhere.fetched.push((address, text));
    }
    Ok(elsewhere)
}
