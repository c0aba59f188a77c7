//! Tests of `preprovisioning`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use chrono::DateTime;
use metal::preprovisioning::{
    BootImages, CONFIGURATION_ERROR, InitialImage, MISSING_NETWORK_DATA, MediaImage, Network, SUCCESS, plan,
};
use schemas::metal3::{PreprovisioningImage, SecretStatus};

fn said(
    image: &PreprovisioningImage,
    served: &BootImages,
    network: &Network,
) -> (Option<String>, String, String) {
    let status = plan(image, served, network, DateTime::default()).status.unwrap();
    let find = |name: &str| status.conditions.iter().find(|known| known.type_ == name).cloned().unwrap();
    assert_ne!(find("Ready").status, find("Error").status);
    (status.image_url, find("Error").reason, find("Error").message)
}

fn served(media: Option<MediaImage>) -> BootImages {
    let initial = InitialImage {
        image: "http://10.0.0.1/boot/initrd/x86_64".into(),
        kernel: "http://10.0.0.1/boot/kernel/x86_64".into(),
        arguments: "quiet".into(),
    };
    let media = media.map(|media| ("x86_64".to_owned(), media));
    BootImages { initial: [("x86_64".to_owned(), initial)].into(), media: media.into_iter().collect() }
}

fn asked(formats: &[&str]) -> PreprovisioningImage {
    let mut image = PreprovisioningImage::default();
    let metadata = &mut image.metadata;
    (metadata.namespace, metadata.name, metadata.uid) =
        (Some("metal".into()), Some("host-0".into()), Some("1234".into()));
    image.spec.architecture = Some("x86_64".into());
    image.spec.accept_formats = formats.iter().map(|format| (*format).to_owned()).collect();
    image
}

#[test]
fn an_image_is_served_or_it_is_said_why_not() {
    let cd = |arguments: Option<&str>| {
        Some(MediaImage {
            base: "http://10.0.0.1/boot/media".into(),
            arguments: arguments.map(str::to_owned),
        })
    };
    let (own, signed) = (served(cd(Some("quiet"))), served(cd(None)));
    let given = || Network::Given(SecretStatus { name: Some("network".into()), version: None });
    let missing = Network::Missing("network".into());
    let wrong = Network::Wrong("network".into(), "no list".into());
    let (initrd, iso) =
        ("http://10.0.0.1/boot/initrd/x86_64", "http://10.0.0.1/boot/media/metal/host-0/1234.iso");
    let both: &[&str] = &["iso", "initrd"];
    let cases = [
        (both, &own, Network::Dhcp, Ok(iso)),
        (&both[1..], &own, Network::Dhcp, Ok(initrd)),
        (both, &served(None), Network::Dhcp, Ok(initrd)),
        (&both[..1], &own, given(), Ok(iso)),
        (&both[..1], &signed, Network::Dhcp, Ok(iso)),
        (&both[..1], &signed, given(), Err((CONFIGURATION_ERROR, "has signed"))),
        (&both[..1], &served(None), Network::Dhcp, Err((CONFIGURATION_ERROR, "systemd-boot-efi"))),
        (&both[1..], &own, given(), Err((CONFIGURATION_ERROR, "asks DHCP"))),
        (&[], &own, Network::Dhcp, Err((CONFIGURATION_ERROR, "acceptFormats"))),
        (both, &own, missing, Err((MISSING_NETWORK_DATA, "create it"))),
        (both, &own, wrong, Err((CONFIGURATION_ERROR, "no list"))),
        (both, &BootImages::default(), Network::Dhcp, Err((CONFIGURATION_ERROR, "--netboot-interface"))),
    ];
    for (number, (formats, served, network, expected)) in cases.into_iter().enumerate() {
        let (url, reason, message) = said(&asked(formats), served, &network);
        match expected {
            Ok(wanted) => {
                assert_eq!((url.as_deref(), reason.as_str()), (Some(wanted), SUCCESS), "{number}")
            }
            Err((wanted, part)) => {
                assert_eq!((url, reason.as_str()), (None, wanted), "{number}");
                assert!(message.contains(part), "{number}: {message}");
            }
        }
    }
    let mut other = asked(both);
    other.spec.architecture = Some("aarch64".into());
    assert!(said(&other, &own, &Network::Dhcp).2.contains("x86_64"));
}
