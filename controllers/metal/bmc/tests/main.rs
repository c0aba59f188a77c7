//! Tests of bmc.

mod credentials;
mod ipmi;
mod ipmi_cipher;
mod ipmi_commands;
mod ipmi_fru;
mod ipmi_message;
mod ipmi_packet;
mod reach;
mod redfish_bios;
mod redfish_boot;
mod redfish_inventory;
mod redfish_media;
mod redfish_message;
mod redfish_power;
mod redfish_tasks;
mod redfish_vendor;
mod wake;
