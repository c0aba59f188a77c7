//! The handshake of a session: Open Session and RAKP messages 1 to 4 (IPMI 2.0, sections 13.17 to 13.24).

use super::cipher::{Keys, Suite};
use crate::PrivilegeLevel;

/// The flag that the user is looked up by name only, not by name and privilege.
const NAME_ONLY: u8 = 0x10;

/// The reason why the controller refuses a step (table 13-15), or why its message is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The status code of the controller.
    Status(u8),
    /// The message is malformed.
    Garbage,
    /// The controller's message was not made with this password.
    Password,
}

impl Refusal {
    /// Returns whether another cipher suite may succeed.
    pub(crate) fn is_of_suite(self) -> bool {
        matches!(self, Self::Status(0x04..=0x07 | 0x10..=0x12))
    }

    /// Returns whether user, password or privilege are wrong.
    pub(crate) fn is_of_user(self) -> bool {
        matches!(self, Self::Password | Self::Status(0x09 | 0x0a | 0x0c | 0x0d | 0x0f))
    }

    /// Returns the reason as text.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Garbage => "it cannot be read",
            Self::Password => "the password is wrong",
            Self::Status(code) => match code {
                0x01 => "the controller has no room for another session",
                0x02 | 0x08 => "the controller does not know the session",
                0x04..=0x07 | 0x10 | 0x11 => "the controller has neither cipher suite 17 nor 3",
                0x09 | 0x0a => "the user may not have the privilege level that was asked for",
                0x0b => "the controller has no room for another session of this privilege level",
                0x0c | 0x0d => "there is no such user, or it may not use IPMI over LAN",
                0x0f => "the password is wrong",
                0x12 => "the controller does not take a parameter",
                _ => "the controller gives an unknown reason",
            },
        }
    }
}

/// Returns the Open Session request, which asks for the highest privilege that the user may have.
pub(crate) fn open_request(tag: u8, console: u32, suite: Suite) -> Vec<u8> {
    let mut request = vec![tag, 0, 0, 0];
    request.extend(console.to_le_bytes());
    for (kind, algorithm) in (0u8..).zip(suite.algorithms()) {
        request.extend([kind, 0, 0, 8, algorithm, 0, 0, 0]);
    }
    request
}

/// Returns the controller's session identifier and the suite that it selected; `None` if the payload answers another request.
pub fn read_open(payload: &[u8], tag: u8, console: u32) -> Option<Result<(u32, Suite), Refusal>> {
    check(payload, tag)?;
    let status = *payload.get(1)?;
    if status != 0 {
        return Some(Err(Refusal::Status(status)));
    }
    if number(payload, 4)? != console {
        return None;
    }
    let algorithm = |place: usize| payload.get(12 + 8 * place + 4).map(|byte| byte & 0x3f);
    let read = || Some((number(payload, 8)?, Suite::of([algorithm(0)?, algorithm(1)?, algorithm(2)?])?));
    Some(read().ok_or(Refusal::Garbage))
}

/// The data of both sides from RAKP message 2 on.
pub(crate) struct Exchange {
    pub suite: Suite,
    pub console: u32,
    pub managed: u32,
    pub console_random: [u8; 16],
    pub managed_random: [u8; 16],
    pub guid: [u8; 16],
    pub privilege: PrivilegeLevel,
    pub user: String,
}

/// Returns RAKP message 1.
pub(crate) fn rakp_1(
    tag: u8,
    managed: u32,
    random: [u8; 16],
    privilege: PrivilegeLevel,
    user: &str,
) -> Vec<u8> {
    let length = u8::try_from(user.len()).unwrap_or_default();
    let role = privilege as u8 | NAME_ONLY;
    [&[tag, 0, 0, 0], &managed.to_le_bytes()[..], &random, &[role, 0, 0, length], user.as_bytes()].concat()
}

/// RAKP message 2: the controller's random number, its GUID, its authentication code.
type Rakp2 = ([u8; 16], [u8; 16], Vec<u8>);

/// Parses RAKP message 2; `None` if the payload answers another request.
pub fn read_rakp_2(payload: &[u8], tag: u8, console: u32) -> Option<Result<Rakp2, Refusal>> {
    check(payload, tag)?;
    let status = *payload.get(1)?;
    if status != 0 {
        return Some(Err(Refusal::Status(status)));
    }
    if number(payload, 4)? != console {
        return None;
    }
    let bytes = |from: usize| payload.get(from..from + 16)?.try_into().ok();
    let read = || Some((bytes(8)?, bytes(24)?, payload.get(40..)?.to_vec()));
    Some(read().ok_or(Refusal::Garbage))
}

/// Parses RAKP message 4 and returns its integrity check value; `None` if the payload answers another request.
pub fn read_rakp_4(payload: &[u8], tag: u8, console: u32) -> Option<Result<Vec<u8>, Refusal>> {
    check(payload, tag)?;
    let status = *payload.get(1)?;
    if status != 0 {
        return Some(Err(Refusal::Status(status)));
    }
    (number(payload, 4)? == console).then(|| Ok(payload.get(8..).unwrap_or_default().to_vec()))
}

impl Exchange {
    /// Returns role and user name in the form of the authentication codes.
    fn who(&self) -> Vec<u8> {
        let length = u8::try_from(self.user.len()).unwrap_or_default();
        [&[self.privilege as u8 | NAME_ONLY, length], self.user.as_bytes()].concat()
    }

    /// Returns whether the authentication code of RAKP message 2 matches the password.
    pub(crate) fn is_known(&self, password: &str, code: &[u8]) -> bool {
        let (console, managed) = (self.console.to_le_bytes(), self.managed.to_le_bytes());
        let data =
            [&console[..], &managed, &self.console_random, &self.managed_random, &self.guid, &self.who()];
        let whole = self.suite.sign(password.as_bytes(), b"").len();
        code.len() == whole && self.suite.verify(password.as_bytes(), &data.concat(), code)
    }

    /// Returns RAKP message 3.
    pub(crate) fn rakp_3(&self, tag: u8, password: &str) -> Vec<u8> {
        let data = [&self.managed_random[..], &self.console.to_le_bytes(), &self.who()].concat();
        let code = self.suite.sign(password.as_bytes(), &data);
        [&[tag, 0, 0, 0], &self.managed.to_le_bytes()[..], &code].concat()
    }

    /// Returns the session's keys if the check value of RAKP message 4 shows that the controller has derived the same ones.
    pub(crate) fn keys(&self, password: &str, check: &[u8]) -> Result<Keys, Refusal> {
        let data = [&self.console_random[..], &self.managed_random, &self.who()].concat();
        let integrity_key = self.suite.sign(password.as_bytes(), &data);
        let checked = [&self.console_random[..], &self.managed.to_le_bytes(), &self.guid].concat();
        if check.len() != self.suite.signature_length() || !self.suite.verify(&integrity_key, &checked, check)
        {
            return Err(Refusal::Garbage);
        }
        Ok(Keys::derive(self.suite, &integrity_key))
    }
}

/// Returns `Some` if the payload answers the request with this tag.
fn check(payload: &[u8], tag: u8) -> Option<()> {
    (*payload.first()? == tag).then_some(())
}

fn number(payload: &[u8], from: usize) -> Option<u32> {
    Some(u32::from_le_bytes(payload.get(from..from + 4)?.try_into().ok()?))
}
