//! A unified kernel image: systemd's stub for UEFI with the kernel, its initramfs and its arguments as further sections.
//!
//! systemd-stub(7) describes the sections and how the stub uses them; Microsoft's "PE Format" describes the layout of the file.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::pieces::{Piece, Pieces};
use anyhow::{Context, Result, ensure};

/// The alignment of the sections in memory, whatever the stub declares: all firmware can map pages of this size.
const PAGE: u64 = 4096;
/// The size of the header of a section.
pub const SECTION_HEADER: usize = 40;
/// The offset in the optional header of position and length of the signature.
pub const SIGNATURE: usize = 112 + 4 * 8;
/// The flags of a section: initialised data, readable.
const READ_ONLY_DATA: u32 = 0x4000_0040;
/// The limit of the headers: the stub's first section begins at this address in memory.
const HEADERS_MAX: usize = 0x1000;

/// The section `.osrel` of images, in the format of `/etc/os-release`.
pub const RELEASE: &str = "ID=firstlight\nPRETTY_NAME=firstlight\n";

/// The parts of an image.
pub struct Parts {
    /// systemd's `linuxx64.efi.stub` or `linuxaa64.efi.stub`.
    pub stub: Vec<u8>,
    /// Text in the format of `/etc/os-release`, which some boot menus show.
    pub release: String,
    /// The kernel's arguments.
    pub arguments: String,
    /// The kernel.
    pub kernel: Piece,
    /// The initramfs.
    pub initramfs: Piece,
}

/// Assembles an image from its parts.
///
/// # Errors
/// The stub is not a valid stub, or the image is too large.
pub fn assemble(parts: Parts) -> Result<Pieces> {
    let Parts { stub, release, arguments, kernel, initramfs } = parts;
    let sections = [
        (".osrel", Piece::from(release.into_bytes())),
        (".cmdline", arguments.into_bytes().into()),
        (".initrd", initramfs),
        (".linux", kernel),
    ];
    append(stub, &sections)
}

/// The positions of the fields of a PE file.
struct Layout {
    /// The offset of `PE\0\0`.
    signature: usize,
    optional: usize,
    table: usize,
    count: usize,
    file_alignment: u64,
}

fn layout(stub: &[u8]) -> Option<Layout> {
    if stub.get(..2)? != b"MZ" {
        return None;
    }
    let signature = usize::try_from(read(stub, 0x3c, 4)?).ok()?;
    let header = stub.get(signature..signature.checked_add(24)?)?;
    let optional = signature + 24;
    // 0x20b is PE32+, the format of all 64-bit UEFI programs.
    if &header[..4] != b"PE\0\0" || read(stub, optional, 2)? != 0x20b {
        return None;
    }
    let count = usize::try_from(read(stub, signature + 6, 2)?).ok()?;
    let table = optional + usize::try_from(read(stub, signature + 20, 2)?).ok()?;
    let file_alignment = read(stub, optional + 36, 4).filter(|alignment| alignment.is_power_of_two())?;
    stub.get(table..table.checked_add(count.checked_mul(SECTION_HEADER)?)?)?;
    Some(Layout { signature, optional, table, count, file_alignment })
}

/// Returns whether the head of a UEFI program has a section with a kernel.
pub fn is_unified(head: &[u8]) -> bool {
    let Some(Layout { table, count, .. }) = layout(head) else { return false };
    let names = (0..count).filter_map(|index| head.get(table + index * SECTION_HEADER..)?.get(..8));
    names.into_iter().any(|name| name == b".linux\0\0")
}

/// Returns whether the head of a UEFI program refers to a signature.
pub fn is_signed(head: &[u8]) -> bool {
    let size = layout(head).and_then(|layout| read(head, layout.optional + SIGNATURE + 4, 4));
    size.is_some_and(|size| size > 0)
}

