//! Images as others make them, and as attackers would.

mod archives;
mod hostile;
mod unpacked;
