//! Tests of `agents::drive`.

use machinery::clock::parse_rfc3339;
use metal_provisioning::agents::drive::Drive;
use schemas::netboot::AgentStatus;
use serde_json::json;

#[test]
fn user_data_takes_one_way() {
    let begun = "2026-11-22T08:50:00Z";
    let now = parse_rfc3339("2026-11-22T09:00:00Z").unwrap();
    let status = |drive: Option<&str>, user_data: Option<&str>| -> AgentStatus {
        let given = |purpose: &str| json!({ "purpose": purpose, "time": "2026-11-22T08:55:00Z" });
        let status =
            json!({ "bootID": "b", "configDrive": drive.map(given), "userData": user_data.map(given) });
        serde_json::from_value(status).unwrap()
    };
    let other = "2026-11-21T08:50:00Z";
    for (known, has_user_data, expected) in [
        (status(None, None), true, true),
        (status(Some("deploy/0 a"), Some(other)), true, true),
        // The power was cut while the image was being written.
        (status(Some("deploy/1 a"), Some(begun)), true, true),
        (status(Some("deploy/1 b"), Some(begun)), true, false),
        (status(None, Some(begun)), true, false),
        (status(Some("deploy/0 a"), Some(begun)), true, false),
        (status(None, Some(begun)), false, true),
    ] {
        let drive = Drive { instruction: "deploy/1", begun, has_user_data, token: "aa".into() };
        let written = drive.hand_over(&known, now);
        assert_eq!(written.is_ok(), expected, "{known:?} {written:?}");
        let noted = written.ok().map(|patch| patch["status"]["userData"]["purpose"] == begun);
        assert_eq!(noted, expected.then_some(has_user_data), "{known:?}");
    }
    let drive = Drive { instruction: "deploy/1", begun, has_user_data: false, token: "aa".into() };
    let written = drive.hand_over(&status(None, None), now).unwrap();
    assert_eq!(written["status"]["configDrive"]["tokenSHA256"], "aa");
}