/// Returns whether the unified kernel image at `image` contains the initramfs at `initramfs`.
///
/// # Errors
/// A file cannot be read.
pub fn holds(image: &Path, initramfs: &Path) -> Result<bool> {
    let open = |path: &Path| File::open(path).with_context(|| format!("cannot read {}", path.display()));
    let (mut image, initramfs) = (open(image)?, open(initramfs)?);
    let mut head = Vec::new();
    image.by_ref().take(HEADERS_MAX as u64).read_to_end(&mut head)?;
    let Some(Layout { table, count, .. }) = layout(&head) else { return Ok(false) };
    let mut headers = (0..count).map(|index| table + index * SECTION_HEADER);
    let found = headers.find(|at| head.get(*at..at + 8) == Some(b".initrd\0"));
    let Some((size, start)) = found.and_then(|at| Some((read(&head, at + 8, 4)?, read(&head, at + 20, 4)?)))
    else {
        return Ok(false);
    };
    if initramfs.metadata()?.len() != size {
        return Ok(false);
    }
    image.seek(SeekFrom::Start(start))?;
    let (mut held, mut wanted) = (BufReader::new(image.take(size)), BufReader::new(initramfs));
    loop {
        let (a, b) = (held.fill_buf()?, wanted.fill_buf()?);
        let count = a.len().min(b.len());
        if a[..count] != b[..count] {
            return Ok(false);
        }
        if count == 0 {
            return Ok(a.len() == b.len());
        }
        held.consume(count);
        wanted.consume(count);
    }
}

fn append(mut stub: Vec<u8>, sections: &[(&str, Piece)]) -> Result<Pieces> {
    let layout =
        layout(&stub).context("the stub is no UEFI program of 64 bits; give linuxx64.efi.stub of systemd")?;
    let Layout { signature, optional, table, count, file_alignment } = layout;
    let headers_end = table + (count + sections.len()) * SECTION_HEADER;
    let section =
        |index: usize, field: usize| read(&stub, table + index * SECTION_HEADER + field, 4).unwrap_or(0);
    let (mut memory, mut first_data) = (0, stub.len() as u64);
    for index in 0..count {
        memory = memory.max(section(index, 12) + section(index, 8).max(section(index, 16)));
        if section(index, 16) > 0 {
            first_data = first_data.min(section(index, 20));
        }
    }
    ensure!(
        headers_end as u64 <= first_data && headers_end <= HEADERS_MAX,
        "the stub has no room for {} more sections; take the one of another version of systemd",
        sections.len()
    );
    // Remove the reference to a signature of the stub, since it is not valid for the image.
    write(&mut stub, optional + SIGNATURE, 8, 0);
    stub.resize(stub.len().next_multiple_of(usize::try_from(file_alignment)?), 0);
    let mut file = stub.len() as u64;
    let mut tail = Pieces::default();
    for (index, (name, piece)) in sections.iter().enumerate() {
        memory = memory.next_multiple_of(PAGE);
        let (size, stored) = (piece.len(), piece.len().next_multiple_of(file_alignment));
        ensure!(
            file + stored < u64::from(u32::MAX) && memory + stored < u64::from(u32::MAX),
            "an image of more than 4 GiB"
        );
        let header = table + (count + index) * SECTION_HEADER;
        stub[header..header + SECTION_HEADER].fill(0);
        stub[header..header + name.len()].copy_from_slice(name.as_bytes());
        write(&mut stub, header + 8, 4, size);
        write(&mut stub, header + 12, 4, memory);
        write(&mut stub, header + 16, 4, stored);
        write(&mut stub, header + 20, 4, file);
        write(&mut stub, header + 36, 4, READ_ONLY_DATA.into());
        tail.push(piece.clone());
        tail.push(Piece::Zeros(stored - size));
        memory += size;
        file += stored;
    }
    write(&mut stub, signature + 6, 2, (count + sections.len()) as u64);
    write(&mut stub, optional + 56, 4, memory.next_multiple_of(PAGE));
    // Zero means that there is no checksum; UEFI does not check it.
    write(&mut stub, optional + 64, 4, 0);
    let mut image = Pieces::default();
    image.push(stub);
    image.extend(tail);
    Ok(image)
}

/// Returns the number at a position; `None` behind the end.
pub fn read(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Writes the low bytes of a number; does nothing if the position is behind the end.
pub fn write(bytes: &mut [u8], at: usize, length: usize, number: u64) {
    if let Some(place) = bytes.get_mut(at..at + length) {
        place.copy_from_slice(&number.to_le_bytes()[..length]);
    }
}
