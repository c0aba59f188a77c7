//! Tests of `ipmi::message`.

use bmc::ipmi::message::{Command, read_response, request};

#[test]
fn requests_and_responses() {
    // Get Chassis Status, as ipmitool sends it.
    let status = Command { name: "Get Chassis Status", function: 0, number: 1, data: Vec::new() };
    assert_eq!(request(&status, 1), [0x20, 0x00, 0xe0, 0x81, 0x04, 0x01, 0x7a]);
    let response = [0x81, 0x04, 0x7b, 0x20, 0x04, 0x01, 0x00, 0x21, 0x10, 0x40, 0x6a];
    assert_eq!(read_response(&response, 0, 1, 1), Some((0, vec![0x21, 0x10, 0x40])));
    assert_eq!(read_response(&response, 0, 1, 2), None);
    assert_eq!(read_response(&response, 0, 2, 1), None);
    assert_eq!(read_response(&response, 6, 1, 1), None);
    for length in 0..response.len() {
        assert_eq!(read_response(&response[..length], 0, 1, 1), None);
    }
    let mut changed = response;
    changed[7] ^= 1;
    assert_eq!(read_response(&changed, 0, 1, 1), None);
}
