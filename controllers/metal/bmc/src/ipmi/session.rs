//! A session with a controller.

use std::time::Duration;

use machinery::random::Random;

use super::cipher::{BLOCK, Keys, Suite};
use super::commands;
use super::handshake::{self, Exchange, Refusal};
use super::message::{self, Command};
use super::packet::{self, Packet, payload};
use crate::network::Datagrams;
use crate::{BmcAddress, Credentials, Dependencies, Error, PrivilegeLevel, Result, limits};

/// The name in error messages of the step that names the user.
const RAKP_1: &str = "RAKP 1 (which some controllers do not answer when they do not know the user)";

/// The datagrams to a controller.
pub(super) struct Transport {
    wire: Box<dyn Datagrams>,
    origin: String,
}

/// The reason why a session cannot be opened.
pub(super) enum Failure {
    /// The controller requires another cipher suite.
    Suite(Error),
    /// Any other reason.
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl Transport {
    pub(super) async fn new(dependencies: &Dependencies, address: &BmcAddress) -> Result<Self> {
        let origin = address.origin();
        let wire = dependencies.network.datagrams(&address.host, address.port).await.map_err(|error| {
            Error::Unreachable { call: format!("IPMI at {origin}"), reason: error.to_string() }
        })?;
        Ok(Self { wire, origin })
    }

    fn call(&self, name: &str) -> String {
        format!("{name} at {}", self.origin)
    }

    /// Sends the datagrams of `make` until `read` accepts an answer; lost datagrams are repeated.
    async fn exchange<T>(
        &self,
        name: &str,
        mut make: impl FnMut() -> Vec<u8>,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T> {
        let mut waited = Duration::ZERO;
        let mut broken = None;
        for attempt in 0..limits::IPMI_ATTEMPTS {
            let patience = limits::IPMI_TIMEOUT * 2u32.pow(attempt);
            let answering = async {
                self.wire.send(&make()).await?;
                loop {
                    if let Some(answer) = read(&self.wire.receive().await?) {
                        return Ok(answer);
                    }
                }
            };
            match tokio::time::timeout(patience, answering).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => {
                    // The port is closed, perhaps because the controller is starting, so one more attempt is made.
                    let error: std::io::Error = error;
                    let again = broken.replace(error.to_string()).is_some();
                    if again {
                        break;
                    }
                    tokio::time::sleep(patience).await;
                }
                Err(_) => {}
            }
            waited += patience;
        }
        let call = self.call(name);
        Err(match broken {
            Some(reason) => Error::Unreachable { call, reason },
            None => Error::TimedOut { call, after: waited },
        })
    }

    /// Checks that the controller supports IPMI 2.0 sessions.
    pub(super) async fn check_version(&self) -> Result<()> {
        let command = commands::authentication_capabilities();
        let (_, data) = self
            .exchange(
                command.name,
                || packet::plain(&message::request(&command, 0)),
                |datagram| match packet::read(datagram, None)? {
                    Packet::Plain(answer) => {
                        message::read_response(&answer, command.function, command.number, 0)
                    }
                    _ => None,
                },
            )
            .await?;
        if commands::has_version_2(&data) {
            return Ok(());
        }
        let (call, what) = (self.call(command.name), "IPMI 2.0".to_owned());
        let reason = "the controller makes sessions of IPMI 1.5 only, in which passwords can be read: update its firmware, or use Redfish";
        Err(Error::Unsupported { call, what, reason: reason.to_owned() })
    }

    /// Performs one step of the handshake.
    async fn step<T>(
        &self,
        name: &str,
        request: (u8, Vec<u8>),
        answer: u8,
        read: impl Fn(&[u8]) -> Option<Result<T, Refusal>>,
    ) -> Result<T, Failure> {
        let (kind, request) = request;
        let outcome = self
            .exchange(
                name,
                || packet::outside(kind, &request),
                |datagram| match packet::read(datagram, None)? {
                    Packet::Outside(kind, payload) if kind == answer => read(&payload),
                    _ => None,
                },
            )
            .await?;
        outcome.map_err(|refusal| self.refused(name, refusal))
    }

    fn refused(&self, name: &str, refusal: Refusal) -> Failure {
        let (call, meaning) = (self.call(name), refusal.meaning().to_owned());
        if refusal.is_of_suite() {
            return Failure::Suite(Error::Unsupported {
                call,
                what: "the session".to_owned(),
                reason: meaning,
            });
        }
        Failure::Other(if refusal.is_of_user() {
            Error::Unauthorized { call, message: meaning }
        } else {
            Error::Answer { call, reason: meaning }
        })
    }
}

/// An open session, which the caller ends with [`Self::close`].
pub(super) struct Session {
    transport: Transport,
    keys: Keys,
    console: u32,
    managed: u32,
    /// The sequence number of packets; starts at 1.
    sequence: u32,
    /// The sequence number of messages, with six bits.
    message: u8,
    random: Random,
}

impl Session {
    /// Opens a session.
    pub(super) async fn open(
        transport: Transport,
        random: Random,
        suite: Suite,
        privilege: PrivilegeLevel,
        credentials: &Credentials,
    ) -> Result<Self, Failure> {
        let mut bytes = [0; 20];
        random.fill(&mut bytes);
        let (console_random, identifier) = bytes.split_first_chunk::<16>().unwrap_or((&[0; 16], &[]));
        let console_random = *console_random;
        // Zero is not a valid session identifier.
        let console = identifier.iter().fold(0u32, |number, byte| (number << 8) | u32::from(*byte)).max(1);
        let request = (payload::OPEN_REQUEST, handshake::open_request(1, console, suite));
        let opened = |answer: &[u8]| handshake::read_open(answer, 1, console);
        let opening = transport.step("Open Session", request, payload::OPEN_RESPONSE, opened).await;
        let (managed, suite) = opening.map_err(|failure| match failure {
            // Some controllers do not answer a proposal of a suite that they do not support.
            Failure::Other(error @ Error::TimedOut { .. }) => Failure::Suite(error),
            failure => failure,
        })?;

        let (user, password) = (credentials.username.clone(), credentials.password());
        let request = (payload::RAKP_1, handshake::rakp_1(2, managed, console_random, privilege, &user));
        let second = |answer: &[u8]| handshake::read_rakp_2(answer, 2, console);
        let (managed_random, guid, code) = transport.step(RAKP_1, request, payload::RAKP_2, second).await?;
        let exchange =
            Exchange { suite, console, managed, console_random, managed_random, guid, privilege, user };
        if !exchange.is_known(password, &code) {
            return Err(transport.refused(RAKP_1, Refusal::Password));
        }

        let request = (payload::RAKP_3, exchange.rakp_3(3, password));
        let fourth = |answer: &[u8]| handshake::read_rakp_4(answer, 3, console);
        let check = transport.step("RAKP 3", request, payload::RAKP_4, fourth).await?;
        let keys = exchange.keys(password, &check).map_err(|refusal| transport.refused("RAKP 3", refusal))?;
        let mut session = Self { transport, keys, console, managed, sequence: 0, message: 0, random };
        session.ask(&commands::set_privilege(privilege)).await?;
        Ok(session)
    }

