//! Digests as text.

use bundle::Digest;

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
