//! For which architecture a program is.

/// The bytes at the beginning of a program that [`foreign`] reads.
pub const HEADER: usize = 20;

/// The number of an architecture in the header of a program (elf(5), `e_machine`), and the names of those that images are made for.
const MACHINES: [(u16, &str); 4] = [(62, "x86_64"), (183, "aarch64"), (243, "riscv64"), (22, "s390x")];

/// Returns the architecture of the program that begins with these bytes if it is not that of this machine. A script has none.
pub fn foreign(header: &[u8; HEADER]) -> Option<String> {
    if header[..4] != *b"\x7fELF" {
        return None;
    }
    let bytes = [header[18], header[19]];
    // The sixth byte says in which order they are.
    let number = if header[5] == 2 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    let name = MACHINES.iter().find(|(machine, _)| *machine == number).map(|(_, name)| *name);
    match name {
        Some(name) if name == std::env::consts::ARCH => None,
        Some(name) => Some(name.to_owned()),
        None => Some(format!("number {number}")),
    }
}
