//! Tests the IPMI client against sessions that were recorded with other implementations. The client must send the recorded bytes (its
//! random numbers come from the same seed), so the recorded answers fit.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};

use bmc::network::{Datagrams, Network};
use bmc::{
    Bmc, BmcAddress, Boot, BootDevice, Credentials, Dependencies, Error, Persistence, Power, PowerAction,
    Result, Verification,
};
use futures::future::BoxFuture;
use machinery::random::Random;
use net::{BoxStream, Dial};

/// The seed of the random numbers in the recordings.
const SEED: u64 = 7;

/// A fault of the simulated network.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Each answer outside of a session is lost once, so its request is repeated.
    Lost,
    /// Each answer arrives twice, preceded by garbage.
    Twice,
}

/// A recording: lines of `> request` and `< answer`, in hexadecimal.
struct Replay {
    lines: Mutex<VecDeque<(bool, Vec<u8>)>>,
    answers: Mutex<VecDeque<Vec<u8>>>,
    /// The last request, if its answer was lost.
    lost: Mutex<Option<Vec<u8>>>,
    fault: Fault,
}

struct Side(Arc<Replay>);

impl Dial for Side {
    fn dial<'a>(&'a self, _host: &'a str, _port: u16) -> BoxFuture<'a, io::Result<BoxStream>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }
}

impl Network for Side {
    fn datagrams<'a>(&'a self, _host: &'a str, _port: u16) -> BoxFuture<'a, io::Result<Box<dyn Datagrams>>> {
        Box::pin(async { Ok(Box::new(Side(self.0.clone())) as Box<dyn Datagrams>) })
    }

    fn broadcast<'a>(&'a self, _: &'a str, _: u16, _: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }
}

impl Datagrams for Side {
    fn send<'a>(&'a self, datagram: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let replay = &self.0;
            // Outside of a session a repeated request is identical; inside it is a new packet, so a recording cannot contain a loss.
            let outside = datagram[4] == 0 || datagram[5] & 0x80 == 0;
            let mut lost = replay.lost.lock().unwrap();
            let again = lost.take();
            if again.is_none() && replay.fault == Fault::Lost && outside {
                *lost = Some(datagram.to_vec());
                return Ok(());
            }
            assert!(again.is_none_or(|before| before == datagram), "another request instead of the same");
            let mut lines = replay.lines.lock().unwrap();
            let (sent, expected) = lines.pop_front().unwrap();
            assert!(sent && expected == datagram, "not what was recorded: {datagram:02x?}");
            let mut answers = replay.answers.lock().unwrap();
            while lines.front().is_some_and(|(sent, _)| !sent) {
                let (_, answer) = lines.pop_front().unwrap();
                if replay.fault == Fault::Twice {
                    answers.extend([
                        b"garbage".to_vec(),
                        answer[..answer.len() - 1].to_vec(),
                        answer.clone(),
                    ]);
                }
                answers.push_back(answer);
            }
            Ok(())
        })
    }

    fn receive(&self) -> BoxFuture<'_, io::Result<Vec<u8>>> {
        Box::pin(async {
            let next = self.0.answers.lock().unwrap().pop_front();
            match next {
                Some(answer) => Ok(answer),
                None => std::future::pending().await,
            }
        })
    }
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    (0..hexadecimal.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).unwrap())
        .collect()
}

fn replay(recording: &str, password: &str, fault: Fault) -> (Arc<dyn Bmc>, Arc<Replay>) {
    let lines = recording.lines().map(|line| (line.starts_with('>'), bytes(&line[2..]))).collect();
    let replay = Arc::new(Replay {
        lines: Mutex::new(lines),
        answers: Mutex::default(),
        lost: Mutex::default(),
        fault,
    });
    let dependencies = Dependencies { network: Arc::new(Side(replay.clone())), random: Random::seeded(SEED) };
    let bmc = bmc::connect(
        BmcAddress::parse("ipmi://10.0.0.7").unwrap(),
        Credentials::new("admin", password),
        Verification::Machine,
        dependencies,
    );
    (bmc.unwrap(), replay)
}

fn boot(device: BootDevice, persistence: Persistence) -> Boot {
    Boot { device, persistence, mode: None }
}

