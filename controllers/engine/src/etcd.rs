//! The part of etcd's gRPC interface that a control plane needs: members, their health and their leader. This
//! module has messages and framing only; the client is in `kubeadm`, the server of the simulated clusters in
//! `simulated`.
//!
//! Field numbers are those of etcd's `rpc.proto` (package `etcdserverpb`); unused fields are left out.

use prost::Message;
use prost::bytes::{Buf, BufMut, Bytes, BytesMut};

/// Path of `Cluster.MemberList`.
pub const MEMBER_LIST: &str = "/etcdserverpb.Cluster/MemberList";
/// Path of `Cluster.MemberRemove`.
pub const MEMBER_REMOVE: &str = "/etcdserverpb.Cluster/MemberRemove";
/// Path of `Maintenance.Status`.
pub const STATUS: &str = "/etcdserverpb.Maintenance/Status";
/// Path of `Maintenance.MoveLeader`.
pub const MOVE_LEADER: &str = "/etcdserverpb.Maintenance/MoveLeader";
/// Path of `Maintenance.Alarm`.
pub const ALARM: &str = "/etcdserverpb.Maintenance/Alarm";

/// The media type of gRPC.
pub const CONTENT_TYPE: &str = "application/grpc";
/// The trailer with the status code of a call.
pub const GRPC_STATUS: &str = "grpc-status";
/// The trailer with the error message of a failed call, percent-encoded.
pub const GRPC_MESSAGE: &str = "grpc-message";

/// gRPC code: success.
pub const OK: u32 = 0;
/// gRPC code: the entity, for example a member, does not exist.
pub const NOT_FOUND: u32 = 5;
/// gRPC code: the call is not allowed in the present state.
pub const FAILED_PRECONDITION: u32 = 9;
/// gRPC code: the method does not exist.
pub const UNIMPLEMENTED: u32 = 12;
/// gRPC code: an internal failure of the server.
pub const INTERNAL: u32 = 13;
/// gRPC code: temporarily unavailable, for example without a leader; try again.
pub const UNAVAILABLE: u32 = 14;

/// The largest message that is accepted: far more than a list of members needs.
pub const MAX_MESSAGE: usize = 1 << 20;

/// Identifies the cluster and the member that answered.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseHeader {
    /// ID of the cluster.
    #[prost(uint64, tag = "1")]
    pub cluster_id: u64,
    /// ID of the member that answered.
    #[prost(uint64, tag = "2")]
    pub member_id: u64,
    /// Revision of the key-value store.
    #[prost(int64, tag = "3")]
    pub revision: i64,
    /// Raft term.
    #[prost(uint64, tag = "4")]
    pub raft_term: u64,
}

/// A member of the cluster.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Member {
    /// The member's ID.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// The member's name, which kubeadm sets to the node's name; empty until the member has started.
    #[prost(string, tag = "2")]
    pub name: String,
    /// URLs where other members reach it.
    #[prost(string, repeated, tag = "3")]
    pub peer_urls: Vec<String>,
    /// URLs where clients reach it.
    #[prost(string, repeated, tag = "4")]
    pub client_urls: Vec<String>,
    /// Whether the member is a learner without a vote.
    #[prost(bool, tag = "5")]
    pub is_learner: bool,
}

/// Requests the list of members.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct MemberListRequest {
    /// Whether the response must reflect every change acknowledged before.
    #[prost(bool, tag = "1")]
    pub linearizable: bool,
}

/// The list of members.
#[derive(Clone, PartialEq, Message)]
pub struct MemberListResponse {
    /// The cluster and member that answered.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// All members.
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<Member>,
}

/// Requests the removal of a member.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct MemberRemoveRequest {
    /// ID of the member.
    #[prost(uint64, tag = "1")]
    pub id: u64,
}

/// The response to a removal.
#[derive(Clone, PartialEq, Message)]
pub struct MemberRemoveResponse {
    /// The cluster and member that answered.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// The remaining members.
    #[prost(message, repeated, tag = "2")]
    pub members: Vec<Member>,
}

/// Requests the status of the member that receives the call.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct StatusRequest {}

