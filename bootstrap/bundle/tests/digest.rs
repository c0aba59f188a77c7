//! Digests as text.

use std::io::Write;

use bundle::{Digest, Hashing};

#[test]
fn one_text_for_one_digest() {
    let empty = Digest::of(b"");
    let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(empty.to_string(), text);
    assert_eq!(text.parse::<Digest>().unwrap(), empty);
    let upper = text.to_uppercase().replace("SHA", "sha");
    for wrong in ["", "sha256:", "sha512:00", &text[7..], &text[..70], &upper, &text.replace("e3", "+3")] {
        assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
    }
}

#[test]
fn what_goes_through_is_counted_in_both_directions() {
    let content = vec![7; 100_000];
    let mut writer = Hashing::new(Vec::new());
    for piece in content.chunks(777) {
        writer.write_all(piece).unwrap();
    }
    let (written, digest, length) = writer.into_parts();
    assert_eq!((written.as_slice(), length), (content.as_slice(), 100_000));
    assert_eq!(digest, Digest::of(&content));
    let mut reader = Hashing::new(content.as_slice());
    std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
    assert_eq!(reader.end(), (digest, length));
}
