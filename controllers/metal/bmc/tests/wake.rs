//! Tests of `wake`.

use bmc::wake::magic_packet;

#[test]
fn packets() {
    let packet = magic_packet("52:54:00:Aa:bb:cc").unwrap();
    assert_eq!(packet.len(), 102);
    assert_eq!(packet[..6], [0xff; 6]);
    assert!(packet[6..].chunks(6).all(|part| part == [0x52, 0x54, 0, 0xaa, 0xbb, 0xcc]));
    assert_eq!(magic_packet("52-54-00-AA-BB-CC").unwrap(), packet);
    for wrong in [
        "",
        "52:54:00:aa:bb",
        "52:54:00:aa:bb:cc:dd",
        "52:54:00:aa:bb:+c",
        "525400aabbcc",
        "52:54:00:aa:bb:é",
    ] {
        assert!(magic_packet(wrong).is_err(), "{wrong}");
    }
}
