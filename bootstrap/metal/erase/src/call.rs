//! The system calls, each with memory whose bounds are checked. This is the only module of the workspace with `unsafe` code.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// `NVME_IOCTL_ADMIN_CMD` of `linux/nvme_ioctl.h`: `_IOWR('N', 0x41, struct nvme_admin_cmd)`.
const NVME_ADMIN: u32 = 0xC048_4E41;
/// `SG_IO` of `scsi/sg.h`.
const SG_IO: u32 = 0x2285;
/// `SG_DXFER_NONE`, `SG_DXFER_TO_DEV`, `SG_DXFER_FROM_DEV`.
const SG_NONE: i32 = -1;
const SG_TO_DEVICE: i32 = -2;
const SG_FROM_DEVICE: i32 = -3;

/// `struct nvme_passthru_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Default)]
struct NvmeCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_and_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_length: u32,
    data_length: u32,
    words_10_to_15: [u32; 6],
    timeout_milliseconds: u32,
    result: u32,
}

/// `struct sg_io_hdr` of `scsi/sg.h`.
#[repr(C)]
struct SgHeader {
    interface: i32,
    direction: i32,
    command_length: u8,
    sense_length: u8,
    vectors: u16,
    data_length: u32,
    data: *mut libc::c_void,
    command: *const u8,
    sense: *mut u8,
    timeout_milliseconds: u32,
    flags: u32,
    pack: i32,
    user: *mut libc::c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    residue: i32,
    duration: u32,
    info: u32,
}

/// The layouts are those of the kernel on 64 bits.
const _: () = {
    assert!(size_of::<NvmeCommand>() == 72);
    assert!(size_of::<NvmeCommand>() == (NVME_ADMIN >> 16 & 0x3fff) as usize);
    assert!(offset_of!(NvmeCommand, namespace) == 4);
    assert!(offset_of!(NvmeCommand, metadata) == 16);
    assert!(offset_of!(NvmeCommand, data) == 24);
    assert!(offset_of!(NvmeCommand, data_length) == 36);
    assert!(offset_of!(NvmeCommand, words_10_to_15) == 40);
    assert!(offset_of!(NvmeCommand, timeout_milliseconds) == 64);
    assert!(size_of::<SgHeader>() == 88);
    assert!(offset_of!(SgHeader, data_length) == 12);
    assert!(offset_of!(SgHeader, data) == 16);
    assert!(offset_of!(SgHeader, sense) == 32);
    assert!(offset_of!(SgHeader, timeout_milliseconds) == 40);
    assert!(offset_of!(SgHeader, status) == 64);
    assert!(offset_of!(SgHeader, host_status) == 68);
    assert!(offset_of!(SgHeader, info) == 80);
};

/// The data of a command.
pub(crate) enum Data<'a> {
    /// No data.
    None,
    /// Data from the device.
    In(&'a mut [u8]),
    /// Data for the device.
    Out(&'a [u8]),
}

/// Sends an NVMe admin command; the device fills `data`. Returns the status of the command: 0 if it succeeded.
pub(crate) fn nvme_admin(
    device: &File,
    (opcode, namespace): (u8, u32),
    words_10_to_15: [u32; 6],
    data: &mut [u8],
    timeout: Duration,
) -> io::Result<u16> {
    let mut command = NvmeCommand {
        opcode,
        namespace,
        // The kernel writes through this address, so its provenance is exposed to the compiler.
        data: if data.is_empty() { 0 } else { data.as_mut_ptr().expose_provenance() as u64 },
        data_length: u32::try_from(data.len()).map_err(io::Error::other)?,
        words_10_to_15,
        timeout_milliseconds: milliseconds(timeout),
        ..NvmeCommand::default()
    };
    // SAFETY: the kernel reads and writes `command`, whose layout is that of its header (its size and places are checked above), and at most
    // `data_length` bytes at `data`, which is borrowed for longer than the call, or nothing. Both are done when the call returns.
    let status = unsafe { libc::ioctl(device.as_raw_fd(), NVME_ADMIN as _, &raw mut command) };
    match u16::try_from(status) {
        Ok(status) => Ok(status),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Sends a SCSI command.
///
/// # Errors
/// Errors of the kernel, and [`io::ErrorKind::Other`] if the device did not carry out the command.
pub(crate) fn scsi(device: &File, command: &[u8; 16], data: Data<'_>, timeout: Duration) -> io::Result<()> {
    let mut sense = [0u8; 64];
    let (direction, address, length) = match data {
        Data::None => (SG_NONE, std::ptr::null_mut(), 0),
        Data::In(bytes) => (SG_FROM_DEVICE, bytes.as_mut_ptr(), bytes.len()),
        // For a transfer to the device the kernel only reads the buffer.
        Data::Out(bytes) => (SG_TO_DEVICE, bytes.as_ptr().cast_mut(), bytes.len()),
    };
    let mut header = SgHeader {
        interface: i32::from(b'S'),
        direction,
        command_length: 16,
        sense_length: 64,
        vectors: 0,
        data_length: u32::try_from(length).map_err(io::Error::other)?,
        data: address.cast(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_milliseconds: milliseconds(timeout),
        flags: 0,
        pack: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_written: 0,
        host_status: 0,
        driver_status: 0,
        residue: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: `header` has the layout of the kernel's header (its size and places are checked above). Its pointers are to `command` (16 bytes), `sense` (64
    // bytes) and the `data_length` bytes of `data`, all borrowed for longer than the call; for `Data::Out` the kernel only reads. There are
    // no vectors, and the call is synchronous.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), SG_IO as _, &raw mut header) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    // The upper half of the driver's status is a hint. The bit 8 means that there is sense data, which a successful command may have,
    // too.
    let driver = header.driver_status & 0x07;
    if header.status != 0 || header.host_status != 0 || driver != 0 {
        return Err(io::Error::other(format!(
            "status {:#04x}, host {:#x}, driver {driver:#x}, sense {}",
            header.status,
            header.host_status,
            text(&sense[..usize::from(header.sense_written).min(sense.len())]),
        )));
    }
    Ok(())
}

fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
