//! `prune`: removes what nobody will restore.

use crate::job::{Image, look};
use crate::{bar, size};
use anyhow::{Context, bail};
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::BTreeSet;
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
    let mut retired: Vec<(PathBuf, u64)> = Vec::new();
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
        let (old, kept) = good.split_at(surplus);
        let needed: BTreeSet<_> = kept.iter().flat_map(|image| bases(image)).collect();
        for image in old {
            let about = (image.path.clone(), image.bytes);
            let name = (image.rank, Incarnation(image.incarnation), image.image);
            if needed.contains(&name) { retired.push(about) } else { removed.push(about) }
        }
        let unneeded = job.grounds.iter().filter(|(id, ..)| {
            Some(id.rank) == good.first().map(|image| image.rank)
                && !needed.contains(&(id.rank, id.incarnation, id.image))
        });
        removed.extend(unneeded.map(|(_, path, bytes)| (path.clone(), *bytes)));
    }
    let bytes = removed.iter().map(|(_, bytes)| bytes).sum();
    if !dry_run {
        let progress = bar(bytes, "removing");
        for (path, bytes) in &removed {
            std::fs::remove_file(path).with_context(|| format!("{}", path.display()))?;
            progress.inc(*bytes);
        }
        progress.finish_and_clear();
        // Newer ones rest on these.
        for (path, _) in &retired {
            std::fs::rename(path, path.with_extension("ground"))
                .with_context(|| format!("{}", path.display()))?;
        }
    }
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

/// What an image rests on.
fn bases(image: &Image) -> impl Iterator<Item = (Rank, Incarnation, ImageNo)> {
    let bases = image.note.iter().flat_map(|note| &note.bases);
    bases.map(|&(incarnation, number)| (image.rank, incarnation, number))
}