/// pyghmi 1.6, the library of virtualbmc: it uses cipher suite 3, whatever is proposed, and has no persistent boot device.
#[tokio::test(start_paused = true)]
async fn a_session_of_suite_3() {
    for fault in [Fault::None, Fault::Lost, Fault::Twice] {
        let (bmc, replay) = replay(include_str!("recorded/pyghmi.txt"), "password", fault);
        assert_eq!(bmc.power().await, Ok(Power::Off));
        bmc.set_power(PowerAction::On).await.unwrap();
        assert_eq!(bmc.power().await, Ok(Power::On));
        let network = boot(BootDevice::Network, Persistence::Once);
        assert_eq!(bmc.set_boot(&network).await.unwrap().device, BootDevice::Network);
        assert_eq!(bmc.boot().await.unwrap().unwrap().device, BootDevice::Network);
        let stored = bmc.set_boot(&boot(BootDevice::Disk, Persistence::Always)).await.unwrap();
        assert_eq!((stored.device, stored.persistence), (BootDevice::Disk, Persistence::Once));
        bmc.identity().await.unwrap();
        assert_eq!(bmc.firmware().await.unwrap()[0].version, "1.00");
        bmc.set_power(PowerAction::HardOff).await.unwrap();
        assert_eq!(bmc.power().await, Ok(Power::Off));
        assert!(replay.lines.lock().unwrap().is_empty());
    }
}

/// The same session with HMAC-SHA256 instead of HMAC-SHA1, verified with ipmitool's `-C 17`.
#[tokio::test(start_paused = true)]
async fn a_session_of_suite_17() {
    let (bmc, replay) = replay(include_str!("recorded/suite-17.txt"), "password", Fault::None);
    bmc.set_power(PowerAction::On).await.unwrap();
    assert_eq!(bmc.power().await, Ok(Power::On));
    bmc.set_power(PowerAction::HardOff).await.unwrap();
    assert!(replay.lines.lock().unwrap().is_empty());
}

/// OpenIPMI's ipmi_sim 2.0.33, which stores the boot device but marks it as invalid.
#[tokio::test(start_paused = true)]
async fn a_boot_device_that_is_not_valid_is_not_stored() {
    let (bmc, replay) = replay(include_str!("recorded/ipmi_sim.txt"), "password", Fault::None);
    assert_eq!(bmc.power().await, Ok(Power::Off));
    bmc.set_power(PowerAction::On).await.unwrap();
    assert_eq!(bmc.power().await, Ok(Power::On));
    let error = bmc.set_boot(&boot(BootDevice::Network, Persistence::Once)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Set System Boot Options at ipmi://10.0.0.7:623: answered that it was done, but it was not stored: the boot device is not set, not network (PXE); try again, and if it stays so, update the controller's firmware or reset it"
    );
    assert_eq!(bmc.boot().await, Ok(None));
    bmc.set_boot(&boot(BootDevice::Disk, Persistence::Always)).await.unwrap_err();
    assert_eq!(bmc.identity().await.unwrap().uuid, "674523a1-ab89-efcd-a123-456789abcdef");
    assert_eq!(bmc.firmware().await.unwrap()[0].version, "9.08");
    bmc.set_power(PowerAction::HardOff).await.unwrap();
    assert_eq!(bmc.power().await, Ok(Power::Off));
    assert!(replay.lines.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_noticed_before_anything_is_sent_with_it() {
    let (bmc, _) = replay(include_str!("recorded/pyghmi.txt"), "wrong horse", Fault::None);
    let error = bmc.power().await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    assert!(error.to_string().contains("the password is wrong; check user, password and role"), "{error}");
    assert!(!format!("{error:?}").contains("horse"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_silent_is_given_up() {
    let silent = "> 0600ff07000000000000000000092018c88100388e04b5\n".repeat(4);
    let (bmc, replay) = replay(&silent, "password", Fault::None);
    let error = bmc.power().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Get Channel Authentication Capabilities at ipmi://10.0.0.7:623: no answer within 15 s; check that the controller is not overloaded or hung"
    );
    assert!(replay.lines.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_ipmi_does_not_have_is_said_without_asking() {
    let (bmc, _) = replay("", "password", Fault::None);
    let unsupported = |result: Result<()>| {
        let error = result.unwrap_err();
        assert!(error.is_unsupported(), "{error}");
        error.to_string()
    };
    let text = unsupported(bmc.insert_media("http://10.0.0.1/a.iso").await);
    assert_eq!(
        text,
        "ipmi://10.0.0.7:623: virtual media is not supported: IPMI has nothing like it; use the controller's Redfish address"
    );
    unsupported(bmc.set_secure_boot(true).await);
    unsupported(bmc.settings().await.map(drop));
}

#[test]
fn credentials_that_ipmi_cannot_carry_are_refused() {
    for (user, password) in [("admin", "a password of 21 byte"), ("a name of 17 byte", "password")] {
        let credentials = Credentials::new(user, password);
        let made = bmc::connect(
            BmcAddress::parse("ipmi://10.0.0.7").unwrap(),
            credentials,
            Verification::Machine,
            Dependencies::system(Vec::new()),
        );
        let Err(Error::Input(text)) = made.map(drop) else { panic!("{user} was taken") };
        assert!(text.contains("too long") && !text.contains(password), "{text}");
    }
}
