//! Writes QEMU's qcow2 images (docs/interop/qcow2.txt of QEMU), versions 2 and 3, while they are downloaded.
//!
//! The tables with the position of each part are fetched first, by ranges; then the file is read once from start to end, and each part
//! is written to its place. So the checksum covers all bytes that are used, and no copy of the image is stored.

use std::io::Read;

use anyhow::{Context, Result, bail, ensure};

use super::target::Target;

const HEADER: usize = 112;
const OFFSET_MASK: u64 = 0x00ff_ffff_ffff_fe00;
/// The flag of an entry of a table: the cluster is compressed.
pub const COMPRESSED: u64 = 1 << 62;
/// The flag of an entry of a table: the cluster reads as zeros.
pub const ALL_ZEROS: u64 = 1;
/// An incompatible feature that changes nothing here: the image was not closed properly (its reference counts are not used).
const FEATURE_DIRTY: u64 = 1;
/// An incompatible feature: the compression is not deflate.
pub const FEATURE_COMPRESSION: u64 = 1 << 3;
const ZSTD: u8 = 1;
/// The limit of the tables in memory, in bytes: enough for an image of 2 TiB with clusters of 64 KiB.
const TABLES_MAX: u64 = 256 << 20;

/// The use of a part of the file.
enum Kind {
    /// Content that is written to the disk unchanged.
    Plain { guest: u64 },
    /// Compressed content that is decompressed and written to the disk.
    Packed { guest: u64 },
    /// A table that was fetched before, and must be unchanged.
    Table(Vec<u8>),
}

struct Part {
    /// The offset in the file.
    host: u64,
    length: usize,
    kind: Kind,
}

/// The map of an image: the position and use of each part of the file.
pub struct Map {
    cluster: u64,
    size: u64,
    zstd: bool,
    parts: Vec<Part>,
    /// Whether each cluster is in the file; the other clusters are zeros.
    present: Vec<bool>,
}

fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes[at..at + length].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Map {
    /// Reads the map of an image; `read` returns a range of the file, and `disk` is the size of the disk in bytes.
    ///
    /// # Errors
    /// The image is damaged, larger than the disk, or uses an unsupported feature, such as a backing file or encryption.
    pub fn read(mut read: impl FnMut(u64, usize) -> Result<Vec<u8>>, disk: u64) -> Result<Self> {
        let header = read(0, HEADER)?;
        let version = number(&header, 4, 4);
        ensure!(
            matches!(version, 2 | 3),
            "the image is qcow2 of version {version}; versions 2 and 3 can be written"
        );
        let features = if version == 3 { number(&header, 72, 8) } else { 0 };
        ensure!(
            number(&header, 8, 8) == 0,
            "the image has another file behind it: flatten it with qemu-img convert"
        );
        ensure!(number(&header, 32, 4) == 0, "the image is encrypted");
        ensure!(
            features & !(FEATURE_DIRTY | FEATURE_COMPRESSION) == 0,
            "the image uses features of qcow2 that cannot be written ({features:#x}): make it anew with qemu-img convert"
        );
        let zstd = match features & FEATURE_COMPRESSION != 0 {
            false => false,
            true if header[104] == ZSTD => true,
            true => bail!("the image is compressed in a way that is not known ({})", header[104]),
        };
        let bits = number(&header, 20, 4);
        ensure!((9..=21).contains(&bits), "the image is damaged: clusters of 2^{bits} bytes");
        let (cluster, size) = (1u64 << bits, number(&header, 24, 8));
        ensure!(
            size <= disk,
            "the image is of a disk of {size} bytes, and this one holds {disk}: choose a larger one by spec.rootDeviceHints.minSizeGigabytes"
        );
        let (l1_entries, l1_offset) = (number(&header, 36, 4), number(&header, 40, 8));
        let per_table = cluster / 8;
        let tables = size.div_ceil(cluster).div_ceil(per_table);
        ensure!(
            tables <= l1_entries && tables * cluster <= TABLES_MAX,
            "the image is damaged, or has more tables than fit into memory"
        );
        let mut map = Self {
            cluster,
            size,
            zstd,
            parts: Vec::new(),
            present: vec![false; usize::try_from(size.div_ceil(cluster))?],
        };
        if tables > 0 {
            let l1 = read(l1_offset, usize::try_from(tables)? * 8)?;
            for table in 0..tables {
                let offset = number(&l1, usize::try_from(table)? * 8, 8) & OFFSET_MASK;
                if offset > 0 {
                    let l2 = read(offset, usize::try_from(cluster)?)?;
                    map.add_table(&l2, table * per_table, bits)?;
                    map.parts.push(Part { host: offset, length: l2.len(), kind: Kind::Table(l2) });
                }
            }
            map.parts.push(Part { host: l1_offset, length: l1.len(), kind: Kind::Table(l1) });
        }
        map.parts.push(Part { host: 0, length: header.len(), kind: Kind::Table(header) });
        map.parts.sort_by_key(|part| part.host);
        Ok(map)
    }

    fn add_table(&mut self, table: &[u8], first: u64, bits: u64) -> Result<()> {
        for (index, entry) in table.chunks_exact(8).enumerate() {
            let (entry, cluster) = (number(entry, 0, 8), first + index as u64);
            let guest = cluster * self.cluster;
            if guest >= self.size {
                break;
            }
            let part = if entry & COMPRESSED != 0 {
                let offset_bits = 62 - (bits - 8);
                let host = entry & ((1 << offset_bits) - 1);
                let sectors = (entry & (COMPRESSED - 1)) >> offset_bits;
                Part {
                    host,
                    length: usize::try_from((sectors + 1) * 512 - host % 512)?,
                    kind: Kind::Packed { guest },
                }
            } else {
                let host = entry & OFFSET_MASK;
                if host == 0 || entry & ALL_ZEROS != 0 {
                    continue;
                }
                let length = self.cluster.min(self.size - guest);
                Part { host, length: usize::try_from(length)?, kind: Kind::Plain { guest } }
            };
            self.present[usize::try_from(cluster)?] = true;
            self.parts.push(part);
        }
        Ok(())
    }

    /// Writes the image; `file` is read from its beginning to its end.
    ///
    /// # Errors
    /// The file differs from its map or is truncated, or the disk fails.
    pub fn write(&self, file: impl Read, target: &mut Target<'_>) -> Result<()> {
        for (cluster, present) in self.present.iter().enumerate() {
            if !present {
                let guest = cluster as u64 * self.cluster;
                target.zero(guest, self.cluster.min(self.size - guest))?;
            }
        }
        let mut window = Window { file, bytes: Vec::new(), start: 0 };
        let mut unpacker = Unpacker { zstd: self.zstd, cluster: vec![0; usize::try_from(self.cluster)?] };
        for part in &self.parts {
            // The last compressed part may claim more bytes than the file has.
            let exact = !matches!(part.kind, Kind::Packed { .. });
            let bytes = window.get(part.host, part.length, exact)?;
            match &part.kind {
                Kind::Table(table) => {
                    ensure!(bytes == table, "the image was changed while it was fetched; begin again")
                }
                Kind::Plain { guest } => target.write(*guest, bytes)?,
                Kind::Packed { guest } => {
                    let cluster = unpacker
                        .unpack(bytes)
                        .with_context(|| format!("the image is damaged at byte {}", part.host))?;
                    let length = usize::try_from(self.size - guest)?.min(cluster.len());
                    target.write(*guest, &cluster[..length])?;
                }
            }
        }
        std::io::copy(&mut window.file, &mut std::io::sink()).context("the image broke off")?;
        Ok(())
    }
}

/// A view of a file that is only read forwards.
struct Window<R> {
    file: R,
    bytes: Vec<u8>,
    start: u64,
}

impl<R: Read> Window<R> {
    /// Returns `length` bytes from `offset` on, which must not be less than that of the last call. If `exact` is false, fewer bytes at
    /// the end of the file are accepted.
    fn get(&mut self, offset: u64, length: usize, exact: bool) -> Result<&[u8]> {
        let passed =
            usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX).min(self.bytes.len());
        self.bytes.drain(..passed);
        self.start += passed as u64;
        if self.start < offset {
            let skipped =
                std::io::copy(&mut self.file.by_ref().take(offset - self.start), &mut std::io::sink());
            let skipped = skipped.context("the image broke off")?;
            self.start += skipped;
        }
        let missing = length.saturating_sub(self.bytes.len());
        self.file
            .by_ref()
            .take(missing as u64)
            .read_to_end(&mut self.bytes)
            .context("the image broke off")?;
        let found = length.min(self.bytes.len());
        ensure!(
            self.start == offset && (found == length || !exact && found > 0),
            "the image is damaged: it ends before byte {}",
            offset + length as u64
        );
        Ok(&self.bytes[..found])
    }
}

struct Unpacker {
    zstd: bool,
    cluster: Vec<u8>,
}

impl Unpacker {
    fn unpack(&mut self, packed: &[u8]) -> Result<&[u8]> {
        if self.zstd {
            // The bytes behind the frame, up to the end of its sector, belong to other clusters.
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?.single_frame();
            decoder.read_exact(&mut self.cluster)?;
        } else {
            let mut inflate = flate2::Decompress::new(false);
            inflate.decompress(packed, &mut self.cluster, flate2::FlushDecompress::Finish)?;
            ensure!(inflate.total_out() == self.cluster.len() as u64, "a compressed part is too short");
        }
        Ok(&self.cluster)
    }
}
