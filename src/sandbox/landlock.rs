//! Owns the part of a policy that Landlock enforces: what may be written, what may be read, and no signals to the outside.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope, make_bitflags, path_beneath_rules,
};

use super::{Policy, SandboxError};

/// Devices that hold nothing and that scripts write to.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Device nodes reach past every path: a disk that is made in the workspace holds all files.
const MADE_BY_NOBODY: BitFlags<AccessFs> = make_bitflags!(AccessFs::{MakeChar | MakeBlock});

/// Restricts the calling thread; returns the level in force, 0 where the kernel has no Landlock.
pub(super) fn restrict(policy: &Policy) -> Result<i32, SandboxError> {
    // Nothing to build a ruleset from: the caller asked for none.
    if policy.landlock < 1 {
        return Ok(0);
    }
    apply(policy).map_err(|e| SandboxError::Landlock(e.to_string()))
}

fn apply(policy: &Policy) -> Result<i32, RulesetError> {
    let abi = ABI::from(policy.landlock);
    let all = AccessFs::from_all(abi);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(all)?;
    if policy.landlock >= 6 {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    if policy.landlock >= 4 && !policy.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    let mut hidden: Vec<PathBuf> = policy.hidden.iter().filter_map(|path| path.canonicalize().ok()).collect();
    // Root may read a disk as a whole.
    hidden.push(PathBuf::from("/dev"));
    let (mut whole, mut listed) = (Vec::new(), Vec::new());
    open_around(Path::new("/"), &hidden, &mut whole, &mut listed);
    let status = ruleset
        .create()?
        .add_rules(path_beneath_rules(whole, AccessFs::from_read(abi)))?
        .add_rules(path_beneath_rules(listed, BitFlags::from(AccessFs::ReadDir)))?
        .add_rules(path_beneath_rules(DEVICES, all))?
        .add_rules(path_beneath_rules(&policy.writable, all & !MADE_BY_NOBODY))?
        .restrict_self()?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => (effective_abi as i32).min(policy.landlock),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    })
}

/// Finds what to open so that everything below `folder` can be read but what is `hidden`: rules can only add, so a folder that holds
/// something hidden is opened entry by entry (`whole`) and can itself only be `listed`.
fn open_around(folder: &Path, hidden: &[PathBuf], whole: &mut Vec<PathBuf>, listed: &mut Vec<PathBuf>) {
    if hidden.iter().any(|path| path == folder) {
        return;
    }
    if !hidden.iter().any(|path| path.starts_with(folder)) {
        whole.push(folder.to_owned());
        return;
    }
    listed.push(folder.to_owned());
    // What cannot be listed stays closed. A rule for a link would open what it leads to.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            open_around(&entry.path(), hidden, whole, listed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_opened_but_what_is_hidden() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        for folder in ["ssh/keys", "docs/deep", "conf/cloud", "conf/editor"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("ssh"), root.join("alias")).unwrap();
        let (mut whole, mut listed) = (Vec::new(), Vec::new());
        let hidden = [root.join("ssh"), root.join("conf/cloud")];
        open_around(&root, &hidden, &mut whole, &mut listed);
        whole.sort();
        assert_eq!(whole, [root.join("conf/editor"), root.join("docs")]);
        assert_eq!(listed, [root.clone(), root.join("conf")]);
    }
}
