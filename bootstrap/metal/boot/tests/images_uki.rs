//! Tests of `images::uki`.

use metal_boot::images::uki::{
    Parts, SECTION_HEADER, SIGNATURE, assemble, holds, is_signed, is_unified, read, write,
};

/// Returns a stub with one section of 16 bytes, laid out like systemd's.
fn stub() -> Vec<u8> {
    let mut stub = vec![0; 0x400];
    stub[..2].copy_from_slice(b"MZ");
    write(&mut stub, 0x3c, 4, 0x80);
    stub[0x80..0x84].copy_from_slice(b"PE\0\0");
    write(&mut stub, 0x86, 2, 1);
    write(&mut stub, 0x94, 2, 240);
    write(&mut stub, 0x98, 2, 0x20b);
    write(&mut stub, 0x98 + 36, 4, 0x200);
    let table = 0x98 + 240;
    stub[table..table + 5].copy_from_slice(b".text");
    write(&mut stub, table + 8, 4, 16);
    write(&mut stub, table + 12, 4, 0x4000);
    write(&mut stub, table + 16, 4, 0x200);
    write(&mut stub, table + 20, 4, 0x400);
    stub.resize(0x600, 7);
    stub
}

fn parts(stub: Vec<u8>) -> Parts {
    Parts {
        stub,
        release: "ID=x\n".into(),
        arguments: "console=ttyS0".into(),
        kernel: vec![1; 5000].into(),
        initramfs: vec![2; 0x200].into(),
    }
}

#[test]
fn sections_follow_those_of_the_stub() {
    let mut image = Vec::new();
    assemble(parts(stub())).unwrap().write(&mut image).unwrap();
    assert_eq!(read(&image, 0x86, 2), Some(5));
    let table = 0x98 + 240;
    let section = |index: usize| {
        let at = table + index * SECTION_HEADER;
        let name = String::from_utf8(image[at..at + 8].to_vec()).unwrap();
        let field = |offset: usize| read(&image, at + offset, 4).unwrap() as usize;
        (name.trim_end_matches('\0').to_owned(), field(8), field(12), field(16), field(20))
    };
    assert_eq!(section(1), (".osrel".into(), 5, 0x5000, 0x200, 0x600));
    assert_eq!(section(2), (".cmdline".into(), 13, 0x6000, 0x200, 0x800));
    assert_eq!(section(3), (".initrd".into(), 0x200, 0x7000, 0x200, 0xa00));
    assert_eq!(section(4), (".linux".into(), 5000, 0x8000, 0x1400, 0xc00));
    assert_eq!(&image[0x800..0x80d], b"console=ttyS0");
    assert_eq!(image[0xc00..0xc00 + 5000], [1; 5000]);
    assert_eq!(image.len(), 0xc00 + 0x1400);
    assert_eq!(read(&image, 0x98 + 56, 4), Some(0xa000));
    assert!(is_unified(&image) && !is_unified(&stub()) && !is_signed(&image));
    write(&mut image, 0x98 + SIGNATURE + 4, 4, 1200);
    assert!(is_signed(&image));
    let folder = tempfile::tempdir().unwrap();
    let (signed, initramfs) = (folder.path().join("signed"), folder.path().join("initramfs"));
    std::fs::write(&signed, &image).unwrap();
    for (content, expected) in [(vec![2; 0x200], true), (vec![2; 0x1ff], false), (vec![3; 0x200], false)] {
        std::fs::write(&initramfs, content).unwrap();
        assert_eq!(holds(&signed, &initramfs).unwrap(), expected);
    }
}

#[test]
fn what_is_no_stub_is_refused() {
    let whole = stub();
    for length in 0..0x1b0 {
        assert!(assemble(parts(whole[..length].to_vec())).is_err(), "{length}");
    }
    let mut full = stub();
    write(&mut full, 0x98 + 240 + 20, 4, 0x1c0);
    let error = assemble(parts(full)).unwrap_err().to_string();
    assert!(error.contains("no room for 4 more sections"), "{error}");
}
