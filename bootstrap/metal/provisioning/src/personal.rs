//! What one machine boots: an image as all others have it, with the one-time token of this start among its arguments.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use metal_boot::boot_files::BootFiles;
use metal_boot::client::Processor;
use metal_boot::machine::{Boot, Directory};
use metal_boot::offer::unified_name;
use metal_boot::personal::{PersonalFile, PersonalFiles};
use metal_boot::pieces::{Piece, Pieces};
use metal_images::uki;

use crate::agents::Agents;
use crate::fingerprint::fingerprint;

/// The kernel takes no longer line of arguments.
const ARGUMENTS: usize = 2047;
/// What a Raspberry Pi's boot loader reads its kernel's arguments from.
const RASPBERRY_PI: &str = "cmdline.txt";
/// The headers of an image, which say whether it is signed.
const HEAD: u64 = 4096;

/// Makes the files of single machines.
#[derive(Clone)]
pub struct Personal {
    /// What all machines boot.
    pub boot: BootFiles,
    /// The names of [`BootFiles::tftp_names`].
    pub tftp: BTreeSet<String>,
    /// Who knows the machines.
    pub directory: Arc<dyn Directory>,
    /// Who tells tokens.
    pub agents: Arc<Agents>,
}

impl Personal {
    /// The file with that name for the machine at `client`; `None` when it has none of its own, so that the one of all machines is meant.
    pub async fn find(&self, name: &str, client: IpAddr) -> Option<PersonalFile> {
        let processor = [Processor::X86_64, Processor::Aarch64];
        let processor = processor.into_iter().find(|processor| unified_name(*processor) == name);
        let file = name.rsplit('/').next().unwrap_or(name);
        if processor.is_none() && file != RASPBERRY_PI {
            return None;
        }
        let mac = self.agents.machine_at(client)?;
        if self.directory.machine(mac).boot != Boot::Agent {
            return None;
        }
        let token = self.agents.token(mac, client).await?;
        let (boot, tftp) = (self.boot.clone(), self.tftp.clone());
        let make = move || match processor {
            Some(processor) => {
                let arguments = format!("{} firstlight.token={token}", boot.arguments);
                unified(&boot, processor, arguments.trim_start())
            }
            None => boot.path(RASPBERRY_PI, &tftp).map(|path| with_token(&path, &token)).transpose(),
        };
        let made = tokio::task::spawn_blocking(make).await.map_err(anyhow::Error::from).flatten();
        let made = made.unwrap_or_else(|error| {
            tracing::warn!(machine = %mac, error = format!("{error:#}"), "the machine's own boot file cannot be made");
            None
        });
        if made.is_none() {
            // It gets the file of all machines, which carries no token: nobody may expect one from it.
            self.agents.withdraw_token(mac).await;
        }
        made
    }
}

impl PersonalFiles for Personal {
    fn find<'a>(&'a self, name: &'a str, client: IpAddr) -> BoxFuture<'a, Option<PersonalFile>> {
        self.find(name, client).boxed()
    }

    fn is_known(&self, client: IpAddr) -> bool {
        self.agents.is_known(client)
    }
}

/// The unified image with these arguments; `None` where the site has signed it, so that nothing can be added.
///
/// # Errors
/// A file cannot be read, the arguments are too long.
pub fn unified(boot: &BootFiles, processor: Processor, arguments: &str) -> Result<Option<PersonalFile>> {
    let (Some(stub), Some(whole)) = (boot.stubs.get(&processor), boot.unified.get(&processor)) else {
        return Ok(None);
    };
    let (Some(kernel), Some(initial)) = (boot.kernels.get(&processor), boot.initial.get(&processor)) else {
        return Ok(None);
    };
    let mut head = Vec::new();
    let read = File::open(whole).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.with_context(|| format!("cannot read {}", whole.display()))?;
    if uki::is_signed(&head) {
        return Ok(None);
    }
    let length = arguments.len();
    ensure!(length <= ARGUMENTS, "the kernel's arguments have {length} bytes, of which it takes {ARGUMENTS}");
    let parts = uki::Parts {
        stub: std::fs::read(stub).with_context(|| format!("cannot read {}", stub.display()))?,
        release: uki::RELEASE.to_owned(),
        arguments: arguments.to_owned(),
        kernel: Piece::file(kernel)?,
        initramfs: Piece::file(initial)?,
    };
    Ok(Some(made(uki::assemble(parts)?, arguments)))
}

/// The arguments in the file at `path`, one line, and the token.
fn with_token(path: &Path, token: &str) -> Result<PersonalFile> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = format!("{} firstlight.token={token}\n", text.trim_end());
    let mut content = Pieces::default();
    content.push(text.clone().into_bytes());
    Ok(made(content, &text))
}

fn made(content: Pieces, arguments: &str) -> PersonalFile {
    // What all machines boot changes with a start of the server only, and then its length nearly always does.
    let tag = format!("{:x}-{}", content.len(), &fingerprint(arguments.as_bytes())[..32]);
    PersonalFile { content, tag }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raspberry_pi_is_told_its_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(RASPBERRY_PI);
        std::fs::write(&path, "console=ttyS0\n").unwrap();
        let made = with_token(&path, "0123").unwrap();
        let mut text = String::new();
        made.content.range(0, u64::MAX).read_to_string(&mut text).unwrap();
        assert_eq!(text, "console=ttyS0 firstlight.token=0123\n");
    }
}
