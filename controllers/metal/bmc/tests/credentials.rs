//! Tests of `credentials`.

use bmc::credentials::Credentials;

#[test]
fn a_password_is_in_no_text() {
    let credentials = Credentials::new("admin", "s3cret");
    assert_eq!(format!("{credentials:?}"), "Credentials { username: \"admin\", .. }");
    assert_eq!(credentials.redact("password s3cret, YWRtaW46czNjcmV0"), "password ***, ***");
    assert_eq!(Credentials::new("admin", "").redact("text"), "text");
}