    /// Sends a command, and returns the data of its answer. It is repeated while the controller is busy.
    pub(super) async fn ask(&mut self, command: &Command) -> Result<Vec<u8>> {
        for _ in 1..limits::IPMI_ATTEMPTS {
            match self.once(command).await {
                Err(Error::Completion { code: 0xc0, .. }) => tokio::time::sleep(limits::IPMI_TIMEOUT).await,
                answer => return answer,
            }
        }
        self.once(command).await
    }

    async fn once(&mut self, command: &Command) -> Result<Vec<u8>> {
        self.message = (self.message + 1) & 0x3f;
        let (number, keys, managed, console) = (self.message, &self.keys, self.managed, self.console);
        let request = message::request(command, number);
        let (sequence, random) = (&mut self.sequence, &self.random);
        // A repeated request is a new packet with the same message.
        let make = || {
            *sequence = sequence.wrapping_add(1).max(1);
            let mut vector = [0; BLOCK];
            random.fill(&mut vector);
            packet::inside(keys, managed, *sequence, &request, vector)
        };
        let read = |datagram: &[u8]| match packet::read(datagram, Some(keys))? {
            Packet::Inside(session, answer) if session == console => {
                message::read_response(&answer, command.function, command.number, number)
            }
            _ => None,
        };
        let (code, data) = self.transport.exchange(command.name, make, read).await?;
        let (call, meaning) = (self.transport.call(command.name), message::meaning(code));
        match code {
            0 => Ok(data),
            0xd4 => Err(Error::Unauthorized { call, message: meaning.to_owned() }),
            0xc1 | 0xc2 => {
                let (what, reason) = ("the command".to_owned(), meaning.to_owned());
                Err(Error::Unsupported { call, what, reason })
            }
            _ => Err(Error::Completion { call, code, meaning }),
        }
    }

    pub(super) fn call(&self, name: &str) -> String {
        self.transport.call(name)
    }

    /// Ends the session. If that fails, the controller ends it by itself within a minute.
    pub(super) async fn close(mut self) {
        let command = commands::close_session(self.managed);
        drop(tokio::time::timeout(limits::IPMI_TIMEOUT, self.once(&command)).await);
    }
}
