//! Tests of `devices`.

use agent::testing::added;

#[test]
fn messages_of_the_kernel() {
    let message = b"add@/devices/pci0000:00/virtio0\0ACTION=add\0MODALIAS=virtio:d1v2\0SEQNUM=7\0";
    assert_eq!(added(message), Some(Some("virtio:d1v2")));
    assert_eq!(added(b"add@/devices/x\0ACTION=add\0"), Some(None));
    assert_eq!(added(b"remove@/devices/x\0ACTION=remove\0MODALIAS=a\0"), None);
    assert_eq!(added(b""), None);
    assert_eq!(added(b"\xff\xfe\0"), None);
}
