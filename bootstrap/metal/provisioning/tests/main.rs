//! The services of provisioning as machines see them.

mod agents_admission;
mod agents_drive;
mod agents_endorsement;
mod agents_instruction;
mod agents_reports;
mod agents_waiting;
mod api;
mod asking;
mod bad_input;
mod bootstrap;
mod bootstrap_message;
mod bootstrap_node_registry;
mod bootstrap_report;
mod bootstrap_vendor_data;
mod directory_kube;
mod handover;
mod hostile;
mod http;
mod media;
mod metadata_channel;
mod metadata_data;
mod metadata_service;
mod metadata_tree;
mod personal;
mod registry;
