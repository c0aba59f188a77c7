//! Tests of the program's commands, each with its own server.

mod apply;
mod backup;
mod bundle;
mod class;
mod classes;
mod confirmation;
mod credentials;
mod detach;
mod diagnostics;
mod features;
mod image;
mod ipam;
mod leader_election;
mod metal;
mod picture;
mod place;
mod plan;
mod pods;
mod providers;
mod proxies;
mod replicas;
mod state;
mod terminal;
mod undo;
mod versions;
mod webhooks;
