//! Power, boot device and virtual media of machines through their baseboard management controller: Redfish and IPMI 2.0.
