//! Tests of `deploy::decode`.

use std::io::Write;

use agent::testing::decode::{Format, Peeked, content, format, is_compressed};

#[test]
fn each_compression_gives_the_same_content() {
    let plain: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(1)).unwrap();
    xz.write_all(&plain).unwrap();
    let packed = [gzip.finish().unwrap(), xz.finish().unwrap(), zstd::encode_all(&plain[..], 1).unwrap()];
    for image in packed.iter().chain([&plain]) {
        let peeked = Peeked::new(&image[..]).unwrap();
        assert_eq!(is_compressed(peeked.first()), image != &plain);
        let mut read = Vec::new();
        content(peeked).unwrap().read_to_end(&mut read).unwrap();
        assert!(read == plain);
    }
    for image in &packed {
        let mut read = Vec::new();
        let cut = content(Peeked::new(&image[..image.len() / 2]).unwrap()).unwrap().read_to_end(&mut read);
        assert!(cut.is_err());
    }
}

#[test]
fn formats_are_told_by_their_first_bytes() {
    assert_eq!(format(b"QFI\xfb\0\0\0\x03", "").unwrap(), Format::Qcow2);
    assert_eq!(format(b"\xeb\x63\x90", "raw").unwrap(), Format::Raw);
    for (first, said) in [
        (&b"QFI\xfb"[..], "raw"),
        (b"\xeb\x63", "qcow2"),
        (b"KDMV", ""),
        (b"", ""),
        (b"x", "vdi"),
        (b"<!DOCTYP", ""),
    ] {
        assert!(format(first, said).is_err(), "{said}");
    }
}
