//! Determines the size of the machine's memory.

use super::files::Files;

/// The SMBIOS structure type of a memory module (DSP0134, 7.18).
pub const MEMORY_DEVICE: u8 = 17;

/// Returns the installed memory in MiB; if the firmware does not describe it, the memory that the kernel can use.
pub fn mebibytes(files: &Files) -> u64 {
    let built_in = files.bytes("sys/firmware/dmi/tables/DMI").map_or(0, |table| of_modules(&table));
    if built_in > 0 { built_in } else { usable(files) / 1024 }
}

fn usable(files: &Files) -> u64 {
    let text = files.text("proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Returns the sum of the modules in a table of SMBIOS structures, in MiB.
pub fn of_modules(mut table: &[u8]) -> u64 {
    let mut sum = 0;
    while let Some(length) = table.get(1).map(|length| usize::from(*length)).filter(|length| *length >= 4) {
        let Some(structure) = table.get(..length) else { break };
        if structure[0] == MEMORY_DEVICE {
            sum += size(structure);
        }
        // The strings of a structure follow, and end with two zero bytes.
        let Some(text) = table[length..].windows(2).position(|pair| pair == [0, 0]) else { break };
        table = &table[length + text + 2..];
    }
    sum
}

fn size(device: &[u8]) -> u64 {
    let word =
        |at: usize| device.get(at..at + 2).map_or(0, |bytes| u64::from(bytes[0]) | u64::from(bytes[1]) << 8);
    match word(12) {
        0 | 0xffff => 0,
        0x7fff => word(28) | (word(30) & 0x7fff) << 16,
        kibibytes if kibibytes & 0x8000 != 0 => (kibibytes & 0x7fff) / 1024,
        mebibytes => mebibytes,
    }
}
