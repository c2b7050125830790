//! `prune`: removes the files of images that nobody will restore.
//!
//! Guarantees: of each rank the newest `keep` images that are not damaged stay, and can be
//! restored. An incremental image needs chunks of older ones: their files stay as well, under a
//! name that offers them to nobody. Damaged images of a rank that has no other image stay for a
//! closer look.

use crate::job::{Image, Job, look};
use crate::{bar, size};
use anyhow::{Context, bail};
use ftmpi_servers::job_state::JobLock;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A file and its bytes.
type FileBytes = (PathBuf, u64);

/// What becomes of the files of a job.
#[derive(Debug, Default, PartialEq, Eq)]
struct Plan {
    /// Files that are removed.
    removed: Vec<FileBytes>,
    /// Images that are not offered any more, but needed by images that stay.
    retired: Vec<PathBuf>,
    /// Images that stay, over all ranks.
    images: usize,
    /// The most images that a rank keeps.
    most: usize,
    /// Files that stay because images need them.
    needed: Vec<FileBytes>,
}

pub fn prune(directory: &Path, keep: usize, dry_run: bool, json: bool) -> anyhow::Result<bool> {
    // The lock is held to the end: no launcher may start meanwhile.
    let lock = JobLock::try_take(directory)
        .with_context(|| format!("the lock in {}", directory.display()))?;
    if let JobLock::Held(_) = &lock {
        bail!(
            "the job in {} runs; its servers remove old images, prune it when it has ended",
            directory.display()
        );
    }
    let plan = plan(&look(directory)?, keep);
    let bytes = total(&plan.removed);
    if !dry_run {
        carry_out(&plan, bytes)?;
    }
    if json {
        let paths = |files: &[FileBytes]| {
            files.iter().map(|(path, _)| path.display().to_string()).collect()
        };
        let (removed, needed): (Vec<_>, Vec<_>) = (paths(&plan.removed), paths(&plan.needed));
        let all = serde_json::json!({
            "removed": removed, "bytes": bytes, "dry_run": dry_run, "images": plan.images,
            "needed": needed, "needed_bytes": total(&plan.needed),
        });
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        for (path, bytes) in &plan.removed {
            println!("{}  {}", path.display(), size(*bytes));
        }
        println!("{}", summary(&plan, dry_run));
    }
    Ok(true)
}

/// Decides what stays: `keep` images of each rank, and what they need.
fn plan(job: &Job, keep: usize) -> Plan {
    let mut plan = Plan::default();
    for part in &job.parts {
        let bytes = std::fs::metadata(part).map_or(0, |about| about.len());
        plan.removed.push((part.clone(), bytes));
    }
    let mut needed = BTreeSet::new();
    for images in job.images.values() {
        let (damaged, good): (Vec<_>, Vec<_>) =
            images.iter().partition(|image| image.damaged || image.note.is_err());
        if !good.is_empty() {
            plan.removed.extend(damaged.iter().map(|image| (image.path.clone(), image.bytes)));
        }
        let (old, kept) = good.split_at(good.len().saturating_sub(keep));
        plan.images += kept.len();
        plan.most = plan.most.max(kept.len());
        needed.extend(kept.iter().flat_map(|image| bases(image)));
        for image in old {
            let file = (image.path.clone(), image.bytes);
            let name = (image.rank, Incarnation(image.incarnation), image.image);
            if needed.contains(&name) {
                plan.retired.push(image.path.clone());
                plan.needed.push(file);
            } else {
                plan.removed.push(file);
            }
        }
    }
    for (id, path, bytes) in &job.bases {
        let file = (path.clone(), *bytes);
        // Images that cannot be read now stay. The images that these may need stay as well.
        let unreadable = job
            .images
            .get(&id.rank)
            .is_some_and(|images| images.iter().all(|image| image.damaged || image.note.is_err()));
        match unreadable || needed.contains(&(id.rank, id.incarnation, id.image)) {
            true => plan.needed.push(file),
            false => plan.removed.push(file),
        }
    }
    plan
}

fn carry_out(plan: &Plan, bytes: u64) -> anyhow::Result<()> {
    let progress = bar(bytes, "removing");
    for (path, bytes) in &plan.removed {
        std::fs::remove_file(path).with_context(|| format!("{}", path.display()))?;
        progress.inc(*bytes);
    }
    progress.finish_and_clear();
    for path in &plan.retired {
        std::fs::rename(path, path.with_extension("ground"))
            .with_context(|| format!("{}", path.display()))?;
    }
    Ok(())
}

