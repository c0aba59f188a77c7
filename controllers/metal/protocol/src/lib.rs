//! The protocol between agents and the server: JSON over HTTPS, with a client certificate that the agent makes for itself.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /agent/v1/challenge` | [`Endorsement`] without a proof | [`Challenge`], for machines with a TPM |
//! | `POST /agent/v1/enrol` | [`Enrolment`] | [`Enrolled`]; 403 when the server does not let this machine in |
//! | `GET /agent/v1/instruction?after=ID` | | [`Instruction`] with another id than `ID`, or 204 if there is none for 30 s |
//! | `POST /agent/v1/report` | [`Report`] | 204 |
//! | `GET /agent/v1/config-drive` | | the files of the configuration drive, [`ConfigDrive`]; 404 when the host has none |
//!
//! A machine with a TPM shows its endorsement key and proves that it owns it, each time that it enrols: the server pins the key at the
//! first contact, and refuses a machine with another key or none. The certificate of the first enrolment identifies the machine for as
//! long as it runs: the server accepts no other certificate for it. An agent enrols again with the same certificate whenever the server
//! answers 401 (after a restart of the server).
//!
//! The agent, its server and the controllers use this crate. [`Action`] is the only list of instructions. [`dhcp`] has the messages of
//! DHCP, and [`modules`] and [`Configuration`] what the server writes into the initramfs for the agent.

mod configuration;
pub mod dhcp;
mod enrolment;
mod hexadecimal;
mod instruction;
pub mod modules;
mod report;

pub use configuration::{CONFIGURATION, Configuration};
pub use enrolment::{Challenge, Endorsement, Enrolled, Enrolment};
pub use hexadecimal::{from_hexadecimal, hexadecimal};
pub use instruction::{Action, Deployment, Erase, Image, Instruction, RootDeviceHints};
pub use report::{ConfigDrive, Progress, Report, State};
