//! A QEMU machine: firmware, a network interface, a disk, a serial console.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::console::Console;
use crate::lab::{BRIDGE, FAR_BRIDGE, Lab};
use crate::lossy;
use crate::monitor::Monitor;

/// The folder of UEFI firmware from Debian's package `ovmf`.
const OVMF: &str = "/usr/share/OVMF";

/// The emulation of several processors. The translated code of a Kubernetes node would not fit the usual 512 MiB.
const MANY: &str = "tcg,thread=multi,tb-size=2048";

/// The firmware of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firmware {
    /// SeaBIOS with iPXE in the network card's ROM.
    Bios,
    /// UEFI with PXE over TFTP.
    UefiPxe,
    /// UEFI with HTTP boot of an EFI program.
    UefiHttp,
    /// Like `UefiHttp`, with Secure Boot: only programs signed with OVMF's test key are started.
    SecureBoot,
}

/// The boot device when the machine is switched on. After a restart by the guest, UEFI uses the order in its
/// own variables, like a machine whose BMC set a one-time network boot; BIOS always tries the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boot {
    /// The network.
    Network,
    /// The disk.
    Disk,
    /// A CD with this image: a file, or a URL from which the machine reads the parts it needs.
    Cd(String),
    /// The firmware's own order.
    Own,
}

/// The configuration of a machine.
#[derive(Clone, Debug)]
pub struct Design {
    /// Name of the machine and of its files.
    pub name: String,
    /// MAC address of the interface.
    pub mac: String,
    /// The firmware.
    pub firmware: Firmware,
    /// Number of processors.
    pub processors: u8,
    /// Memory in MiB. UEFI HTTP boot of an initramfs needs three times its size.
    pub memory: u32,
    /// Size of the disk in bytes.
    pub disk: u64,
    /// Write rate of the disk in bytes per second, to make it slow.
    pub disk_speed: Option<u64>,
    /// Whether the machine is in the other segment.
    pub is_far: bool,
    /// Whether the cable loses and duplicates DHCP messages.
    pub loses_dhcp: bool,
    /// Arguments of QEMU for further devices, separated by spaces.
    pub more: String,
}

/// A machine that can be switched on and off; switched off when dropped.
pub struct Machine {
    design: Design,
    disk: PathBuf,
    variables: Option<PathBuf>,
    tap: String,
    console: Console,
    process: Mutex<Option<Child>>,
}

impl Machine {
    /// Creates the machine with an empty disk, and connects it to the network.
    ///
    /// # Errors
    /// Fails if a file cannot be written, or the firmware is not installed.
    pub async fn new(lab: &Lab, design: Design) -> Result<Self> {
        let disk = lab.file(&format!("{}.disk", design.name));
        std::fs::File::create(&disk)?.set_len(design.disk)?;
        let variables = match design.firmware {
            Firmware::Bios => None,
            Firmware::UefiPxe | Firmware::UefiHttp => Some("OVMF_VARS_4M.fd"),
            Firmware::SecureBoot => Some("OVMF_VARS_4M.snakeoil.fd"),
        };
        let variables = match variables {
            Some(template) => {
                let own = lab.file(&format!("{}.variables", design.name));
                std::fs::copy(Path::new(OVMF).join(template), &own)
                    .context("Debian's package ovmf is needed")?;
                Some(own)
            }
            None => None,
        };
        let console = Console::new(lab.file(&format!("{}.console", design.name)));
        Ok(Self {
            tap: lab.tap(if design.is_far { FAR_BRIDGE } else { BRIDGE }).await?,
            disk,
            variables,
            console,
            design,
            process: Mutex::new(None),
        })
    }

    /// Returns the configuration.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Returns the path of the disk's file.
    pub fn disk(&self) -> &Path {
        &self.disk
    }

    /// Returns the console.
    pub fn console(&self) -> &Console {
        &self.console
    }

    /// Switches the machine on, unless it is on.
    ///
    /// # Errors
    /// Fails if QEMU is not installed or does not start.
    pub async fn power_on(&self, boot: &Boot) -> Result<()> {
        if self.is_on() {
            return Ok(());
        }
        let socket = self.console.path().with_extension("monitor");
        let _ = std::fs::remove_file(&socket);
        let errors = std::fs::File::create(self.console.path().with_extension("qemu"))?;
        let process = Command::new("qemu-system-x86_64")
            .args(self.arguments(boot))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .context("Debian's package qemu-system-x86 is needed")?;
        *self.process.lock() = Some(process);
        if self.design.loses_dhcp {
            lossy::carry(self.console.path()).await?;
        }
        self.let_firmware_choose_next_time(&socket, boot).await.with_context(|| {
            let errors = self.console.path().with_extension("qemu");
            format!("QEMU did not start: {}", std::fs::read_to_string(errors).unwrap_or_default())
        })
    }

