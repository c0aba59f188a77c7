//! Tests of `instruction`.

use agent_protocol::{Action, Deployment, Erase, Image, Instruction, RootDeviceHints};
use metal::instruction::{hints, is_restart_of, read, replacement, restart, store};
use schemas::metal3::RootDeviceHints as StoredHints;
use schemas::netboot::AgentInstruction;
use serde_json::Value;

fn deploy() -> Instruction {
    let image = Image { url: "http://a/b".into(), checksum: "12".into(), ..Image::default() };
    let root_device_hints =
        RootDeviceHints { min_size_gigabytes: Some(4), rotational: Some(true), ..Default::default() };
    let deployment = Deployment { image, root_device_hints, config_drive: true };
    Instruction { id: "deploy/1".into(), action: Action::Deploy(Box::new(deployment)) }
}

#[test]
fn what_is_stored_is_read() {
    let of = |action| Instruction { id: "1".into(), action };
    for instruction in [
        of(Action::Wait),
        of(Action::Inspect),
        of(Action::Clean { erase: Erase::Metadata }),
        of(Action::Clean { erase: Erase::Everything }),
        deploy(),
        of(Action::Restart),
        of(Action::PowerOff),
    ] {
        assert_eq!(read(&store(&instruction, None)), Some(instruction));
    }
    let unknown = AgentInstruction { action: "Dance".into(), ..Default::default() };
    let incomplete = AgentInstruction { action: "Deploy".into(), ..Default::default() };
    assert_eq!((read(&unknown), read(&incomplete)), (None, None));
    let negative = StoredHints { min_size_gigabytes: Some(-1), ..Default::default() };
    assert_eq!(hints(&negative), None);
}

#[test]
fn nothing_of_the_instruction_before_stays() {
    let stored = store(&deploy(), Some("boot".into()));
    let instruction = &replacement(&stored)["spec"]["instruction"];
    assert_eq!(instruction["image"]["checksum"], "12");
    assert_eq!(instruction["image"]["checksumType"], Value::Null);
    assert!(instruction["image"].as_object().unwrap().contains_key("checksumType"));
    assert_eq!(instruction["rootDeviceHints"]["minSizeGigabytes"], 4);
    assert_eq!(instruction["erase"], Value::Null);
    let restart = store(&Instruction { id: restart("now"), action: Action::Restart }, None);
    assert!(is_restart_of(&restart, "now") && !is_restart_of(&restart, "then"));
    let instruction = &replacement(&restart)["spec"]["instruction"];
    assert_eq!((&instruction["image"], &instruction["bootID"]), (&Value::Null, &Value::Null));
    assert_eq!(instruction.as_object().unwrap().len(), 7);
}
