//! The errors that users see when a Redfish service fails.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use bmc::{
    Bmc, BmcAddress, Boot, BootDevice, Credentials, Dependencies, Error, Persistence, Power, PowerAction,
    Result, Verification,
};
use machinery::random::Random;
use netboot_tests::redfish::{Behaviour, Fault, Identity, InMemory, Order, Service, Wire};
use serde_json::json;

const PASSWORD: &str = "correct horse";
const MEDIA: &str = "http://10.0.0.1/boot.iso?token=t0ken";

/// Creates a service at `bmc` (plain HTTP) and at `secure` (with a self-signed certificate).
fn service(behaviour: Behaviour) -> (Arc<Service>, Dependencies, Identity) {
    let service = Service::new(Arc::new(InMemory::default()), behaviour);
    let (wire, identity) = (Wire::default(), Identity::self_signed(&["secure"]));
    wire.add("bmc", service.clone(), None);
    wire.add("secure", service.clone(), Some(identity.clone()));
    (service, Dependencies { network: Arc::new(wire), random: Random::seeded(1) }, identity)
}

fn client(dependencies: &Dependencies, address: BmcAddress, verification: Verification) -> Arc<dyn Bmc> {
    bmc::connect(address, Credentials::new("admin", PASSWORD), verification, dependencies.clone()).unwrap()
}

fn plain(host: &str) -> BmcAddress {
    BmcAddress::parse(&format!("redfish+http://{host}:8000")).unwrap()
}

async fn attempt(bmc: &dyn Bmc, what: &str) -> Result<()> {
    let network = Boot { device: BootDevice::Network, persistence: Persistence::Once, mode: None };
    match what {
        "power" => bmc.power().await.map(drop),
        "on" => bmc.set_power(PowerAction::On).await,
        "boot" => bmc.set_boot(&network).await.map(drop),
        "http boot" => {
            let device = BootDevice::UefiHttp { url: Some(MEDIA.to_owned()) };
            bmc.set_boot(&Boot { device, ..network }).await.map(drop)
        }
        "insert" => bmc.insert_media(MEDIA).await,
        "secure boot" => bmc.set_secure_boot(true).await,
        _ => panic!("{what}"),
    }
}

