//! `prune`: removes what nobody will restore.

use crate::job::look;
use crate::size;
use anyhow::{Context, bail};
use std::fs::{OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

pub fn prune(directory: &Path, keep: usize, dry_run: bool, json: bool) -> anyhow::Result<bool> {
    let path = directory.join("lock");
    // Held to the end: no launcher may begin meanwhile.
    let lock = match OpenOptions::new().read(true).write(true).open(&path) {
        Ok(lock) => Some(lock),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(e).with_context(|| format!("{}", path.display())),
    };
    match lock.as_ref().map(std::fs::File::try_lock) {
        Some(Err(TryLockError::WouldBlock)) => {
            bail!("the job in {} is alive: its servers remove what is old", directory.display())
        }
        Some(Err(TryLockError::Error(e))) => return Err(e.into()),
        Some(Ok(())) | None => {}
    }
    let job = look(directory)?;
    let mut removed: Vec<(PathBuf, u64)> = Vec::new();
    for part in &job.parts {
        removed.push((part.clone(), std::fs::metadata(part).map_or(0, |about| about.len())));
    }
    for images in job.images.values() {
        let (bad, good): (Vec<_>, Vec<_>) =
            images.iter().partition(|image| image.damaged || image.note.is_err());
        // Damage may be all that is left of a rank: then it stays for a closer look.
        if !good.is_empty() {
            removed.extend(bad.iter().map(|image| (image.path.clone(), image.bytes)));
        }
        let surplus = good.len().saturating_sub(keep);
        removed.extend(good[..surplus].iter().map(|image| (image.path.clone(), image.bytes)));
    }
    if !dry_run {
        for (path, _) in &removed {
            std::fs::remove_file(path).with_context(|| format!("{}", path.display()))?;
        }
    }
    let bytes = removed.iter().map(|(_, bytes)| bytes).sum();
    if json {
        let files: Vec<_> = removed.iter().map(|(path, _)| path).collect();
        let all = serde_json::json!({ "removed": files, "bytes": bytes, "dry_run": dry_run });
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        for (path, bytes) in &removed {
            println!("{}  {}", path.display(), size(*bytes));
        }
        let what = if dry_run { "would be removed" } else { "removed" };
        println!("{} files, {}, {what}", removed.len(), size(bytes));
    }
    Ok(true)
}
