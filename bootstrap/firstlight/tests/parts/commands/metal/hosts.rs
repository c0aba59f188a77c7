//! Tests of `firstlight::commands::metal::hosts`.

use firstlight::commands::metal::hosts::{report, text};
use machinery::clock::parse_rfc3339;
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

fn host(name: &str, rest: Value) -> BareMetalHost {
    let mut object = rest;
    object["metadata"]["name"] = name.into();
    object["metadata"]["namespace"] = "site".into();
    serde_json::from_value(object).unwrap()
}

#[test]
fn a_report() {
    let status = |state: &str, rest: Value| {
        let mut status = rest;
        status["provisioning"]["state"] = state.into();
        json!({ "spec": { "online": true }, "status": status })
    };
    let asked = json!({ "poweredOn": false, "conditions": [
            { "type": "WaitingForOperator", "status": "True", "message": "switch the machine on" },
        ] });
    let failed = json!({
        "operationalStatus": "error", "errorType": "registration error", "errorMessage": "401",
    });
    let mut paused = status("provisioned", json!({ "poweredOn": true }));
    paused["metadata"]["annotations"]["baremetalhost.metal3.io/paused"] = "".into();
    let hosts = [
        host("f", paused),
        host("a", json!({})),
        host("b", status("inspecting", asked)),
        host("c", status("registering", failed)),
        host("d", status("provisioning", json!({ "poweredOn": true }))),
        host("e", status("unmanaged", json!({}))),
    ];
    let agents: Vec<Agent> = [
        json!({
            "metadata": { "name": "52-54-00-00-00-01" },
            "spec": {
                "hostRef": { "namespace": "site", "name": "d" },
                "instruction": { "id": "1", "action": "Deploy" },
            },
            "status": { "instruction": {
                "id": "1", "state": "Running", "message": "writing the image to /dev/vda",
                "bytesDone": 404_750_336, "bytesTotal": 985_661_440,
            } },
        }),
        json!({
            "metadata": { "name": "52-54-00-00-00-02" },
            "status": {
                "address": "10.0.0.7", "lastSeenTime": "2026-11-22T09:00:00Z",
                "hardware": {
                    "systemVendor": { "manufacturer": "QEMU" }, "cpu": { "count": 4 },
                    "ramMebibytes": 16384, "storage": [{ "name": "/dev/vda" }],
                },
            },
        }),
    ]
    .map(|agent| serde_json::from_value(agent).unwrap())
    .into();
    let now = parse_rfc3339("2026-11-22T09:00:12Z").unwrap();
    let expected = "\
HOST     STATE          POWER   AGENT                                 WAITING FOR
site/a   new            -       -                                     the controller
site/b   inspecting     off     -                                     switch the machine on
site/c   registering    off     -                                     registration error: 401
site/d   provisioning   on      writing the image to /dev/vda, 41 %   -
site/e   unmanaged      -       -                                     a way to switch it on: set spec.bmc, or the annotation metal.firstlight.dev/power
site/f   provisioned    on      -                                     paused: remove the annotation baremetalhost.metal3.io/paused

UNKNOWN MACHINE     ADDRESS    SERIAL   HARDWARE                       SEEN   STATE
52-54-00-00-00-02   10.0.0.7   -        QEMU, 4 CPUs, 16 GiB, 1 disk   12s    waits for approval

To make a host of one: firstlight metal approve NAME
";
    assert_eq!(text(&report(&hosts, &agents), now, 200), expected);
}

/// The inventory of a machine that nobody knows, and the answer of a BMC, try to look like another machine.
#[test]
fn nothing_that_a_machine_reports_looks_like_another_row() {
    let forged = "52-54-00-ee-ee-ee   10.77.0.201   HONEST123";
    let agents: Vec<Agent> = [
        format!("\u{1b}[3A\r{forged}\u{1b}[3B"),
        format!("\n{forged}\n"),
        format!("PC{}{forged}", " ".repeat(60)),
        format!("PC\u{202e}\u{2028}\u{9b}A{forged}"),
    ]
    .iter()
    .enumerate()
    .map(|(number, product)| {
        let agent = json!({"metadata": {"name": format!("52-54-00-00-00-0{number}")}, "status": {
                "address": "10.77.0.9", "serialNumber": format!("{product}{}", "S".repeat(100)),
                "hardware": {"systemVendor": {"productName": product}}}});
        serde_json::from_value(agent).unwrap()
    })
    .collect();
    let failed =
        json!({"status": {"operationalStatus": "error", "errorMessage": format!("\r\n{forged} ").repeat(9)}});
    let report = report(&[host("a", failed)], &agents);
    for width in [40, 80, 120, 200, usize::MAX] {
        for line in text(&report, parse_rfc3339("2026-11-22T09:00:12Z").unwrap(), width).lines() {
            assert!(!line.contains(terminal::is_unsafe), "{line:?}");
            assert!(line.width() <= width || line.starts_with("To make"), "{width}: {line}");
            let is_ours = ["HOST", "site/a", "UNKNOWN", "52-54-00-00-00-0", "To make", "   "];
            assert!(
                line.is_empty() || is_ours.iter().any(|start| line.starts_with(start)),
                "{width}: {line}"
            );
        }
    }
}
