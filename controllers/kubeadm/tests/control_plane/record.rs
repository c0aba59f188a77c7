//! Records of remediations.

use chrono::DateTime;
use kubeadm::controlplane::record::Record;

#[test]
fn a_record_is_written_as_upstream_writes_it() {
    let now = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    let text = Record { retry_count: 1, ..Record::new("m", now) }.text();
    assert_eq!(text, r#"{"machine":"m","timestamp":"2027-01-15T08:00:00Z","retryCount":1}"#);
    assert_eq!(Record::parse("a", &text).unwrap().text(), text);
}
