//! IPMI 2.0 over LAN (RMCP+). Each call uses its own session, since controllers have few sessions and end them soon.

pub mod cipher;
pub mod commands;
pub mod fru;
pub mod handshake;
pub mod message;
pub mod packet;
mod session;

use futures::future::BoxFuture;
use parking_lot::Mutex;

pub use self::message::read_response;

use self::cipher::Suite;
use self::commands::Control;
use self::fru::Area;
use self::session::{Failure, Session, Transport};
use crate::client::Bmc;
use crate::{
    BmcAddress, Boot, Credentials, Dependencies, Error, FirmwareComponent, Identity, Power, PowerAction,
    Reset, Result, limits,
};

/// The client of an IPMI controller.
pub(crate) struct Ipmi {
    address: BmcAddress,
    credentials: Credentials,
    dependencies: Dependencies,
    /// The cipher suite of the last session.
    suite: Mutex<Option<Suite>>,
    /// Serialises calls, so that there is one session at a time.
    turn: tokio::sync::Mutex<()>,
}

impl Ipmi {
    pub(crate) fn new(
        address: BmcAddress,
        credentials: Credentials,
        dependencies: Dependencies,
    ) -> Result<Self> {
        let too_long = |what: &str, max: usize| {
            Error::Input(format!("the {what} for {} is too long: IPMI carries {max} bytes", address.origin()))
        };
        if credentials.username.len() > limits::IPMI_USERNAME_MAX {
            return Err(too_long("user name", limits::IPMI_USERNAME_MAX));
        }
        if credentials.password().len() > limits::IPMI_PASSWORD_MAX {
            return Err(too_long("password", limits::IPMI_PASSWORD_MAX));
        }
        Ok(Self {
            address,
            credentials,
            dependencies,
            suite: Mutex::new(None),
            turn: tokio::sync::Mutex::new(()),
        })
    }

    /// Opens a session with cipher suite 17, or else with suite 3.
    async fn open(&self) -> Result<Session> {
        let known = *self.suite.lock();
        let suites = known.map_or_else(|| vec![Suite::Sha256, Suite::Sha1], |suite| vec![suite]);
        let mut last = None;
        for suite in suites {
            let transport = Transport::new(&self.dependencies, &self.address).await?;
            if last.is_none() {
                transport.check_version().await?;
            }
            let random = self.dependencies.random.clone();
            match Session::open(transport, random, suite, self.address.privilege_level, &self.credentials)
                .await
            {
                Ok(session) => {
                    *self.suite.lock() = Some(suite);
                    return Ok(session);
                }
                Err(Failure::Suite(error) | Failure::Other(error @ Error::TimedOut { .. })) => {
                    last = Some(error)
                }
                Err(Failure::Other(error)) => return Err(error),
            }
        }
        // The suites of the controller may have changed, so the next call tries both again.
        *self.suite.lock() = None;
        Err(last.unwrap_or_else(|| self.unsupported("the session", "there is no cipher suite")))
    }

    fn unsupported(&self, what: &str, reason: &str) -> Error {
        let (call, what, reason) = (self.address.origin(), what.to_owned(), reason.to_owned());
        Error::Unsupported { call, what, reason }
    }

    async fn control(&self, session: &mut Session, action: PowerAction) -> Result<()> {
        let power = commands::power(&session.ask(&commands::chassis_status()).await?);
        let control = match action {
            PowerAction::On | PowerAction::SoftOff | PowerAction::HardOff
                if action.outcome() == Some(power) =>
            {
                return Ok(());
            }
            PowerAction::Reset(_) if power == Power::Off => Control::Up,
            PowerAction::On => Control::Up,
            PowerAction::SoftOff => Control::SoftDown,
            PowerAction::HardOff => Control::Down,
            PowerAction::Reset(Reset::Hard) => Control::Reset,
            PowerAction::Interrupt => Control::Interrupt,
            PowerAction::Reset(Reset::Soft) => {
                return Err(self.unsupported("soft reset", "IPMI has none; power off softly, then on"));
            }
        };
        session.ask(&commands::chassis_control(control)).await.map(drop)
    }

