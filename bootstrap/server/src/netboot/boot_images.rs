//! Builds the boot files of machines from this program and the site's own files in `<data-dir>/netboot`.

use std::collections::BTreeMap;
use std::io::BufWriter;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};

use agent_protocol::Configuration;
use anyhow::{Context, Result, bail, ensure};
use metal::preprovisioning::{BootImages, InitialImage, MediaImage};
use metal_boot::boot_files::BootFiles;
use metal_boot::client::Processor;
use metal_boot::images::assets::{Assets, Kernel};
use metal_boot::images::cache::{Inputs, MODE, make_once};
use metal_boot::images::program::Entry;
use metal_boot::images::{KernelModules, initramfs, program, uki};
use metal_boot::pieces::Piece;
use metal_provisioning::media;

/// The kernel's arguments before those of the site. People see the first console; the agent writes to the last one.
const ARGUMENTS: &str = "console=tty0 console=ttyS0 panic=30 quiet";
/// The compressed agent as a separate program (docs/decisions/agent-program.md) for machines of this architecture; empty in a build
/// without it.
const AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/firstlight-agent"));
/// The names of the files that are made for each architecture.
const AGENT_FILE: &str = "firstlight-agent";
const INITRAMFS: &str = "initramfs";
const UNIFIED: &str = "firstlight.efi";

/// Builds the boot files for each architecture that has a kernel and an agent: an initramfs with the agent as its first process, and a
/// unified kernel image. Files with unchanged inputs are reused. `more` are additional kernel arguments.
///
/// # Errors
/// The assets contain no kernel, or a file is damaged, or cannot be read or written.
pub(super) fn make(folder: &Path, agent: &Configuration, more: &[String]) -> Result<BootFiles> {
    let assets = Assets::new(&folder.join("assets"));
    let damaged = assets.verify()?;
    ensure!(damaged.is_empty(), "machines cannot be booted from damaged files: {}", damaged.join("; "));
    let arguments = std::iter::once(ARGUMENTS).chain(more.iter().map(String::as_str));
    let arguments = arguments.collect::<Vec<_>>().join(" ");
    let mut boot = BootFiles { arguments, ..BootFiles::default() };
    for processor in [Processor::X86_64, Processor::Aarch64] {
        let Some(kernel) = assets.kernel(processor.name()) else { continue };
        let making =
            Making { assets: &assets, folder: folder.join("made").join(processor.name()), processor };
        let Some(program) = making.program()? else {
            tracing::warn!(
                "machines with {0} cannot be booted, for whose kernel there is no agent: build it (cargo build --profile agent -p firstlight-agent \
                 --target {0}-unknown-linux-musl), and add it with firstlight metal assets add firstlight-agent",
                processor.name()
            );
            continue;
        };
        making.files(kernel, &program, agent, &mut boot)?;
    }
    if boot.kernels.is_empty() {
        bail!(
            "there is no kernel to boot machines with: unpack a linux-image package (dpkg-deb -x linux-image-….deb kernel) and run: \
             firstlight metal assets add kernel, or name a bundle with boot files (--bundle)"
        );
    }
    boot.tftp = assets.loaded();
    if boot.kernels.contains_key(&Processor::Aarch64) {
        boot.tftp.push(for_raspberry_pi(&folder.join("made"), &boot.arguments)?);
    }
    Ok(boot)
}

/// Writes the configuration for a Raspberry Pi's boot loader: the kernel, the initramfs and the arguments. The file names in it are
/// those of [`BootFiles::path`].
fn for_raspberry_pi(made: &Path, arguments: &str) -> Result<PathBuf> {
    let (folder, name) = (made.join("raspberry-pi"), Processor::Aarch64.name());
    let files = [
        (
            "config.txt",
            format!(
                "arm_64bit=1\nenable_uart=1\nkernel=kernel/{name}\ninitramfs initrd/{name} followkernel\n"
            ),
        ),
        ("cmdline.txt", format!("{arguments}\n")),
    ];
    for (name, text) in files {
        files::write(&folder.join(name), MODE, text.as_bytes())?;
    }
    Ok(folder)
}

/// Returns the URLs of the images for hosts, at the first address of the given interfaces.
pub(super) fn served(boot: &BootFiles, addresses: &[Ipv4Addr], port: u16) -> BootImages {
    let Some(address) = addresses.first() else { return BootImages::default() };
    let address = SocketAddrV4::new(*address, port);
    let image = |processor: &Processor| {
        let name = processor.name();
        let image = InitialImage {
            image: format!("http://{address}/boot/initrd/{name}"),
            kernel: format!("http://{address}/boot/kernel/{name}"),
            arguments: boot.arguments.clone(),
        };
        (name.to_owned(), image)
    };
    let both = boot.initial.keys().filter(|processor| boot.kernels.contains_key(processor));
    let initial: BTreeMap<String, InitialImage> = both.map(image).collect();
    let media = |processor: &Processor| {
        // The arguments of a signed image cannot be changed.
        let arguments = boot.stubs.contains_key(processor).then(|| boot.arguments.clone());
        let image = MediaImage { base: format!("http://{address}{}", media::FOLDER), arguments };
        (processor.name().to_owned(), image)
    };
    let media = boot.unified.keys().map(media).filter(|(name, _)| initial.contains_key(name)).collect();
    BootImages { initial, media }
}

