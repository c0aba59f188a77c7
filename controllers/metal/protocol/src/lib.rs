//! What an agent and its server say to each other: JSON over HTTPS, with the agent's own certificate.
//!
//! | request | body | answer |
//! |---|---|---|
//! | `POST /agent/v1/challenge` | [`Endorsement`] without a proof | [`Challenge`], for machines with a TPM |
//! | `POST /agent/v1/enrol` | [`Enrolment`] | [`Enrolled`]; 403 when the server does not let this machine in |
//! | `GET /agent/v1/instruction?after=ID` | | [`Instruction`] with another id than `ID`, or 204 when there is none for 30 s |
//! | `POST /agent/v1/report` | [`Report`] | 204 |
//! | `GET /agent/v1/config-drive` | | the files of the configuration drive, [`ConfigDrive`]; 404 when the host has none |
//!
//! A machine with a TPM shows its endorsement key and proves that it has it, each time that it enrols: the server pins the key at the first
//! contact, and what shows another one, or none, is not that machine.
//! The certificate of the first enrolment is the machine's for as long as it runs: the server lets nobody else speak for it. An agent
//! enrols again with the same certificate whenever the server answers 401 (a server that was started anew).
//!
//! Below both sides: the agent, and the controllers that tell it what to do. [`Action`] is the one list of what an agent can be told.

mod configuration;
mod enrolment;
mod hexadecimal;
mod instruction;
mod report;

pub use configuration::Configuration;
pub use enrolment::{Challenge, Endorsement, Enrolled, Enrolment};
pub use hexadecimal::{from_hexadecimal, hexadecimal};
pub use instruction::{Action, Deployment, Erase, Image, Instruction, RootDeviceHints};
pub use report::{ConfigDrive, Progress, Report, State};
