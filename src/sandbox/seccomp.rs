//! Owns the filter of system calls: no network where the policy has none, and no way into other processes or around the filter.
//!
//! A call that is refused fails with `EPERM`, so that programs can say what they could not do.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

use super::SandboxError;

/// What opens a way to other machines, or to a service of this one that would act for the command: a socket of the local domain reaches
/// container engines, key agents and session buses. Pairs of connected sockets (`socketpair`) reach nobody else and stay.
const NETWORK: [i64; 1] = [libc::SYS_socket];

/// What looks into other processes, changes the kernel, or does other calls' work where a filter cannot see it.
const ALWAYS: [i64; 12] = [
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
];

/// The bit of a call by the x32 convention of `x86_64`, which the check of the architecture lets through.
const X32: i64 = 0x4000_0000;

/// Calls of [`ALWAYS`] that have a number of their own in that convention: `ptrace`, `process_vm_readv`, `process_vm_writev`.
const X32_ALWAYS: [i64; 3] = [521, 539, 540];

/// Puts the calling thread under the filter; returns whether it is in force, which it is not on hardware that the filter has no code for.
pub(super) fn filter(network: bool) -> Result<bool, SandboxError> {
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Ok(false);
    };
    let mut refused = ALWAYS.to_vec();
    if !network {
        refused.extend(NETWORK);
    }
    if cfg!(target_arch = "x86_64") {
        let twins: Vec<i64> = refused.iter().copied().chain(X32_ALWAYS).map(|call| call | X32).collect();
        refused.extend(twins);
    }
    let rules: BTreeMap<i64, Vec<SeccompRule>> = refused.into_iter().map(|call| (call, Vec::new())).collect();
    let action = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let program: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)
        .and_then(BpfProgram::try_from)
        .map_err(|e| SandboxError::Seccomp(e.to_string()))?;
    seccompiler::apply_filter(&program).map_err(|e| SandboxError::Seccomp(e.to_string()))?;
    Ok(true)
}
