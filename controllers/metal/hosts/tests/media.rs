//! Tests of machines that boot their agent from virtual media.

use metal::control::{Boot, Command, Power};
use metal::host::observed::{BootImage, Means};

use crate::support::World;

const URL: &str = "http://10.0.0.1/boot/media/metal/host-0/1234.iso";

fn world() -> World {
    let mut world = World::new();
    world.means =
        Means::Bmc { credentials: "bmc".into(), version: "1".into(), has_media: true, boots_media: true };
    world
}

#[test]
fn the_agent_is_inserted_started_and_ejected() {
    let mut world = world();
    world.until(|world| world.state() == "inspecting");
    let asked = (0..5).map(|_| world.step().asks_boot_image).collect::<Vec<_>>();
    assert!(asked.iter().all(|asked| *asked), "{asked:?}");
    assert!(world.commands.is_empty(), "nothing is done before there is an image: {:?}", world.commands);

    world.boot_image = BootImage::Ready(URL.into());
    world.until_state("provisioned");
    let expected = [
        Command::Insert(URL.into()),
        Command::Boot(Boot::Media),
        Command::PowerOn,
        Command::Eject,
        Command::Boot(Boot::Disk),
    ];
    assert_eq!(world.commands, expected);

    world.commands.clear();
    world.delete();
    world.until(|world| world.is_gone);
    let expected = [
        Command::HardOff,
        Command::Insert(URL.into()),
        Command::Boot(Boot::Media),
        Command::PowerOn,
        Command::Eject,
        Command::HardOff,
    ];
    assert_eq!((world.commands.as_slice(), world.power, world.disk), (&expected[..], Power::Off, None));
}

#[test]
fn what_stands_against_it_is_said() {
    let mut world = world();
    world.boot_image = BootImage::Failed("add a stub".into());
    world.until(|world| world.status().error_type.is_some());
    assert_eq!(world.status().error_type.as_deref(), Some("inspection error"));
    assert!(world.status().error_message.contains("add a stub"), "{}", world.status().error_message);

    world.boot_image = BootImage::Ready(URL.into());
    world.host.spec.boot_mode = Some("legacy".into());
    world.until(|world| world.status().error_message.contains("bootMode"));
    assert!(world.commands.is_empty(), "{:?}", world.commands);

    world.host.spec.boot_mode = None;
    world.is_deaf = true;
    world.until(|world| world.status().error_message.contains("from virtual media"));
    world.is_deaf = false;
    world.until_state("provisioned");
}
