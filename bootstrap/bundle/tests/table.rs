//! The table of a bundle, and its trailer.

use bundle::format::{Place, Table, Trailer, check};
use bundle::{Digest, limits};

#[test]
fn a_trailer_is_read_as_it_was_written() {
    let part = |offset, size| (Place { offset, size }, Digest::of(b"x"));
    let trailer = Trailer { index: part(512, 10), table: part(2048, limits::TABLE) };
    let end = 2048 + limits::TABLE;
    assert_eq!(Trailer::parse(&trailer.block(), end).unwrap(), trailer);
    assert!(Trailer::parse(&trailer.block(), end - 1).is_err(), "it lies behind the trailer");
    let large = Trailer { table: part(2048, limits::TABLE + 1), ..trailer };
    assert!(Trailer::parse(&large.block(), u64::MAX).is_err());
    let overflow = Trailer { table: part(u64::MAX, 2), ..trailer };
    assert!(Trailer::parse(&overflow.block(), u64::MAX).is_err());
    assert!(Trailer::parse(&[0; 512], end).unwrap_err().to_string().contains("no bundle"));
    let newer = String::from_utf8(trailer.block()).unwrap().replace("bundle-1", "bundle-2");
    assert!(Trailer::parse(newer.as_bytes(), end).unwrap_err().to_string().contains("bundle-2"));
}

#[test]
fn blobs_do_not_overlap() {
    let table = |places: &[(u64, u64)]| -> Table {
        let place = |(number, (offset, size)): (usize, &(u64, u64))| {
            (Digest::of(&[number as u8]), Place { offset: *offset, size: *size })
        };
        places.iter().enumerate().map(place).collect()
    };
    for (places, good) in [
        (&[(512, 512), (1536, 0), (2048, 1)][..], true),
        (&[(0, 1)], false),
        (&[(513, 1)], false),
        (&[(512, 513), (1536, 1)], false),
        (&[(512, 4096)], false),
        (&[(512, u64::MAX)], false),
    ] {
        assert_eq!(check(&table(places), 4000).is_ok(), good, "{places:?}");
    }
}