    /// Restores the firmware's own boot order for later starts; QEMU's setting would otherwise apply at each
    /// reset.
    async fn let_firmware_choose_next_time(&self, socket: &Path, boot: &Boot) -> Result<()> {
        let device = match boot {
            _ if self.design.firmware == Firmware::Bios => return Ok(()),
            Boot::Network => "nic",
            Boot::Disk => "disk0",
            Boot::Cd(_) => "cd0",
            Boot::Own => return Ok(()),
        };
        let mut monitor = Monitor::connect(socket).await?;
        let path = format!("/machine/peripheral/{device}");
        monitor.ask("qom-set", json!({"path": path, "property": "bootindex", "value": -1})).await?;
        Ok(())
    }

    /// Removes the CD from a machine that was started from one.
    ///
    /// # Errors
    /// Fails if the machine has no CD.
    pub async fn eject(&self) -> Result<()> {
        let mut monitor = Monitor::connect(&self.console.path().with_extension("monitor")).await?;
        monitor.ask("eject", json!({"id": "cd0", "force": true})).await?;
        Ok(())
    }

    /// Cuts the power.
    pub async fn power_off(&self) {
        let process = self.process.lock().take();
        if let Some(mut process) = process {
            let _ = process.kill().await;
        }
    }

    /// Returns whether the machine is on; a machine may switch itself off.
    pub fn is_on(&self) -> bool {
        let mut process = self.process.lock();
        let runs = process.as_mut().is_some_and(|process| matches!(process.try_wait(), Ok(None)));
        if !runs {
            *process = None;
        }
        runs
    }

    fn arguments(&self, boot: &Boot) -> Vec<String> {
        let Design { name, mac, firmware, processors, memory, disk_speed, .. } = &self.design;
        let order = |device: &Boot, otherwise: &'static str| {
            let first = std::mem::discriminant(device) == std::mem::discriminant(boot);
            if first { ",bootindex=1" } else { otherwise }
        };
        let is_bios = *firmware == Firmware::Bios;
        // BIOS has no boot order of its own.
        let network = order(&Boot::Network, if is_bios { ",bootindex=2" } else { "" });
        let disk = order(&Boot::Disk, if is_bios { ",bootindex=3" } else { "" });
        let secure = *firmware == Firmware::SecureBoot;
        let machine = if secure { "q35,smm=on" } else { "q35" };
        let (accelerator, more, clock) =
            if *processors > 1 { (MANY, ",la57=off", ",hpet=off") } else { ("tcg", "", "") };
        let mut text = format!(
            "-name {name} -machine {machine}{clock} -accel {accelerator} -cpu max{more} -smp {processors} -m {memory} -display none -nodefaults -no-user-config \
             -smbios type=1,manufacturer=Firstlight,product=Virtual,serial=serial-{name} \
             -chardev file,id=console,path={console},append=on -serial chardev:console \
             -qmp unix:{monitor},server=on,wait=off \
             -netdev tap,id=network,ifname={tap},script=no,downscript=no \
             -device virtio-net-pci,id=nic,netdev=network,mac={mac}{network}{rom} \
             -drive if=none,id=disk,format=raw,cache=unsafe,file={file}{speed} \
             -device virtio-blk-pci,id=disk0,drive=disk,serial=disk-{name}{disk} \
             -object rng-random,id=random,filename=/dev/urandom -device virtio-rng-pci,rng=random",
            // Without this, QEMU's iPXE ROM takes precedence over the firmware's network boot.
            rom = if is_bios { "" } else { ",romfile=" },
            console = self.console.path().display(),
            monitor = self.console.path().with_extension("monitor").display(),
            tap = self.tap,
            file = self.disk.display(),
            speed = disk_speed.map(|bytes| format!(",throttling.bps-write={bytes}")).unwrap_or_default(),
        );
        if let Boot::Cd(image) = boot {
            text += &format!(
                " -drive if=none,id=cd,format=raw,media=cdrom,readonly=on,file={image} -device ide-cd,id=cd0,drive=cd,bootindex=1"
            );
        }
        text += " ";
        text += &self.design.more;
        if self.design.loses_dhcp {
            text += &lossy::arguments(self.console.path());
        }
        if let Some(variables) = &self.variables {
            let code = if secure { "OVMF_CODE_4M.secboot.fd" } else { "OVMF_CODE_4M.fd" };
            text += &format!(
                " -drive if=pflash,format=raw,unit=0,readonly=on,file={OVMF}/{code} -drive if=pflash,format=raw,unit=1,file={}",
                variables.display()
            );
        }
        if secure {
            text += " -global driver=cfi.pflash01,property=secure,value=on";
        }
        let version = if *firmware == Firmware::UefiPxe { "6" } else { "46" };
        for family in version.chars().filter(|_| !is_bios) {
            text += &format!(" -fw_cfg name=opt/org.tianocore/IPv{family}PXESupport,string=n");
        }
        text.split_whitespace().map(str::to_owned).collect()
    }
}
