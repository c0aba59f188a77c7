//! Tests of `engine::etcd`.

use engine::etcd::{Member, MemberListRequest, MemberListResponse, frame, unframe};

#[test]
fn messages_read_back() {
    let member = Member { id: 7, name: "a".into(), is_learner: true, ..Member::default() };
    let response = MemberListResponse { header: None, members: vec![member] };
    assert_eq!(unframe::<MemberListResponse>(&frame(&response)).unwrap(), response);
}

/// Bytes written by hand from the numbers in `rpc.proto`: field 2 (message): field 1 = 7, field 2 = "a", field 5 = true.
#[test]
fn field_numbers_are_etcds() {
    let body = [0, 0, 0, 0, 9, 0x12, 7, 0x08, 7, 0x12, 1, b'a', 0x28, 1];
    let response: MemberListResponse = unframe(&body).unwrap();
    assert_eq!(response.members[0].name, "a");
    assert!(response.members[0].is_learner);
}

#[test]
fn damaged_bodies_are_refused() {
    let cases: [&[u8]; 4] = [&[], &[1, 0, 0, 0, 0], &[0, 0, 0, 0, 2, 8], &[0, 0xff, 0xff, 0xff, 0xff]];
    for body in cases {
        assert!(unframe::<MemberListRequest>(body).is_err(), "{body:?}");
    }
}
