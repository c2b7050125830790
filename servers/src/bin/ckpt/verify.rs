//! `verify`: every checksum of every image, and whether its stream can be understood.

use crate::job::{check, look, read, secret};
use crate::{bar, size};
use anyhow::Context;
use ftmpi_checkpoint::stream::StreamChecker;
use std::path::Path;

pub fn verify(directory: &Path, key: Option<&Path>, json: bool) -> anyhow::Result<bool> {
    let job = look(directory)?;
    let bytes: u64 = job.all().map(|image| image.bytes).sum();
    let progress = bar(bytes, "verifying");
    let secret = secret(directory, key)?;
    let (mut results, mut unread) = (Vec::new(), 0);
    for image in job.all() {
        let mut watcher = StreamChecker::new();
        let sealed = secret.is_none() && image.sealed;
        let outcome = match sealed {
            true => check(image, &progress),
            false => read(image, &secret, &progress, |raw| watcher.push(raw).context("its stream")),
        };
        unread += u64::from(sealed);
        let outcome = outcome.and_then(|summary| {
            if !sealed {
                watcher.finish().context("its stream")?;
            }
            let same = summary.id.rank == image.rank
                && summary.id.image == image.image
                && summary.id.incarnation.0 == image.incarnation;
            anyhow::ensure!(same, "the file has another name than its contents");
            Ok(())
        });
        results.push((image, outcome.err().map(|error| format!("{error:#}"))));
    }
    progress.finish_and_clear();
    let bad = results.iter().filter(|(_, why)| why.is_some()).count();
    // Images that the server has set aside are known to be damaged, and are not offered.
    let new = results.iter().filter(|(image, why)| why.is_some() && !image.damaged).count();
    if json {
        let images: Vec<_> = results
            .iter()
            .map(|(image, why)| {
                serde_json::json!({
                    "rank": image.rank, "image": image.image, "file": image.path.display().to_string(),
                    "set_aside": image.damaged, "good": why.is_none(), "why": why,
                })
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&serde_json::json!({ "images": images }))?);
    } else {
        for (image, why) in &results {
            if let Some(why) = why {
                let aside = if image.damaged { " (set aside, not offered)" } else { "" };
                println!("{}{aside}: {why}", image.path.display());
            }
        }
        println!(
            "{} images, {}: {} good, {bad} damaged",
            results.len(),
            size(bytes),
            results.len() - bad
        );
        if unread > 0 {
            println!(
                "{unread} of them are encrypted and were checked without reading them: their key is not \
                 at hand (--image-key)"
            );
        }
    }
    Ok(new == 0)
}
