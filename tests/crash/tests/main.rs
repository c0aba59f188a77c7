//! Nothing acknowledged is lost: kills, power cuts, and a server at rest.

mod kill;
mod power;
mod quiet;
mod server;
