//! Messages between the server and its helper, with open files.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result, ensure};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::limits;

/// The most open files in one message.
const FILES: usize = 4;

/// What the server wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// A new network with this address. The answer has the network, its device, a listener, and without root's rights the user namespace.
    Network(Ipv4Addr),
    /// A TCP socket in the network that comes with the request.
    Socket,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reply {
    /// The files are in the message.
    Done,
    /// What went wrong.
    Failed(String),
}

/// Sends a message with at most one file.
pub(super) fn send(socket: &OwnedFd, message: &impl Serialize, file: Option<&OwnedFd>) -> Result<()> {
    let files: Vec<RawFd> = file.iter().map(|file| file.as_raw_fd()).collect();
    send_with(socket, message, &files)
}

/// Sends a message with these files, which stay open until it returns. The device of a network has no safer name than its number.
pub(super) fn send_with(socket: &OwnedFd, message: &impl Serialize, files: &[RawFd]) -> Result<()> {
    let text = serde_json::to_vec(message)?;
    let control = [ControlMessage::ScmRights(files)];
    let control = if files.is_empty() { &[] } else { control.as_slice() };
    let flags = MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(&text)], control, flags, None)
        .context("cannot send a message about the Pods' networks")?;
    Ok(())
}

/// Waits for a message; `None` if the other side has ended.
pub(super) fn receive<T: DeserializeOwned>(socket: &impl AsFd) -> Result<Option<(T, Vec<OwnedFd>)>> {
    let mut text = vec![0; limits::MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    // None of these files may be open in a program that this process starts.
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(socket, &mut [IoSliceMut::new(&mut text)], &mut control, flags)
    })?;
    let mut files = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = part {
            files.extend(more);
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    ensure!(received.bytes <= text.len(), "a message is too long");
    Ok(Some((serde_json::from_slice(&text[..received.bytes])?, files)))
}
