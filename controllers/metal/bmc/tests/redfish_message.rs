//! Tests of `redfish::message`.

use bmc::redfish::message::{FOREIGN, LONGEST, refusal};
use serde_json::{Value, json};

#[test]
fn messages() {
    let extended = |entries: Value| json!({"error": {"code": "Base.1.8.GeneralError", "message": "General error.", "@Message.ExtendedInfo": entries}});
    for (body, expected) in [
        (
            extended(
                json!([{"MessageId": "Base.1.8.A", "Message": "Not so. "}, {"Message": "Not so."}, {"MessageId": "iLO.2.14.B"}]),
            ),
            "Not so.",
        ),
        // The format of sushy-tools.
        (extended(json!([{"MessageId": "Base.1.0.GeneralError"}])), "General error."),
        // The format of iLO 5.
        (
            json!({"error": {"message": "See @Message.ExtendedInfo for more information.", "@Message.ExtendedInfo": [{"MessageId": "iLO.2.14.B"}]}}),
            "iLO.2.14.B",
        ),
        (extended(json!({"Message": "One."})), "One."),
        (extended(json!([])), "General error."),
        (json!({"@Message.ExtendedInfo": [{"Message": "On top."}]}), "On top."),
        (json!({"error": {"code": "Base.1.8.1.GeneralError", "message": "No."}}), "No."),
    ] {
        assert_eq!(refusal(&body), expected, "{body}");
    }
    let long = extended(json!([{"Message": "é".repeat(LONGEST + 1)}]));
    assert_eq!(refusal(&long).chars().count(), LONGEST + 1);
}

/// What other services of a network answer, with what only they may tell.
#[test]
fn answers_that_are_not_redfish_are_not_quoted() {
    let secret = "AKIA-INTERNAL";
    for body in [
        json!({"error": secret}),
        json!({"error": {"message": secret}}),
        json!({"error": {"code": 403, "message": secret}}),
        json!({"error": {"code": "InvalidToken", "message": secret}}),
        json!({"error": {"code": "svc.internal.Denied", "message": secret}}),
        json!({"message": secret}),
        json!([secret, {"error": []}]),
        json!(secret),
        Value::Null,
    ] {
        assert_eq!(refusal(&body), FOREIGN, "{body}");
    }
}
