//! The script that iPXE gets.

use agent_protocol::dhcp::MacAddress;
use metal_boot::client::Processor;
use metal_boot::machine::Boot;
use metal_provisioning::http::script::{Server, script};

#[test]
fn the_script_boots_what_the_machine_is_to_boot() {
    let mac = MacAddress([0x52, 0x54, 0, 0, 0, 1]);
    let server = Server {
        http: "http://10.0.0.1:8080",
        https: Some("https://10.0.0.1:8443"),
        has_kernel: true,
        arguments: "console=ttyS0",
        token: Some("0123"),
    };
    let agent = script(mac, Processor::X86_64, &Boot::Agent, &server);
    let kernel = "kernel http://10.0.0.1:8080/boot/kernel/x86_64 initrd=initrd BOOTIF=01-52-54-00-00-00-01 \
        firstlight.server=https://10.0.0.1:8443 firstlight.token=0123 console=ttyS0 || goto again\n";
    assert!(agent.starts_with("#!ipxe\n") && agent.contains(kernel), "{agent}");
    let unified = Server { has_kernel: false, ..server };
    let text = script(mac, Processor::X86_64, &Boot::Agent, &unified);
    assert!(text.contains("kernel http://10.0.0.1:8080/boot/uki/x86_64.efi || goto again\n"), "{text}");
    let disk = script(mac, Processor::X86_64, &Boot::Disk, &unified);
    assert!(disk.contains("sanboot --no-describe --drive 0x80") && disk.ends_with("exit 1\n"), "{disk}");
}
