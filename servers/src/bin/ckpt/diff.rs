//! `diff`: how much of the memory of a rank changed between two images.

use crate::job::{Image, look, read, secret};
use crate::{bar, size};
use anyhow::{Context, bail};
use ftmpi_checkpoint::container::Secret;
use ftmpi_checkpoint::stream::Inspector;
use indicatif::ProgressBar;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;

const PAGE: u64 = 4096;

pub fn diff(
    directory: &Path,
    key: Option<&Path>,
    rank: u32,
    numbers: &[u64],
    json: bool,
) -> anyhow::Result<bool> {
    let job = look(directory)?;
    let (old, new) = match *numbers {
        [] => {
            let newest = job.image(rank, None)?;
            let before = job
                .images
                .get(&newest.rank)
                .into_iter()
                .flatten()
                .rev()
                .find(|image| !image.damaged && image.image < newest.image)
                .with_context(|| format!("rank {rank} has only one image"))?;
            (before, newest)
        }
        [old, new] => (job.image(rank, Some(old))?, job.image(rank, Some(new))?),
        _ => bail!("name two images, or none for the two newest"),
    };
    let progress = bar(old.bytes + new.bytes, "comparing");
    let secret = secret(directory, key)?;
    let (before, after) = (pages(old, &secret, &progress)?, pages(new, &secret, &progress)?);
    progress.finish_and_clear();
    let same = after.iter().filter(|(at, hash)| before.get(at) == Some(hash)).count() as u64;
    let added = after.keys().filter(|at| !before.contains_key(at)).count() as u64;
    let gone = before.keys().filter(|at| !after.contains_key(at)).count() as u64;
    let changed = after.len() as u64 - same - added;
    if json {
        let all = serde_json::json!({
            "rank": rank, "old": old.image, "new": new.image, "page_bytes": PAGE,
            "same": same, "changed": changed, "added": added, "gone": gone,
        });
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        println!(
            "rank {rank}, image {} to {} (pages of {PAGE} bytes that are not all zero):",
            old.image, new.image
        );
        for (what, count) in [("same", same), ("changed", changed), ("new", added), ("gone", gone)]
        {
            println!("  {what:<8} {count:>10} pages  {:>10}", size(count * PAGE));
        }
    }
    Ok(true)
}

/// A hash of each page.
fn pages(
    image: &Image,
    secret: &Option<Secret>,
    progress: &ProgressBar,
) -> anyhow::Result<HashMap<u64, u64>> {
    let mut found = HashMap::new();
    let mut inspector = Inspector::new();
    // A page may come in pieces.
    let mut open: Option<(u64, u64, DefaultHasher)> = None;
    read(image, secret, progress, |raw| {
        inspector
            .push(raw, |mut at, mut bytes| {
                while !bytes.is_empty() {
                    let page = at / PAGE;
                    let (_, have, hasher) = match &mut open {
                        Some(state) if state.0 == page => state,
                        _ => open.insert((page, 0, DefaultHasher::new())),
                    };
                    let take = (PAGE - at % PAGE).min(bytes.len() as u64);
                    let (now, rest) = bytes.split_at(take as usize);
                    hasher.write(now);
                    *have += take;
                    if *have == PAGE {
                        found.insert(page, hasher.finish());
                        open = None;
                    }
                    at += take;
                    bytes = rest;
                }
            })
            .context("its stream")
    })?;
    Ok(found)
}
