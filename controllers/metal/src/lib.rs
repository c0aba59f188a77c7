//! Bare metal: BareMetalHost, HardwareData and DataImage, and the machines that run the agent.
