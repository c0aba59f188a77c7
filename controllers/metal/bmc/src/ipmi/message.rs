//! IPMI messages (IPMI 2.0, section 13.8) and completion codes (section 5.2).

/// The slave address of the controller.
const CONTROLLER: u8 = 0x20;
/// The address of remote console software.
const CONSOLE: u8 = 0x81;

/// A command with its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The name for error messages.
    pub name: &'static str,
    /// The network function.
    pub function: u8,
    /// The command number.
    pub number: u8,
    /// The command data.
    pub data: Vec<u8>,
}

/// Returns the checksum that makes the sum of the covered bytes zero.
fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)).wrapping_neg()
}

/// Returns a request; `sequence` has six bits.
pub fn request(command: &Command, sequence: u8) -> Vec<u8> {
    let head = [CONTROLLER, command.function << 2];
    let body = [&[CONSOLE, sequence << 2, command.number], &command.data[..]].concat();
    [&head[..], &[checksum(&head)], &body, &[checksum(&body)]].concat()
}

/// Returns the completion code and the data of the answer to a request; `None` if the message is malformed or answers another request.
pub fn read_response(message: &[u8], function: u8, number: u8, sequence: u8) -> Option<(u8, Vec<u8>)> {
    let (head, body) = message.split_at_checked(3)?;
    if checksum(head) != 0 || checksum(body) != 0 {
        return None;
    }
    let is_answer =
        head[1] >> 2 == function | 1 && body.get(1)? >> 2 == sequence & 0x3f && *body.get(2)? == number;
    let data = body.get(4..body.len().checked_sub(1)?).filter(|_| is_answer)?;
    Some((*body.get(3)?, data.to_vec()))
}

/// Returns the meaning of a completion code.
pub(crate) fn meaning(code: u8) -> &'static str {
    match code {
        0x80 => "the parameter is not supported",
        0x81 => "another session is setting it",
        0x82 => "the parameter is read-only",
        0xc0 => "the controller is busy",
        0xc1 => "the controller does not know the command",
        0xc2 => "the controller does not know the command at this unit",
        0xc3 => "the controller ran out of time",
        0xc4 => "the controller ran out of space",
        0xc5 => "the reservation was cancelled",
        0xc6 | 0xc7 => "the request has the wrong length",
        0xc8 => "a field is too long",
        0xc9 => "a parameter is out of its range",
        0xca => "so much data cannot be returned",
        0xcb => "there is no such sensor, record or data",
        0xcc => "a field of the request is invalid",
        0xcd => "the command is illegal for this sensor or record",
        0xce => "no answer could be given",
        0xcf => "the request was a duplicate",
        0xd0..=0xd2 => "the controller is being updated or initialised",
        0xd3 => "the destination is not available",
        0xd4 => "the user's privilege level is too low",
        0xd5 | 0xd6 => "the controller does not do this in its present state",
        _ => "the controller gives no known reason",
    }
}