/// The status of one member.
#[derive(Clone, PartialEq, Message)]
pub struct StatusResponse {
    /// The cluster and member that answered.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// etcd's version.
    #[prost(string, tag = "2")]
    pub version: String,
    /// Size of the database on disk in bytes.
    #[prost(int64, tag = "3")]
    pub db_size: i64,
    /// ID of the leader as this member knows it; 0 if there is none.
    #[prost(uint64, tag = "4")]
    pub leader: u64,
    /// Raft's committed index.
    #[prost(uint64, tag = "5")]
    pub raft_index: u64,
    /// Raft's term.
    #[prost(uint64, tag = "6")]
    pub raft_term: u64,
    /// Raft's applied index.
    #[prost(uint64, tag = "7")]
    pub raft_applied_index: u64,
    /// The member's alarms and errors.
    #[prost(string, repeated, tag = "8")]
    pub errors: Vec<String>,
    /// Bytes of the database in use.
    #[prost(int64, tag = "9")]
    pub db_size_in_use: i64,
    /// Whether the member is a learner without a vote.
    #[prost(bool, tag = "10")]
    pub is_learner: bool,
}

/// Requests a transfer of leadership; must be sent to the leader.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct MoveLeaderRequest {
    /// ID of the member that is to lead.
    #[prost(uint64, tag = "1")]
    pub target_id: u64,
}

/// The response to a transfer of leadership.
#[derive(Clone, PartialEq, Message)]
pub struct MoveLeaderResponse {
    /// The cluster and member that answered.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
}

/// The operation on alarms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum AlarmAction {
    /// List alarms.
    Get = 0,
    /// Raise an alarm.
    Activate = 1,
    /// Clear an alarm.
    Deactivate = 2,
}

/// The kinds of alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum AlarmType {
    /// No alarm; in a request, all kinds.
    None = 0,
    /// The database reached its quota.
    NoSpace = 1,
    /// A member's data differ from the others'.
    Corrupt = 2,
}

/// Requests an operation on alarms.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct AlarmRequest {
    /// The operation, an [`AlarmAction`].
    #[prost(enumeration = "AlarmAction", tag = "1")]
    pub action: i32,
    /// ID of the member; 0 for all members.
    #[prost(uint64, tag = "2")]
    pub member_id: u64,
    /// The kind of alarm, an [`AlarmType`].
    #[prost(enumeration = "AlarmType", tag = "3")]
    pub alarm: i32,
}

/// A raised alarm.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct AlarmMember {
    /// ID of the member that raised it.
    #[prost(uint64, tag = "1")]
    pub member_id: u64,
    /// The kind of alarm, an [`AlarmType`].
    #[prost(enumeration = "AlarmType", tag = "2")]
    pub alarm: i32,
}

/// The response with the raised alarms.
#[derive(Clone, PartialEq, Message)]
pub struct AlarmResponse {
    /// The cluster and member that answered.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// All raised alarms.
    #[prost(message, repeated, tag = "2")]
    pub alarms: Vec<AlarmMember>,
}

/// Encodes a message as the body of a unary call: a flag byte (0, not compressed), the length as `u32`, the
/// message.
pub fn frame(message: &impl Message) -> Bytes {
    let mut out = BytesMut::with_capacity(5 + message.encoded_len());
    out.put_u8(0);
    out.put_u32(message.encoded_len() as u32);
    out.put_slice(&message.encode_to_vec());
    out.freeze()
}

/// Decodes the message in the body of a unary call.
///
/// # Errors
/// Says in words why a body that is cut short, compressed, too large or no such message cannot be decoded.
pub fn unframe<M: Message + Default>(mut body: &[u8]) -> Result<M, String> {
    if body.len() < 5 {
        return Err(format!("{} bytes are no gRPC message", body.len()));
    }
    if body.get_u8() != 0 {
        return Err("compressed gRPC messages are not supported".to_owned());
    }
    let length = body.get_u32() as usize;
    if length > MAX_MESSAGE || length != body.len() {
        return Err(format!("a gRPC message of {length} bytes in a body of {}", body.len()));
    }
    M::decode(body).map_err(|error| error.to_string())
}