    async fn choose_boot(&self, session: &mut Session, wanted: &Boot) -> Result<Boot> {
        let Some(flags) = commands::set_boot_flags(wanted) else {
            return Err(
                self.unsupported(&wanted.device.to_string(), "IPMI has no such boot device; use the network")
            );
        };
        for command in commands::before_boot_flags() {
            match session.ask(&command).await {
                Ok(_) | Err(Error::Completion { .. } | Error::Unsupported { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        session.ask(&flags).await?;
        let found = commands::boot(&session.ask(&commands::boot_flags()).await?);
        match found {
            // The mode is not checked: most controllers leave it to the firmware's own settings.
            Some(found) if found.device == wanted.device => Ok(found),
            found => Err(Error::NotStored {
                call: session.call(flags.name),
                what: "the boot device".to_owned(),
                wanted: wanted.device.to_string(),
                found: found.map_or_else(|| "not set".to_owned(), |boot| boot.device.to_string()),
            }),
        }
    }

    async fn read_identity(&self, session: &mut Session) -> Result<Identity> {
        let mut identity = match self.read_fru(session).await {
            Err(Error::Completion { .. } | Error::Unsupported { .. }) => Identity::default(),
            identity => identity?,
        };
        identity.uuid = match session.ask(&commands::system_guid()).await {
            Ok(data) => commands::uuid(&data).unwrap_or_default(),
            Err(Error::Completion { .. } | Error::Unsupported { .. }) => String::new(),
            Err(error) => return Err(error),
        };
        Ok(identity)
    }

    /// Returns the product area of the machine's inventory, or else the board area.
    async fn read_fru(&self, session: &mut Session) -> Result<Identity> {
        let head = read_bytes(session, 0, u16::from(fru::HEAD)).await?;
        for area in [Area::Product, Area::Board] {
            let Some(offset) = area.offset(&head) else { continue };
            let start = read_bytes(session, offset, 2).await?;
            let length = start.get(1).map_or(0, |eights| u16::from(*eights) * 8);
            let bytes = read_bytes(session, offset, length.min(limits::FRU_MAX)).await?;
            if let Some(identity) = area.read(&bytes) {
                return Ok(identity);
            }
        }
        Ok(Identity::default())
    }
}

/// Reads `count` bytes of the inventory, or fewer if it ends earlier.
async fn read_bytes(session: &mut Session, from: u16, count: u16) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    while let Some(left) = usize::from(count).checked_sub(found.len()).filter(|left| *left > 0) {
        let offset = from.saturating_add(u16::try_from(found.len()).unwrap_or(u16::MAX));
        let piece = u8::try_from(left.min(16)).unwrap_or(16);
        let data = session.ask(&commands::read_fru(offset, piece)).await?;
        match data.split_first() {
            Some((_, bytes)) if !bytes.is_empty() => found.extend(bytes.iter().take(left)),
            _ => break,
        }
    }
    Ok(found)
}

/// Opens a session, runs the work in it, and closes it.
macro_rules! in_session {
    ($self:ident, $session:ident, $work:expr) => {
        Box::pin(async move {
            let _turn = $self.turn.lock().await;
            let mut opened = $self.open().await?;
            let $session = &mut opened;
            let done = $work.await;
            opened.close().await;
            done
        })
    };
}

impl Bmc for Ipmi {
    fn power(&self) -> BoxFuture<'_, Result<Power>> {
        in_session!(self, session, async {
            Ok(commands::power(&session.ask(&commands::chassis_status()).await?))
        })
    }

    fn set_power(&self, action: PowerAction) -> BoxFuture<'_, Result<()>> {
        in_session!(self, session, self.control(session, action))
    }

    fn boot(&self) -> BoxFuture<'_, Result<Option<Boot>>> {
        in_session!(self, session, async { Ok(commands::boot(&session.ask(&commands::boot_flags()).await?)) })
    }

    fn set_boot<'a>(&'a self, boot: &'a Boot) -> BoxFuture<'a, Result<Boot>> {
        in_session!(self, session, self.choose_boot(session, boot))
    }

    fn identity(&self) -> BoxFuture<'_, Result<Identity>> {
        in_session!(self, session, self.read_identity(session))
    }

    fn firmware(&self) -> BoxFuture<'_, Result<Vec<FirmwareComponent>>> {
        in_session!(self, session, async {
            let version = commands::firmware_version(&session.ask(&commands::device_id()).await?);
            let component = |version| FirmwareComponent { component: "bmc".to_owned(), version };
            Ok(version.map(component).into_iter().collect())
        })
    }

    fn lacks(&self, what: &str) -> Error {
        self.unsupported(what, "IPMI has nothing like it; use the controller's Redfish address")
    }
}
