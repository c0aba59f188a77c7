//! Tests of `ipmi::packet`.

use bmc::ipmi::cipher::{BLOCK, Keys, Suite};
use bmc::ipmi::packet::{Packet, inside, outside, payload, plain, read};

#[test]
fn packets_come_back() {
    assert_eq!(read(&plain(b"message"), None), Some(Packet::Plain(b"message".to_vec())));
    let opened = outside(payload::OPEN_REQUEST, b"payload");
    assert_eq!(read(&opened, None), Some(Packet::Outside(payload::OPEN_REQUEST, b"payload".to_vec())));
    for suite in [Suite::Sha1, Suite::Sha256] {
        let keys = Keys::derive(suite, b"integrity");
        for length in 0..40 {
            let message = vec![0xa5; length];
            let packet = inside(&keys, 9, 1, &message, [3; BLOCK]);
            assert_eq!(read(&packet, Some(&keys)), Some(Packet::Inside(9, message)));
            assert_eq!(read(&packet, None), None);
            for place in 4..packet.len() {
                let mut changed = packet.clone();
                changed[place] ^= 1;
                assert_ne!(read(&changed, Some(&keys)), read(&packet, Some(&keys)), "byte {place}");
            }
        }
    }
}

#[test]
fn what_is_cut_off_is_not_read() {
    let keys = Keys::derive(Suite::Sha256, b"integrity");
    for packet in [plain(b"message"), outside(1, b"payload"), inside(&keys, 9, 1, b"message", [3; BLOCK])] {
        for length in 0..packet.len() {
            assert_eq!(read(&packet[..length], Some(&keys)), None, "{length}");
        }
    }
}
