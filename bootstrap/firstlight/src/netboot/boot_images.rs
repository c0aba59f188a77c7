//! What machines boot, made of this program and the site's own files in `<data-dir>/netboot`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;

use agent::protocol::Configuration;
use anyhow::{Context, Result, bail};
use metal::preprovisioning::{BootImages, InitialImage};
use netboot::boot_files::BootFiles;
use netboot::client::Processor;
use netboot::image::assets::{Assets, Kernel};
use netboot::image::{KernelModules, Piece, initramfs, program, uki};

/// Arguments of the kernel. The first console is the one that people see; the last is what the agent writes to.
const ARGUMENTS: &str = "console=tty0 console=ttyS0 panic=30 quiet";

/// What this program was built for: it can only be the agent of machines like its own.
const ARCHITECTURE: &str = std::env::consts::ARCH;

/// Makes the boot files: an initramfs with this program as its first process, and one unified kernel image of it all.
///
/// # Errors
/// Without a kernel among the assets, or when the disk refuses.
pub(super) fn make(folder: &Path, agent: &Configuration) -> Result<BootFiles> {
    let assets = Assets::new(&folder.join("assets"));
    let Some(kernel) = assets.kernel(ARCHITECTURE) else {
        bail!(
            "there is no kernel to boot machines with: unpack a linux-image package (dpkg-deb -x linux-image-….deb kernel) and run: \
             firstlight metal assets add kernel"
        );
    };
    let made = folder.join("made");
    std::fs::create_dir_all(&made).with_context(|| format!("cannot make {}", made.display()))?;
    let initial = made.join("initramfs");
    pack(&initial, &kernel, agent)?;
    let mut boot = BootFiles { arguments: ARGUMENTS.to_owned(), ..BootFiles::default() };
    if let Some(stub) = assets.stub(ARCHITECTURE) {
        let unified = made.join("firstlight.efi");
        unify(&unified, &stub, &kernel, &initial)?;
        boot.unified = BTreeMap::from([(Processor::X86_64, unified)]);
    }
    boot.kernels = BTreeMap::from([(Processor::X86_64, kernel.image)]);
    boot.initial = BTreeMap::from([(Processor::X86_64, initial)]);
    boot.tftp = assets.ipxe(ARCHITECTURE, "undionly.kpxe").and_then(|file| file.parent().map(Path::to_owned));
    Ok(boot)
}

/// Where hosts that are told of an image find it: at the first address of the interfaces that were named.
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
    BootImages { initial: both.map(image).collect() }
}

fn pack(out: &Path, kernel: &Kernel, agent: &Configuration) -> Result<()> {
    let modules = KernelModules::read(&kernel.modules)?;
    let program = program::of_this_process(initramfs::PROGRAM)?;
    let file = File::create(out).with_context(|| format!("cannot write {}", out.display()))?;
    initramfs::write(BufWriter::new(file), &program, &modules, agent, initramfs::Compression::Zstd)
}

fn unify(out: &Path, stub: &Path, kernel: &Kernel, initial: &Path) -> Result<()> {
    let parts = uki::Parts {
        stub: std::fs::read(stub).with_context(|| format!("cannot read {}", stub.display()))?,
        release: "ID=firstlight\nPRETTY_NAME=firstlight\n".to_owned(),
        arguments: ARGUMENTS.to_owned(),
        kernel: Piece::file(&kernel.image)?,
        initramfs: Piece::file(initial)?,
    };
    let mut file = File::create(out).with_context(|| format!("cannot write {}", out.display()))?;
    uki::assemble(parts)?.write(&mut file)
}
