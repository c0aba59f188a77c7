//! Which versions the parts of a cluster get.

mod compare;
mod control_plane;
mod facts;
mod plan;
mod upgrades;
mod workers;