/// Columns: the operation, method and path of the failing request, the fault, and the error.
type Row = (&'static str, &'static str, &'static str, Fault, String);

const NO: &str = "The service says no, as it was ordered to.";
const SYSTEM: &str = "/redfish/v1/Systems/1";
const RESET: &str = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";

/// Invalid or missing responses.
fn answers() -> Vec<Row> {
    let secret = "check user, password and role in the host's credentials Secret";
    let own = "the controller has a problem of its own: try again, or reset it";
    let get = |fault, text: String| {
        ("power", "GET", "/Systems/1", fault, format!("GET {SYSTEM} at http://bmc:8000: {text}"))
    };
    let reset = |fault, text: String| {
        ("on", "POST", "ComputerSystem.Reset", fault, format!("POST {RESET} at http://bmc:8000: {text}"))
    };
    vec![
        get(
            Fault::Silent,
            "no answer within 60 s; check that the controller is not overloaded or hung".to_owned(),
        ),
        get(Fault::Status(401), format!("status 401: {NO}; {secret}")),
        reset(Fault::Status(403), format!("status 403: {NO}; {secret}")),
        get(Fault::Status(404), format!("status 404: {NO}; check the path in the host's bmc.address")),
        reset(Fault::Status(500), format!("status 500: {NO}; {own}")),
        get(
            Fault::Busy(Some(2)),
            format!("status 503: The service is temporarily unavailable.; {own}"),
        ),
        get(
            Fault::Garbage,
            "not the expected answer: not JSON (expected value at line 1 column 1); check that the address is that of the controller, and its firmware".to_owned(),
        ),
        get(
            Fault::Drop,
            "connection closed before message completed; check the address, and that this machine reaches the controller's network".to_owned(),
        ),
    ]
}

/// Valid but untrue responses.
fn lies() -> Vec<Row> {
    let not_stored = |call: &str, what: &str| {
        format!(
            "{call} at http://bmc:8000: answered that it was done, but it was not stored: {what}; try again, and if it stays so, update the controller's firmware or reset it"
        )
    };
    let boot =
        not_stored(&format!("PATCH {SYSTEM}"), "the boot device is None (Disabled), not network (PXE)");
    let http = not_stored(
        &format!("PATCH {SYSTEM}"),
        "HttpBootUri is another one, not the address that was written",
    );
    let media = not_stored(
        "POST /redfish/v1/Managers/1/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia",
        "the virtual CD is empty, not loaded",
    );
    let secure = not_stored(&format!("PATCH {SYSTEM}/SecureBoot"), "SecureBootEnable is false, not true");
    let other = Fault::Lie("/Boot/HttpBootUri", json!("http://other"));
    vec![
        ("boot", "PATCH", "/Systems/1", Fault::Ignore, boot),
        ("http boot", "GET", "/Systems/1", other, http),
        ("insert", "POST", "InsertMedia", Fault::Ignore, media),
        ("secure boot", "PATCH", "/SecureBoot", Fault::Ignore, secure),
    ]
}

#[tokio::test(start_paused = true)]
async fn each_fault_has_its_error() {
    for (what, method, path, fault, expected) in answers().into_iter().chain(lies()) {
        let (service, dependencies, _) = service(Behaviour::default());
        let bmc = client(&dependencies, plain("bmc"), Verification::Off);
        service.order(Order { method, path, times: usize::MAX, fault: fault.clone() });
        let error = attempt(&*bmc, what).await.unwrap_err();
        assert_eq!(error.to_string(), expected, "{what} {fault:?}");
        // The error disappears with the fault.
        service.clear_orders();
        if fault != Fault::Ignore {
            assert_eq!(attempt(&*bmc, what).await, Ok(()), "{what} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_checked_unless_told_not_to() {
    let (_, dependencies, identity) = service(Behaviour::default());
    let secure = || BmcAddress::parse("redfish://secure").unwrap();
    let trusted = Verification::Authorities(vec![identity.certificate.clone()]);
    let other = Verification::Authorities(vec![Identity::self_signed(&["secure"]).certificate]);
    assert_eq!(client(&dependencies, secure(), Verification::Off).power().await, Ok(Power::Off));
    assert_eq!(client(&dependencies, secure(), trusted).power().await, Ok(Power::Off));
    let error = client(&dependencies, secure(), other).power().await.unwrap_err();
    assert!(matches!(error, Error::Certificate { .. }), "{error:?}");
    assert!(error.to_string().contains("set disableCertificateVerification on the host"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn nobody_there_and_not_redfish_are_told_apart() {
    let (_, dependencies, _) = service(Behaviour::default());
    let nobody = client(&dependencies, plain("nobody"), Verification::Off).power().await.unwrap_err();
    assert_eq!(
        nobody.to_string(),
        "GET /redfish/v1 at http://nobody:8000: cannot connect: connection refused; check the address, and that this machine reaches the controller's network"
    );
    // HTTPS to a service that only supports HTTP.
    let mixed = client(&dependencies, BmcAddress::parse("redfish://bmc").unwrap(), Verification::Off)
        .power()
        .await
        .unwrap_err();
    assert!(mixed.to_string().starts_with("GET /redfish/v1 at https://bmc:443: TLS: "), "{mixed}");
    let path = "/redfish/v1/Systems/2".to_owned();
    let wrong = client(&dependencies, BmcAddress { system: Some(path), ..plain("bmc") }, Verification::Off)
        .power()
        .await
        .unwrap_err();
    assert!(wrong.to_string().ends_with("check the path in the host's bmc.address"), "{wrong}");
}

#[tokio::test(start_paused = true)]
async fn what_a_service_does_not_have_is_unsupported() {
    let (_, dependencies, _) = service(Behaviour { no_http_boot: true, ..Behaviour::default() });
    let bmc = client(&dependencies, plain("bmc"), Verification::Off);
    let error = attempt(&*bmc, "http boot").await.unwrap_err();
    assert!(error.is_unsupported());
    assert_eq!(
        error.to_string(),
        "http://bmc:8000: UEFI HTTP boot is not supported: the service offers only None, Pxe, Cd, Hdd"
    );
}

#[tokio::test(start_paused = true)]
async fn no_password_and_no_token_is_in_any_error() {
    let secrets = [PASSWORD, "YWRtaW46Y29ycmVjdCBob3JzZQ==", "t0ken", "wrong horse"];
    let faults = [Fault::Status(400), Fault::Status(401), Fault::Garbage, Fault::Drop, Fault::Ignore];
    for behaviour in [Behaviour::default(), Behaviour { sessions_only: true, ..Behaviour::default() }] {
        for what in ["power", "on", "boot", "http boot", "insert", "secure boot"] {
            for method in ["GET", "POST", "PATCH"] {
                for fault in &faults {
                    let (service, dependencies, _) = service(behaviour);
                    let bmc = client(&dependencies, plain("bmc"), Verification::Off);
                    service.order(Order { method, path: "", times: usize::MAX, fault: fault.clone() });
                    if let Err(error) = attempt(&*bmc, what).await {
                        let shown = format!("{error} {error:?}");
                        assert!(!secrets.iter().any(|secret| shown.contains(secret)), "{shown}");
                    }
                }
            }
        }
        // A changed password, and a service that repeats the password it received.
        let (service, dependencies, _) = service(behaviour);
        let bmc = client(&dependencies, plain("bmc"), Verification::Off);
        bmc.power().await.unwrap();
        service.set_password("wrong horse");
        let error = bmc.power().await.unwrap_err();
        assert!(error.is_unauthorized());
        let shown = format!("{error} {error:?}");
        assert!(!secrets.iter().any(|secret| shown.contains(secret)), "{shown}");
    }
    // A device that cannot be ejected repeats the URL.
    let (service, dependencies, _) = service(Behaviour::default());
    let bmc = client(&dependencies, plain("bmc"), Verification::Off);
    bmc.insert_media("http://10.0.0.1/old.iso").await.unwrap();
    let empty = Fault::Lie("/Inserted", json!(false));
    service.order(Order { method: "GET", path: "/VirtualMedia/Cd", times: usize::MAX, fault: empty });
    let error = bmc.insert_media(MEDIA).await.unwrap_err().to_string();
    assert!(error.contains("status 409") && error.contains("***") && !error.contains("t0ken"), "{error}");
}
