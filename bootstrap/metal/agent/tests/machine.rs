//! Tests of `machine`.

use agent::testing::Arguments;

#[test]
fn kernel_arguments() {
    let mac = Some([0x52, 0x54, 0, 0xab, 2, 3]);
    let line = "console=ttyS0 firstlight.server=https://10.0.0.1:1 BOOTIF=01-52-54-00-ab-02-03 quiet firstlight.server=https://[fd00::1]:1 firstlight.token=abc\n";
    let read = Arguments::read(line);
    assert_eq!(read.servers, ["https://10.0.0.1:1", "https://[fd00::1]:1"]);
    assert_eq!((read.token.as_deref(), read.boot), (Some("abc"), mac));
    assert_eq!(Arguments::read("BOOTIF=52:54:00:ab:02:03").boot, mac);
    assert_eq!(Arguments::read("BOOTIF=01:52:54:00:ab:02:03").boot, mac);
    let wrong = "BOOTIF=eth0 x=\"y z\" = firstlight.network=52:54:00:ab:02:03 firstlight.network=52:54:00:ab:02:03,10.0.0.9/33,";
    assert_eq!(Arguments::read(wrong), Arguments::default());
    let line = "firstlight.network=52:54:00:ab:02:03,10.0.0.9/24,10.0.0.1,10.0.0.53,10.0.0.54 firstlight.network=52:54:00:ab:02:04,10.1.0.9/32,";
    let [first, second] = Arguments::read(line).networks.try_into().unwrap();
    assert_eq!(
        (Some(first.mac), first.lease.address.to_string(), first.lease.prefix),
        (mac, "10.0.0.9".into(), 24)
    );
    assert_eq!((first.lease.router, first.lease.name_servers.len()), (Some([10, 0, 0, 1].into()), 2));
    assert_eq!((second.lease.prefix, second.lease.router, second.lease.name_servers), (32, None, Vec::new()));
}
