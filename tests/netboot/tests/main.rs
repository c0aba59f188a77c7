//! Tests of the Redfish test service.

mod redfish;
mod redfish_faults;
