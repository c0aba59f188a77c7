//! Translation of the addresses of containers to that of the machine, for what leaves it: a table of nftables, over netlink, so that no program
//! has to be installed (nft(8), "ADDRESS FAMILIES" and "NAT STATEMENTS"; the messages are those of `include/uapi/linux/netfilter/nf_tables.h`).

use anyhow::{Result, anyhow};
use netlink_packet_netfilter::nftables::{
    Bitwise, ChainAttribute, ChainMessage, Cmp, DataAttribute, Expressions, Hook, HookNumber, InetHookNumber,
    Meta, MetaKey, NfTablesMessage, Operator, Payload, Register, RuleAttribute, RuleMessage, TableAttribute,
    TableMessage,
};
use netlink_packet_netfilter::none::ControlMessage;
use netlink_packet_netfilter::{
    NetfilterHeader, NetfilterMessage, NetfilterMessageInner, NetfilterProtoFamily,
};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};
use rtnetlink::packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use std::os::fd::AsRawFd;

use super::{Network, Range};

/// The chain in the table.
const CHAIN: &str = "outside";
/// The priority of translations of sources (`srcnat` in nft(8)).
const PRIORITY: u32 = 100;
/// The verdict for what no rule matches: accept (`include/uapi/linux/netfilter.h`).
const ACCEPT: u32 = 1;
/// The header of the network in a packet, and where an IPv4 header has the source.
const NETWORK_HEADER: u32 = 1;
const SOURCE: u32 = 12;
/// The length of the names of links in the kernel.
const LINK_NAME: usize = 16;
/// The number of nftables among the subsystems of netfilter.
const NFTABLES: u16 = 10;
/// The largest answer in bytes.
const ANSWER: usize = 16 << 10;

/// Makes the table, or makes it anew, in one step.
pub(super) fn make(network: &Network) -> Result<()> {
    let table = network.table();
    // The first one makes the deletion possible.
    let messages = vec![
        NfTablesMessage::NewTable(named(&table)),
        NfTablesMessage::DeleteTable(named(&table)),
        NfTablesMessage::NewTable(named(&table)),
        NfTablesMessage::NewChain(chain(&table)),
        NfTablesMessage::NewRule(rule(network, &table)),
    ];
    perform(messages).map_err(|errno| failed(errno, &table))
}

/// Removes the table, if there is one.
pub(super) fn remove(network: &Network) -> Result<()> {
    let table = network.table();
    match perform(vec![NfTablesMessage::DeleteTable(named(&table))]) {
        // A kernel without nftables has none.
        Ok(()) | Err(Errno::ENOENT | Errno::EOPNOTSUPP | Errno::EPROTONOSUPPORT | Errno::EINVAL) => Ok(()),
        Err(errno) => Err(failed(errno, &table)),
    }
}

/// Makes a table, to find out whether the kernel has everything for it.
pub(super) fn detect() -> Result<()> {
    let network =
        Network { identity: "trial".to_owned(), range: Range { address: [10, 0, 0, 0].into(), length: 24 } };
    make(&network)
}

fn failed(errno: Errno, table: &str) -> anyhow::Error {
    let why = match errno {
        Errno::EPERM => "this process needs the capability CAP_NET_ADMIN",
        Errno::EOPNOTSUPP | Errno::EPROTONOSUPPORT | Errno::EINVAL | Errno::ENOENT => {
            "does the kernel have nftables (modprobe nf_tables nft_masq nft_chain_nat)?"
        }
        _ => "see `nft list ruleset`",
    };
    anyhow!(errno).context(format!(
        "cannot make the table {table} of nftables, with which containers reach the outside: {why}"
    ))
}

fn named(table: &str) -> TableMessage {
    TableMessage { attributes: vec![TableAttribute::Name(table.to_owned())] }
}

fn chain(table: &str) -> ChainMessage {
    let hook = vec![Hook::Number(HookNumber::Inet(InetHookNumber::PostRouting)), Hook::Priority(PRIORITY)];
    let attributes = vec![
        ChainAttribute::Table(table.to_owned()),
        ChainAttribute::Name(CHAIN.to_owned()),
        ChainAttribute::Hook(hook),
        ChainAttribute::Policy(ACCEPT),
        ChainAttribute::Type("nat".to_owned()),
    ];
    ChainMessage { attributes }
}

