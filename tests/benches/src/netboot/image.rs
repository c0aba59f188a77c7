//! Benchmarks of writing images to a disk with the agent's own code.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

use agent::testing::{
    BlockDevice, Checksum, Fetched, Journal, Order, Source, authorities, https, image_client_config, write,
};
use anyhow::{Context, Result};
use machinery::random::Random;
use metal_boot::images::cache::sum;
use pki::{CertificateAuthority, KeyAlgorithm};
use tokio::runtime::Handle;

use super::files;
use super::pair::{Pair, median};
use super::place::{PEER, Place, command};
use crate::bench::{Bench, print};

const BYTES: usize = 512 << 20;
const PIECE: usize = 2 << 20;

/// Runs these benchmarks: writing an image from nginx to the disk, compared with the slower of two baselines:
/// the same content from memory to the same disk, and the same file from nginx without a disk. All rates
/// refer to the uncompressed content.
pub async fn run(bench: &Bench, place: &Place, folder: &Path) -> Result<()> {
    let served = folder.join("served");
    let content = content();
    let [raw, zstd, qcow2] = ["raw", "zstd", "qcow2"].map(|name| served.join(name));
    std::fs::write(&raw, &content)?;
    let mut packed = zstd::stream::write::Encoder::new(BufWriter::new(File::create(&zstd)?), 3)?;
    packed.write_all(&content)?;
    packed.finish()?.flush()?;
    let [from, to] = [&raw, &qcow2].map(|path| path.to_string_lossy().into_owned());
    command("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &from, &to]).await?;
    let _nginx = files::nginx(bench, place, folder, &served).await?;
    let disk = folder.join("disk");
    // The first run creates the file.
    plain(bench, &disk, &content)?;
    for path in [raw, zstd, qcow2] {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("image of 512 MiB ({name}), beside the slower of disk and network");
        let mut pair = Pair::new(name, "MB/s");
        let (mut disks, mut networks) = (Vec::new(), Vec::new());
        for _ in 0..bench.rounds {
            let (by_disk, by_network) = (plain(bench, &disk, &content)?, fetch(&path, bench).await?);
            pair.peer.push(by_disk.min(by_network));
            pair.ours.push(deploy(bench, &disk, &path).await?);
            disks.push(by_disk);
            networks.push(by_network);
        }
        pair.print();
        let (by_disk, by_network) = (median(&disks), median(&networks));
        print(&format!("| … disk, network | {by_disk:.0} MB/s, {by_network:.0} MB/s | | | |"));
    }
    Ok(())
}

/// Returns bytes that compress to about half, without runs of zeros.
fn content() -> Vec<u8> {
    let (random, mut bytes) = (Random::seeded(1), vec![0; BYTES]);
    random.fill(&mut bytes);
    for byte in &mut bytes {
        *byte = (*byte & 0x0f) | 0x40;
    }
    bytes
}

fn rate(seconds: f64) -> f64 {
    BYTES as f64 / 1e6 / seconds
}

fn plain(bench: &Bench, disk: &Path, content: &[u8]) -> Result<f64> {
    let begun = bench.clock.monotonic();
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(disk)?;
    for piece in content.chunks(PIECE) {
        file.write_all(piece)?;
    }
    file.sync_all()?;
    Ok(rate((bench.clock.monotonic() - begun).as_secs_f64()))
}

async fn fetch(image: &Path, bench: &Bench) -> Result<f64> {
    let name = image.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = usize::try_from(image.metadata()?.len())?;
    let begun = bench.clock.monotonic();
    tokio::task::spawn_blocking(move || files::fetch(PEER, &name, bytes)).await??;
    Ok(rate((bench.clock.monotonic() - begun).as_secs_f64()))
}

async fn deploy(bench: &Bench, disk: &Path, image: &Path) -> Result<f64> {
    let checksum = Checksum::read(&sum(image)?, "sha256")?;
    // The image is transferred without TLS, but the agent's client needs an authority.
    let (kind, now) = (KeyAlgorithm::EcdsaP256, bench.clock.now());
    let authority = CertificateAuthority::generate("benches", kind, None, now, &Random::system())?;
    let client = https(image_client_config(authorities(authority.certificate())?)?, None);
    let name = image.file_name().unwrap_or_default().to_string_lossy();
    let url = format!("http://{PEER}:{}/{name}", files::PORT);
    let journal = Journal::new(bench.clock.clone());
    let source = Source::new(&url, client, bench.clock.clone(), journal)?;
    let fetched = Fetched::new(source, Handle::current());
    let begun = bench.clock.monotonic();
    let disk = disk.to_owned();
    let work = move || {
        let mut device = BlockDevice::open(&disk, 512)?;
        let order = Order {
            checksum: &checksum,
            format: "",
            drive: None,
            random: &Random::seeded(1),
            progress: &|_, _| Ok(()),
        };
        write(&mut device, &fetched, &order).context("the agent")
    };
    tokio::task::spawn_blocking(work).await??;
    Ok(rate((bench.clock.monotonic() - begun).as_secs_f64()))
}
