//! Tests of `pieces`.

use metal_boot::pieces::{Piece, Pieces};
use std::io::Read as _;

#[test]
fn any_range_of_any_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, b"0123456789").unwrap();
    let mut pieces = Pieces::default();
    pieces.push(b"head".to_vec());
    pieces.push(Piece::file(&path).unwrap());
    pieces.push(Piece::Zeros(0));
    pieces.push(b"x".to_vec());
    pieces.pad(16);
    let whole = b"head0123456789x\0";
    assert_eq!(pieces.len(), 16);
    for offset in 0..18u64 {
        for length in 0..18u64 {
            let mut read = Vec::new();
            pieces.range(offset, length).read_to_end(&mut read).unwrap();
            let from = (offset as usize).min(16);
            let to = ((offset + length) as usize).min(16);
            assert_eq!(read, &whole[from..to], "{offset} {length}");
        }
    }
    std::fs::write(&path, b"short").unwrap();
    assert!(pieces.write(&mut Vec::new()).is_err());
}