/// `ip saddr RANGE oifname != BRIDGE masquerade`.
fn rule(network: &Network, table: &str) -> RuleMessage {
    let register = Register::Reg1;
    let value = |bytes: &[u8]| DataAttribute::Value(bytes.to_vec());
    let mut bridge = network.bridge().into_bytes();
    bridge.resize(LINK_NAME, 0);
    let range = network.range;
    let mask = u32::MAX << (32 - u32::from(range.length));
    let expressions = vec![
        Expressions::Payload(vec![
            Payload::DestinationRegister(register),
            Payload::Base(NETWORK_HEADER),
            Payload::Offset(SOURCE),
            Payload::Len(4),
        ]),
        Expressions::Bitwise(vec![
            Bitwise::SourceRegister(register),
            Bitwise::DestinationRegister(register),
            Bitwise::Length(4),
            Bitwise::Mask(value(&mask.to_be_bytes())),
            Bitwise::Xor(value(&[0; 4])),
        ]),
        Expressions::Cmp(vec![
            Cmp::SourceRegister(register),
            Cmp::Op(Operator::Equal),
            Cmp::Data(value(&range.address.octets())),
        ]),
        Expressions::Meta(vec![Meta::Key(MetaKey::Oifname), Meta::DestinationRegister(register)]),
        Expressions::Cmp(vec![
            Cmp::SourceRegister(register),
            Cmp::Op(Operator::NotEqual),
            Cmp::Data(value(&bridge)),
        ]),
        Expressions::Other { expression_type: "masq".to_owned(), attributes: Vec::new() },
    ];
    let attributes = vec![
        RuleAttribute::Table(table.to_owned()),
        RuleAttribute::Chain(CHAIN.to_owned()),
        RuleAttribute::Expressions(expressions.into_iter().map(Into::into).collect()),
    ];
    RuleMessage { attributes }
}

/// Makes all changes or none.
fn perform(messages: Vec<NfTablesMessage>) -> Result<(), Errno> {
    let begin = NetfilterHeader::new(NetfilterProtoFamily::Unspec, 0, NFTABLES);
    let own = || NetfilterHeader::new(NetfilterProtoFamily::IPv4, 0, 0);
    let mut all =
        vec![serialize(begin.clone(), ControlMessage::BatchBegin.into(), NLM_F_REQUEST | NLM_F_ACK, 0)];
    for (number, message) in (1..).zip(messages) {
        all.push(serialize(own(), message.into(), NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, number));
    }
    let last = u32::try_from(all.len()).unwrap_or(u32::MAX);
    all.push(serialize(begin, ControlMessage::BatchEnd.into(), NLM_F_REQUEST, last));
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkNetFilter,
    )?;
    send(socket.as_raw_fd(), &all.concat(), MsgFlags::empty())?;
    // The kernel has answered everything before `send` returns.
    let mut answer = vec![0; ANSWER];
    loop {
        let length = match recv(socket.as_raw_fd(), &mut answer, MsgFlags::MSG_DONTWAIT) {
            Err(Errno::EAGAIN) => return Ok(()),
            length => length?,
        };
        errors(&answer[..length])?;
    }
}

fn serialize(header: NetfilterHeader, message: NetfilterMessageInner, flags: u16, number: u32) -> Vec<u8> {
    let mut netlink = NetlinkHeader::default();
    netlink.flags = flags;
    netlink.sequence_number = number;
    let payload = NetlinkPayload::from(NetfilterMessage::new(header, message));
    let mut message = NetlinkMessage::new(netlink, payload);
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Returns the first error in the answers of the kernel.
fn errors(mut answers: &[u8]) -> Result<(), Errno> {
    const ERROR: u16 = 2;
    while let Ok(message) = NetlinkBuffer::new_checked(answers) {
        let length = usize::try_from(message.length()).unwrap_or(answers.len()).next_multiple_of(4);
        let code = message.payload().get(..4).and_then(|code| code.try_into().ok()).map(i32::from_ne_bytes);
        if let Some(code) = code.filter(|code| message.message_type() == ERROR && *code != 0) {
            return Err(Errno::from_raw(-code));
        }
        answers = answers.get(length..).unwrap_or_default();
    }
    Ok(())
}
