//! Runs only the agent, and packs its boot images, to try it without the rest of firstlight.
//!
//! `agent initramfs MODULES OUT SERVER CA.pem` packs this program as `/init`; `agent uki STUB KERNEL INITRAMFS ARGUMENTS OUT` makes a
//! unified kernel image; `agent iso IMAGE OUT` makes an ISO image of a unified kernel image.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail};
use metal_boot::images::{KernelModules, initramfs, iso, program, uki};
use metal_boot::pieces::{Piece, Pieces};

fn main() -> Result<()> {
    if agent::is_init() {
        match agent::run()? {}
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["initramfs", modules, out, server, authority] => {
            let modules = KernelModules::read(Path::new(modules))?;
            let configuration = agent_protocol::Configuration {
                servers: vec![server.to_owned()],
                certificate_authority: std::fs::read_to_string(authority)
                    .context("cannot read the authority")?,
                ..Default::default()
            };
            let program = program::of_this_process(initramfs::PROGRAM)?;
            let out = std::io::BufWriter::new(File::create(out)?);
            initramfs::write(out, &program, &modules, &configuration, initramfs::Compression::Zstd)
        }
        ["uki", stub, kernel, initramfs, arguments, out] => {
            let parts = uki::Parts {
                stub: std::fs::read(stub)?,
                release: "ID=firstlight\n".to_owned(),
                arguments: arguments.to_owned(),
                kernel: Piece::file(Path::new(kernel))?,
                initramfs: Piece::file(Path::new(initramfs))?,
            };
            uki::assemble(parts)?.write(&mut File::create(out)?)
        }
        ["iso", image, out] => {
            let mut kernel_image = Pieces::default();
            kernel_image.push(Piece::file(Path::new(image))?);
            iso::assemble(kernel_image, std::env::consts::ARCH)?.write(&mut File::create(out)?)
        }
        _ => bail!(
            "initramfs MODULES OUT SERVER CA.pem | uki STUB KERNEL INITRAMFS ARGUMENTS OUT | iso IMAGE OUT"
        ),
    }
}
