//! Tests of `server::backup::files`.

use server::backup::files::belongs;

#[test]
fn files_of_a_backup_stay_below_the_directory() {
    for name in ["pivot.journal", "pki/ca.key", "pki/service-account-a_b-c.pub"] {
        assert!(belongs(name), "{name}");
    }
    for name in ["pki/../ca.key", "pki/a/b.key", "/etc/x.key", "store.redb", "pki/server.key", "pki/.key", ""]
    {
        assert!(!belongs(name), "{name}");
    }
}