/// One line for each thing that a user may want to know.
fn summary(plan: &Plan, dry_run: bool) -> String {
    let what = if dry_run { "would be removed" } else { "removed" };
    let removed = size(total(&plan.removed));
    let mut text = format!("{} files, {removed}, {what}\n", plan.removed.len());
    let stay = if dry_run { "would stay" } else { "stay" };
    text += &format!("{} images {stay}, at most {} of each rank", plan.images, plan.most);
    if !plan.needed.is_empty() {
        let bytes = size(total(&plan.needed));
        text += &format!("; they need {} older files, {bytes}", plan.needed.len());
    }
    text
}

fn total(files: &[FileBytes]) -> u64 {
    files.iter().map(|(_, bytes)| bytes).sum()
}

/// The images that hold chunks of this one.
fn bases(image: &Image) -> impl Iterator<Item = (Rank, Incarnation, ImageNo)> {
    let bases = image.note.iter().flat_map(|note| &note.bases);
    bases.map(|&(incarnation, number)| (image.rank, incarnation, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::ImageId;
    use ftmpi_wire::image_store::Note;

    fn image(rank: u32, number: u64, bases: &[u64]) -> Image {
        let bases = bases.iter().map(|&base| (Incarnation(0), ImageNo(base))).collect();
        Image {
            rank: Rank(rank),
            image: ImageNo(number),
            incarnation: 0,
            bytes: 10,
            path: format!("r{rank}-{number}.image").into(),
            damaged: false,
            sealed: false,
            note: Ok(Note { bases, ..Note::default() }),
        }
    }

    fn base(rank: u32, number: u64) -> (ImageId, PathBuf, u64) {
        let (rank, image, incarnation) = (Rank(rank), ImageNo(number), Incarnation(0));
        let path = format!("r{rank}-{image}.ground").into();
        (ImageId { rank, image, incarnation }, path, 10)
    }

    fn names(files: &[FileBytes]) -> Vec<String> {
        files.iter().map(|(path, _)| path.display().to_string()).collect()
    }

    #[test]
    fn as_many_images_of_each_rank_stay_as_are_asked_for_and_the_files_that_they_need() {
        let mut job = Job::default();
        let images =
            vec![image(0, 3, &[]), image(0, 4, &[]), image(0, 5, &[3, 1]), image(0, 6, &[2])];
        job.images.insert(Rank(0), images);
        job.bases = vec![base(0, 1), base(0, 2)];
        let plan = plan(&job, 1);
        assert_eq!(plan.images, 1);
        assert_eq!(names(&plan.removed), ["r0-3.image", "r0-4.image", "r0-5.image", "r0-1.ground"]);
        assert_eq!(names(&plan.needed), ["r0-2.ground"]);
        assert!(plan.retired.is_empty());
        let text = summary(&plan, false);
        assert!(text.contains("1 images stay, at most 1 of each rank"), "{text}");
        assert!(text.contains("need 1 older files"), "{text}");
        let plan = super::plan(&job, 2);
        assert_eq!(names(&plan.needed), ["r0-3.image", "r0-1.ground", "r0-2.ground"]);
        assert_eq!(plan.retired, [PathBuf::from("r0-3.image")]);
        assert_eq!(names(&plan.removed), ["r0-4.image"]);
    }

    #[test]
    fn old_files_of_a_rank_without_images_go() {
        let job = Job { bases: vec![base(1, 2)], ..Job::default() };
        assert_eq!(names(&plan(&job, 2).removed), ["r1-2.ground"]);
    }

    #[test]
    fn what_unreadable_images_may_need_stays() {
        let damaged = Image { damaged: true, ..image(0, 3, &[]) };
        let mut job = Job { bases: vec![base(0, 2)], ..Job::default() };
        job.images.insert(Rank(0), vec![damaged]);
        let plan = plan(&job, 2);
        assert!(plan.removed.is_empty() && names(&plan.needed) == ["r0-2.ground"]);
    }

    #[test]
    fn damaged_images_go_unless_a_rank_has_nothing_else() {
        let damaged = |rank, number| Image { damaged: true, ..image(rank, number, &[]) };
        let mut job = Job::default();
        job.images.insert(Rank(0), vec![damaged(0, 1), image(0, 2, &[])]);
        job.images.insert(Rank(1), vec![damaged(1, 1)]);
        assert_eq!(names(&plan(&job, 2).removed), ["r0-1.image"]);
    }
}
