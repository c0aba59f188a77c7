//! The stand-in for a Redfish service.

mod redfish;
mod redfish_faults;
