//! Acknowledged writes survive kills and power failures.

mod kill;
mod power;
mod quiet;
mod server;
