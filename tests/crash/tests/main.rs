//! Acknowledged writes survive kills and power failures.

mod files;
mod kill;
mod power;
mod quiet;
mod server;
