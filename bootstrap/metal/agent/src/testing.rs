//! For the tests of this workspace; not part of the API. Its modules are parts of those with the same names.
#![allow(missing_docs, reason = "the modules whose parts these are say it")]

pub use crate::clean::{Samples, clean};
pub use crate::deploy::checksum::Checksum;
pub use crate::deploy::download::{Fetched, Source};
pub use crate::deploy::summed::Pieces;
pub use crate::deploy::{Image, Order, write};
pub use crate::devices::added;
pub use crate::disk::{BlockDevice, Disk};
pub use crate::inventory::addresses::{by_path, is_pci};
pub use crate::inventory::disks::disks;
pub use crate::inventory::memory::{MEMORY_DEVICE, of_modules};
pub use crate::inventory::{Known, inventory, is_virtual};
pub use crate::journal::{Journal, LINES_MAX};
pub use crate::machine::Arguments;
pub use crate::modules::Tried;
pub use crate::network::{Links, interfaces, read_mac};
pub use crate::server::https;
pub use crate::server::trust::{AnyTime, authorities, image_client_config};
pub use crate::tpm::{Tpm, wire::answer};
pub use crate::work::progress::Reporter;

pub mod config_drive {
    pub use crate::deploy::config_drive::{BYTES_MAX, LABEL, build};
}

pub mod decode {
    pub use crate::deploy::decode::{Format, Peeked, content, format, is_compressed};
}

pub mod erase {
    pub use crate::erase::{ATA, Telling, by_itself, of_nvme};
}

pub mod firmware {
    pub use crate::firmware::{ATTRIBUTES, DESCRIPTION, Firmware, utf16};
}

pub mod hints {
    pub use crate::deploy::hints::{GIBIBYTE, SIZE_MIN, choose};
}

pub mod lease {
    pub use crate::network::lease::{Request, read};
}

pub mod lldp {
    pub use crate::network::lldp::message::{
        CHASSIS, END, IEEE_802_1, Neighbour, OF_ORGANISATION, PORT, SYSTEM_NAME, TIME_TO_LIVE,
    };
    pub use crate::network::lldp::{Neighbours, PERIOD, WAIT_MAX};
}

pub mod partitions {
    pub use crate::deploy::partitions::{
        BASIC_DATA, Completed, EFI_SYSTEM, EfiSystem, HEADER, MBR_FAT, MBR_GPT, SIGNATURE, Table, complete,
        number,
    };
}

pub mod qcow2 {
    pub use crate::deploy::qcow2::{ALL_ZEROS, COMPRESSED, FEATURE_COMPRESSION, Map};
}

pub mod target {
    pub use crate::deploy::target::{END, Ends, FIRST, Target};
}
