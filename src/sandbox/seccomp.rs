//! Owns the filter of system calls: no network where the policy has none, and no way into other processes or around the filter.
//!
//! A call that is refused fails with `EPERM`, so that programs can say what they could not do.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

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

/// What changes how any process of the user runs, with the argument that names the process; 0 is the caller itself.
const OF_OTHERS: [(i64, u8); 7] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_migrate_pages, 0),
];

/// What gives a file its rights, with the argument that holds them: a program that runs as its owner is a way out of the sandbox for others.
const RIGHTS: [(i64, u8); 4] =
    [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (libc::SYS_mknodat, 2), (libc::SYS_mkdirat, 2)];

/// The same of the calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
const OLD_RIGHTS: [(i64, u8); 4] =
    [(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1), (libc::SYS_mkdir, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_RIGHTS: [(i64, u8); 0] = [];

/// What opens a file, with the arguments that hold flags and rights; the rights count only where a file is made.
const OPENING: [(i64, u8, u8); 1] = [(libc::SYS_openat, 2, 3)];
#[cfg(target_arch = "x86_64")]
const OLD_OPENING: [(i64, u8, u8); 1] = [(libc::SYS_open, 1, 2)];
#[cfg(not(target_arch = "x86_64"))]
const OLD_OPENING: [(i64, u8, u8); 0] = [];

/// The rights that make a program run as its owner or group.
const AS_OWNER: [u64; 2] = [0o4000, 0o2000];

/// Calls whose arguments a filter cannot see, or that say what the ones above do in another way: as if the kernel had none of them, so that
/// programs take the older call.
const UNSEEN: [i64; 2] = [libc::SYS_openat2, FCHMODAT2];

/// Since Linux 6.6; the number is the same everywhere.
const FCHMODAT2: i64 = 452;

/// The bit of a call by the x32 convention of `x86_64`, which the check of the architecture lets through. None of these calls is made there.
const X32: i64 = 0x4000_0000;

/// Calls of [`ALWAYS`] that have a number of their own in that convention: `ptrace`, `process_vm_readv`, `process_vm_writev`.
const X32_ALWAYS: [i64; 3] = [521, 539, 540];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Puts the calling thread under the filter; returns whether it is in force, which it is not on hardware that the filter has no code for.
pub(super) fn filter(network: bool) -> Result<bool, SandboxError> {
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Ok(false);
    };
    let unseen = UNSEEN.into_iter().map(|call| (call, Vec::new())).collect();
    let refused = refused(network).map_err(|e| SandboxError::Seccomp(e.to_string()))?;
    for (rules, errno) in [(unseen, libc::ENOSYS), (refused, libc::EPERM)] {
        let action = SeccompAction::Errno(errno.unsigned_abs());
        let program: BpfProgram = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)
            .and_then(BpfProgram::try_from)
            .map_err(|e| SandboxError::Seccomp(e.to_string()))?;
        seccompiler::apply_filter(&program).map_err(|e| SandboxError::Seccomp(e.to_string()))?;
    }
    Ok(true)
}

/// Returns the calls that fail, and for which arguments; no rule for a call means for all.
fn refused(network: bool) -> Result<Rules, BackendError> {
    let mut rules = Rules::new();
    let always = ALWAYS.iter().chain(if network { &[][..] } else { &NETWORK });
    rules.extend(always.map(|call| (*call, Vec::new())));
    for (call, process) in OF_OTHERS {
        rules.entry(call).or_default().push(SeccompRule::new(vec![SeccompCondition::new(
            process,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Ne,
            0,
        )?])?);
    }
    for rights in AS_OWNER {
        let set = |argument, bits| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), bits)
        };
        for (call, argument) in RIGHTS.into_iter().chain(OLD_RIGHTS) {
            rules.entry(call).or_default().push(SeccompRule::new(vec![set(argument, rights)?])?);
        }
        for (call, flags, argument) in OPENING.into_iter().chain(OLD_OPENING) {
            let making = u64::from(libc::O_CREAT.unsigned_abs());
            let rule = SeccompRule::new(vec![set(flags, making)?, set(argument, rights)?])?;
            rules.entry(call).or_default().push(rule);
        }
    }
    if cfg!(target_arch = "x86_64") {
        let twins: Vec<i64> = rules.keys().copied().chain(UNSEEN).chain(X32_ALWAYS).collect();
        rules.extend(twins.into_iter().map(|call| (call | X32, Vec::new())));
    }
    Ok(rules)
}
