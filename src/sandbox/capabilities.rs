//! Owns what is left of root's powers in a sandbox: those over files and users, and none over devices, other processes or the kernel.
//!
//! Root may read the memory and environment of any process and make a device of any disk, whatever Landlock says about paths.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Powers that build scripts of a container need and that open no way out of the writable folders.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Drops the powers of the calling thread for good: without new privileges, no program that it starts gets them back.
pub(super) fn drop_powers() -> io::Result<()> {
    let now = capabilities(None)?;
    let left = CapabilitySets {
        effective: now.effective & KEPT,
        permitted: now.permitted & KEPT,
        inheritable: now.inheritable & KEPT,
    };
    if left != now {
        set_capabilities(None, left)?;
    }
    Ok(())
}
