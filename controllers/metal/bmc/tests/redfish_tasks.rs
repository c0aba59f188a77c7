//! Tests of `redfish::tasks`.

use bmc::TaskState;
use bmc::redfish::tasks::state;
use serde_json::{Value, json};

#[test]
fn states() {
    let running = |percent, message: &str| TaskState::Running { percent, message: message.to_owned() };
    let failed = |message: &str| TaskState::Failed { message: message.to_owned() };
    for (status, body, expected) in [
        (202, Value::Null, running(None, "running")),
        (202, json!({"TaskState": "Running", "PercentComplete": 40}), running(Some(40), "Running")),
        (200, json!({"TaskState": "New"}), running(None, "New")),
        (200, json!({"TaskState": "Completed", "TaskStatus": "OK"}), TaskState::Done),
        (
            200,
            json!({"TaskState": "Completed", "TaskStatus": "Critical", "Messages": [{"Message": "No."}]}),
            failed("No."),
        ),
        (
            200,
            json!({"TaskState": "Exception", "Messages": [{"Message": "a"}, {"Message": "b"}]}),
            failed("Exception: a; b"),
        ),
        (200, json!({"JobState": "Failed", "Message": "Unable."}), failed("Failed: Unable.")),
        (200, json!({"JobState": "Scheduled"}), running(None, "Scheduled")),
        (200, json!({"Id": "the outcome"}), TaskState::Done),
        (204, Value::Null, TaskState::Done),
    ] {
        assert_eq!(state(status, &body), expected, "{status} {body}");
    }
}
