//! Owns what a command may touch: the policy, its enforcement by the kernel, and the truth about what is in force.
//!
//! A thread that enters a sandbox never leaves it, and neither does anything that it starts. Where the kernel offers less than the policy
//! asks for, as much as it offers is used, and [`Restriction`] says so; nothing here decides whether that is enough.

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod seccomp;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a command may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// Folders and files that may be written; absolute. Everything else may be read only.
    pub writable: Vec<PathBuf>,
    /// Folders and files that may not be read; absolute. What lies in a writable folder cannot be hidden.
    pub hidden: Vec<PathBuf>,
    /// Whether there is a network.
    pub network: bool,
    /// The highest level of Landlock that is used, whatever the kernel offers.
    pub landlock: i32,
}

/// The highest level of Landlock that tepa knows what to do with.
pub const LANDLOCK: i32 = 9;

/// What the kernel really enforces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restriction {
    /// The level (ABI) of Landlock in force; 0 for none: nothing is kept from being written.
    pub landlock: i32,
    /// Whether a filter of system calls is in force; without it, nothing is kept from the network.
    pub seccomp: bool,
}

/// How much of a policy is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// All of it.
    Full,
    /// Files and network are confined; some system calls that an older kernel cannot confine are not.
    Partial,
    /// Files or network are not confined.
    None,
}

/// The first level of Landlock that also keeps a command from sending signals to what is outside of its sandbox.
const COMPLETE: i32 = 6;

/// What the filter of system calls is for.
const NETWORK_GAP: &str = "use the network";

impl Restriction {
    /// Returns how much of a policy that amounts to.
    pub fn enforcement(self) -> Enforcement {
        match self {
            Self { landlock: COMPLETE.., seccomp: true } => Enforcement::Full,
            Self { landlock: 1.., seccomp: true } => Enforcement::Partial,
            _ => Enforcement::None,
        }
    }

    /// Says what a command can do in spite of the policy; nothing when all of it is in force.
    pub fn gaps(self) -> Vec<&'static str> {
        let gaps = [
            (self.landlock < 1, "write and read any file"),
            ((1..3).contains(&self.landlock), "truncate any file"),
            ((1..5).contains(&self.landlock), "control devices that it can open"),
            (self.landlock < COMPLETE, "send signals to any process of the user"),
            (!self.seccomp, NETWORK_GAP),
        ];
        gaps.into_iter().filter(|(open, _)| *open).map(|(_, gap)| gap).collect()
    }
}

/// What the commands of a run are confined to, as its records say it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Confinement {
    /// `read-only`, `workspace-write` or `off`.
    pub mode: String,
    /// How much of that is in force.
    pub enforcement: Enforcement,
    /// The level (ABI) of Landlock in force; 0 for none.
    pub landlock: i32,
    /// Whether a filter of system calls is in force.
    pub seccomp: bool,
    /// Whether commands may use the network.
    pub network: bool,
    /// What a command can do although the mode says otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
}

impl Confinement {
    /// Returns that nothing is confined and nobody asked for it.
    pub fn off() -> Self {
        let none = Restriction::default();
        Self { gaps: Vec::new(), network: true, ..Self::of("off", none, true) }
    }

    /// Returns what `restriction` makes of a mode.
    pub fn of(mode: &str, restriction: Restriction, network: bool) -> Self {
        let Restriction { landlock, seccomp } = restriction;
        let gaps = restriction.gaps().into_iter().filter(|gap| !(network && *gap == NETWORK_GAP));
        Self {
            mode: mode.to_owned(),
            enforcement: restriction.enforcement(),
            landlock,
            seccomp,
            network: network || !seccomp,
            gaps: gaps.map(str::to_owned).collect(),
        }
    }
}

/// Why a thread could not enter a sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Powers of root could not be dropped.
    #[error("cannot drop powers of root: {0}")]
    Capabilities(std::io::Error),
    /// Landlock refused.
    #[error("cannot confine files: {0}")]
    Landlock(String),
    /// The filter of system calls was refused.
    #[error("cannot confine system calls: {0}")]
    Seccomp(String),
}

/// Puts the calling thread and all that it will start under `policy`; there is no way back.
///
/// # Errors
/// The kernel offers something and then refuses it. That it offers nothing is not an error but part of the answer.
#[cfg(target_os = "linux")]
pub fn enter(policy: &Policy) -> Result<Restriction, SandboxError> {
    capabilities::drop_powers().map_err(SandboxError::Capabilities)?;
    let landlock = landlock::restrict(policy)?;
    // After Landlock, whose own system calls the filter does not know.
    let seccomp = seccomp::filter(policy.network)?;
    Ok(Restriction { landlock, seccomp })
}

/// Says that there is nothing to enter.
#[cfg(not(target_os = "linux"))]
pub fn enter(_: &Policy) -> Result<Restriction, SandboxError> {
    Ok(Restriction::default())
}

/// Returns what `policy` comes to on this machine, found out by a thread that enters it and ends.
pub fn probe(policy: &Policy) -> Result<Restriction, SandboxError> {
    std::thread::scope(|scope| {
        let entered = scope.spawn(|| enter(policy)).join();
        entered.unwrap_or_else(|_| Err(SandboxError::Landlock("entering it panicked".to_owned())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kernel_that_confines_everything_enforces_in_full() {
        let of = |landlock, seccomp| Restriction { landlock, seccomp };
        assert_eq!(of(7, true).enforcement(), Enforcement::Full);
        assert_eq!(of(6, true).gaps(), Vec::<&str>::new());
        assert_eq!(of(2, true).enforcement(), Enforcement::Partial);
        assert!(of(2, true).gaps().contains(&"truncate any file"));
        for nothing in [of(0, true), of(7, false), Restriction::default()] {
            assert_eq!(nothing.enforcement(), Enforcement::None);
            assert!(!nothing.gaps().is_empty());
        }
    }
}
