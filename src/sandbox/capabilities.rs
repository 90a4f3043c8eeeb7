//! Owns what is left of root's powers in a sandbox: to use files of others, and none over users, devices, other processes or the kernel.
//!
//! Root may read the memory and environment of any process, make a device of any disk and give any file to anybody, whatever Landlock says
//! about paths.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Powers that builds in a container need, where the workspace often belongs to somebody else.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::NET_BIND_SERVICE);

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
