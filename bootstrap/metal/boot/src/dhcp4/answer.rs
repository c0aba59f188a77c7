//! The result of a decision about a message, and the common parts of all answers.

use std::net::{Ipv4Addr, SocketAddrV4};

use agent_protocol::dhcp::{Kind, MacAddress, Packet, options};

use super::link::{CLIENT_PORT, SERVER_PORT};
use crate::client::{Architecture, Program};
use crate::machine::Lease;

/// An answer with its source and destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The message.
    pub packet: Packet,
    /// Its destination.
    pub to: SocketAddrV4,
    /// Its source port.
    pub from: u16,
    /// The largest message that the client accepts, in bytes.
    pub largest: usize,
}

/// The result of a decision about a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The lease to write to the journal before the answer is sent; afterwards it is stored in [`super::leases::Leases`].
    pub lease: Option<Lease>,
    /// The answer, if there is one.
    pub answer: Option<Answer>,
    /// A warning for the operator's log.
    pub warning: Option<String>,
    /// The name of the limit that the message reached, for the metrics.
    pub limit: Option<&'static str>,
}

impl Outcome {
    pub(super) fn warning(text: String) -> Self {
        Self { warning: Some(text), ..Self::default() }
    }
}

/// Returns the warning for a machine that asks for a boot file that does not exist.
pub(super) fn nothing_to_boot(mac: MacAddress, program: Program) -> Option<String> {
    let needed = match program.architecture()? {
        Architecture::Bios => "BIOS needs iPXE: add the folder with undionly.kpxe".to_owned(),
        Architecture::RaspberryPi => "add the folder with the boot loader of Raspberry Pis".to_owned(),
        Architecture::Other(number) => format!("firmware of kind {number} (option 93) is not supported"),
        Architecture::Uefi(processor) | Architecture::UefiHttp(processor) => {
            format!("there is no image for {}: add a kernel", processor.name())
        }
    };
    Some(format!("machine {mac} asks for a boot file, but there is none for it: {needed}"))
}

/// Returns the destination of an answer (RFC 2131, section 4.1): the relay, the address of the client, or broadcast, since a client
/// without an address does not answer ARP.
pub(super) fn destination(request: &Packet, answer: &Packet) -> SocketAddrV4 {
    if !request.relay.is_unspecified() {
        SocketAddrV4::new(request.relay, SERVER_PORT)
    } else if !request.client.is_unspecified() && answer.kind != Kind::Refuse {
        SocketAddrV4::new(request.client, CLIENT_PORT)
    } else {
        SocketAddrV4::new(Ipv4Addr::BROADCAST, CLIENT_PORT)
    }
}

/// Copies the options that an answer must repeat: the client identifier (RFC 6842) and, as the last option, the relay information (RFC
/// 3046).
pub(super) fn echo(request: &Packet, answer: &mut Packet) {
    for code in [options::CLIENT_IDENTIFIER, options::RELAY_INFORMATION] {
        if let Some(value) = request.options.get(code) {
            answer.options.set(code, value);
        }
    }
}