/// The construction of the files for one architecture.
struct Making<'a> {
    assets: &'a Assets,
    folder: PathBuf,
    processor: Processor,
}

impl Making<'_> {
    /// Returns the files of the agent's program: the embedded one, one of the assets, or this program; `None` if there is none for the
    /// architecture.
    fn program(&self) -> Result<Option<Vec<Entry>>> {
        let is_own = self.processor.name() == std::env::consts::ARCH;
        let alone = |source| vec![Entry::File { path: initramfs::PROGRAM.into(), source }];
        if is_own && !AGENT.is_empty() {
            let path = self.folder.join(AGENT_FILE);
            let agent = program::decompressed(AGENT)?;
            if std::fs::read(&path).ok().as_deref() != Some(&agent) {
                files::write(&path, MODE, &agent)?;
            }
            return Ok(Some(alone(path)));
        }
        match self.assets.agent(self.processor.name()) {
            Some(path) => Ok(Some(alone(path))),
            None if is_own => program::of_this_process(initramfs::PROGRAM).map(Some),
            None => Ok(None),
        }
    }

    fn files(
        &self,
        kernel: Kernel,
        program: &[Entry],
        agent: &Configuration,
        boot: &mut BootFiles,
    ) -> Result<()> {
        let name = self.processor.name();
        let stub = self.assets.stub(name);
        let (initial, unified) = (self.folder.join(INITRAMFS), self.folder.join(UNIFIED));
        let files: &[&str] = if stub.is_some() { &[INITRAMFS, UNIFIED] } else { &[INITRAMFS] };
        let made = make_once(&self.folder, self.inputs(program, agent, &boot.arguments)?, files, || {
            pack(&initial, &kernel, program, agent)?;
            stub.as_ref().map_or(Ok(()), |stub| unify(&unified, stub, &kernel, (&initial, &boot.arguments)))
        })?;
        tracing::info!(machines = name, kernel = kernel.version, made, "boot images");
        if let Some(signed) = self.assets.signed(name) {
            if !uki::holds(&signed, &initial)? {
                tracing::warn!(
                    "the signed image for {name} holds another initramfs than this server has made (another version, kernel, certificate \
                     or address): sign {} and add it again",
                    unified.display()
                );
            }
            boot.unified.insert(self.processor, signed);
        } else if let Some(stub) = stub {
            boot.unified.insert(self.processor, unified);
            boot.stubs.insert(self.processor, stub);
        }
        boot.kernels.insert(self.processor, kernel.image);
        boot.initial.insert(self.processor, initial);
        Ok(())
    }

    /// Returns all inputs of the files, including this program, because it builds them.
    fn inputs(&self, program: &[Entry], agent: &Configuration, arguments: &str) -> Result<Inputs> {
        let mut inputs = Inputs::default();
        inputs.file(&std::env::current_exe().context("cannot find this program")?)?;
        inputs.bytes(arguments.as_bytes());
        inputs.bytes(&serde_json::to_vec(agent)?);
        inputs.bytes(self.assets.state(self.processor.name())?.as_bytes());
        for entry in program {
            inputs.bytes(format!("{entry:?}").as_bytes());
            if let Entry::File { source, .. } = entry {
                inputs.file(source)?;
            }
        }
        Ok(inputs)
    }
}

fn pack(out: &Path, kernel: &Kernel, program: &[Entry], agent: &Configuration) -> Result<()> {
    let modules = KernelModules::read(&kernel.modules)?;
    files::replace(out, MODE, |file| {
        initramfs::write(BufWriter::new(file), program, &modules, agent, initramfs::Compression::Zstd)
    })
}

fn unify(out: &Path, stub: &Path, kernel: &Kernel, (initial, arguments): (&Path, &str)) -> Result<()> {
    let parts = uki::Parts {
        stub: std::fs::read(stub).with_context(|| format!("cannot read {}", stub.display()))?,
        release: uki::RELEASE.to_owned(),
        arguments: arguments.to_owned(),
        kernel: Piece::file(&kernel.image)?,
        initramfs: Piece::file(initial)?,
    };
    let image = uki::assemble(parts)?;
    files::replace(out, MODE, |file| image.write(file))
}
