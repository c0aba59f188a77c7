//! A libvirt machine behind sushy-tools, an independent Redfish implementation.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::process::{Child, Command};

use crate::assets::assets;
use crate::lab::{ADDRESS, BRIDGE, Lab, run};
use crate::machine::Machine;
use crate::wait::until;

/// Port of sushy-tools.
pub(crate) const PORT: u16 = 8000;

/// ID of the machine in libvirt and in the Redfish path.
const ID: &str = "5f1e1d00-0000-4000-8000-000000000010";

/// The URI of the system's libvirt, not of a user's.
const SYSTEM: &str = "qemu:///system";

/// Limit for the start of each program on a loaded machine.
const START: Duration = Duration::from_secs(120);

/// Shell code that makes libvirt's files private to this scenario. A /dev/kvm that can be opened but does not
/// work costs libvirt a minute for each query, so it is replaced by a file that even root cannot open for
/// writing.
const PREPARE: &str = r#"
for folder in /run /etc/libvirt /var/lib/libvirt /var/cache/libvirt /var/log/libvirt; do
  mkdir -p $folder && mount -t tmpfs tmpfs $folder
done
printf 'user = "root"\ngroup = "root"\nsecurity_driver = "none"\nstdio_handler = "file"\nnamespaces = []\nremember_owner = 0\ncgroup_controllers = []\n' \
  > /etc/libvirt/qemu.conf
if [ -e /dev/kvm ]; then
  : > "$0/no-kvm"
  mount --bind "$0/no-kvm" /dev/kvm
  mount -o remount,bind,ro /dev/kvm
fi
"#;

/// Running libvirt and sushy-tools; stopped when dropped.
pub struct Libvirt {
    _processes: [Child; 2],
}

impl Libvirt {
    /// Defines a BIOS machine in libvirt with the disk, address and console of `machine`, which itself stays
    /// off.
    ///
    /// # Errors
    /// Fails without the programs that `tests/netboot/install-tools` installs.
    pub async fn start(lab: &Lab, machine: &Machine) -> Result<Self> {
        let folder = lab.folder().to_str().context("a folder that is text")?;
        run("sh", &["-e", "-c", PREPARE, folder]).await?;
        let log = |name: &str| std::fs::File::create(lab.file(name));
        let daemon = Command::new("libvirtd")
            .stdout(Stdio::null())
            .stderr(log("libvirt.log")?)
            .kill_on_drop(true)
            .spawn()
            .context("Debian's package libvirt-daemon is needed")?;
        let is_up = || async { run("virsh", &["-c", SYSTEM, "list"]).await.ok() };
        until("libvirt", START, is_up).await?;
        let description = lab.file("domain.xml");
        std::fs::write(&description, domain(machine))?;
        let description = description.to_str().context("a path that is text")?;
        run("virsh", &["-c", SYSTEM, "define", description]).await?;

        let configuration = lab.file("sushy.conf");
        let text = format!(
            "SUSHY_EMULATOR_LISTEN_IP = '{ADDRESS}'\nSUSHY_EMULATOR_LISTEN_PORT = {PORT}\n\
             SUSHY_EMULATOR_LIBVIRT_URI = '{SYSTEM}'\nSUSHY_EMULATOR_STATE_DIR = '{folder}'\n"
        );
        std::fs::write(&configuration, text)?;
        let sushy = Command::new(assets().join("../bmcs/bin/sushy-emulator"))
            .arg("--config")
            .arg(&configuration)
            .stdout(Stdio::null())
            .stderr(log("sushy.log")?)
            .kill_on_drop(true)
            .spawn()
            .context("sushy-tools is needed: run tests/netboot/install-tools")?;
        let is_up = || async { tokio::net::TcpStream::connect((ADDRESS, PORT)).await.ok() };
        until("sushy-tools", START, is_up).await?;
        Ok(Self { _processes: [daemon, sushy] })
    }

    /// Returns `spec.bmc.address` of the machine's host.
    pub fn address() -> String {
        format!("redfish+http://{ADDRESS}:{PORT}/redfish/v1/Systems/{ID}")
    }
}

/// Returns the machine's definition. BIOS must be able to boot from the disk even if the machine was started
/// from the network only, since iPXE continues with the disk.
fn domain(machine: &Machine) -> String {
    let (design, disk, console) = (machine.design(), machine.disk(), machine.console().path());
    let path = |path: &Path| path.display().to_string();
    format!(
        "<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>{name}</name><uuid>{ID}</uuid><memory unit='MiB'>{memory}</memory><vcpu>1</vcpu>
         <os><type arch='x86_64' machine='q35'>hvm</type><boot dev='network'/><boot dev='hd'/></os>
         <features><acpi/><apic/></features><cpu mode='maximum'/>
         <devices><emulator>/usr/bin/qemu-system-x86_64</emulator>
         <disk type='file' device='disk'><driver name='qemu' type='raw' cache='unsafe'/>
         <source file='{disk}'/><target dev='vda' bus='virtio'/></disk>
         <interface type='bridge'><mac address='{mac}'/><source bridge='{BRIDGE}'/><model type='virtio'/></interface>
         <serial type='file'><source path='{console}' append='on'/></serial>
         <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng></devices>
         <qemu:commandline><qemu:arg value='-boot'/><qemu:arg value='strict=off'/></qemu:commandline></domain>",
        name = design.name,
        memory = design.memory,
        mac = design.mac,
        disk = path(disk),
        console = path(console),
    )
}
