//! Starting another kernel without the firmware.

use std::ffi::CStr;
use std::fs::File;
use std::io;

use crate::call;

/// Loads a kernel, which `reboot(LINUX_REBOOT_CMD_KEXEC)` starts. Where Secure Boot locks the running kernel down it takes signed ones only.
///
/// # Errors
/// The kernel's: it has no kexec, the file is no kernel, or nobody trusts its signature.
pub fn load(kernel: &File, initial: Option<&File>, arguments: &CStr) -> io::Result<()> {
    call::kexec_file_load(kernel, initial, arguments)
}
