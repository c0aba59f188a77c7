//! Boot files for a single machine: the common files, with the one-time token of this start in the kernel arguments.

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
use metal_boot::images::uki;
use metal_boot::machine::{Boot, Directory};
use metal_boot::offer::unified_name;
use metal_boot::personal::{PersonalFile, PersonalFiles};
use metal_boot::pieces::{Piece, Pieces};

use crate::agents::Agents;
use crate::fingerprint::fingerprint;

/// The longest kernel command line in bytes.
const ARGUMENTS: usize = 2047;
/// The file with the kernel arguments for a Raspberry Pi's boot loader.
pub const RASPBERRY_PI: &str = "cmdline.txt";
/// The bytes of the headers of an image, which show whether it is signed.
const HEAD: u64 = 4096;

/// Makes the boot files of single machines.
#[derive(Clone)]
pub struct Personal {
    /// The boot files of all machines.
    pub boot: BootFiles,
    /// The names of [`BootFiles::tftp_names`].
    pub tftp: BTreeSet<String>,
    /// The directory of machines.
    pub directory: Arc<dyn Directory>,
    /// The service that issues tokens.
    pub agents: Arc<Agents>,
}

impl Personal {
    /// Returns the file with that name for the machine at `client`; `None` if the machine gets the common file.
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
            // The machine gets the common file, which has no token, so its enrolment must not require one.
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

/// Returns the unified image with these arguments; `None` if the site has signed the image, since a signed image cannot be changed.
///
/// # Errors
/// A file cannot be read, or the arguments are too long.
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

/// Returns the kernel arguments of the file at `path`, with the token appended, on one line.
pub fn with_token(path: &Path, token: &str) -> Result<PersonalFile> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = format!("{} firstlight.token={token}\n", text.trim_end());
    let mut content = Pieces::default();
    content.push(text.clone().into_bytes());
    Ok(made(content, &text))
}

fn made(content: Pieces, arguments: &str) -> PersonalFile {
    // The common files change only when the server restarts, and then their length almost always changes.
    let tag = format!("{:x}-{}", content.len(), &fingerprint(arguments.as_bytes())[..32]);
    PersonalFile { content, tag }
}
