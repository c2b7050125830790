//! `request`: asks the launcher of a running job for images, through the socket in its directory.

use anyhow::{Context, bail};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

pub fn request(directory: &Path, json: bool) -> anyhow::Result<bool> {
    // Socket paths must be short. The path of a descriptor is short, wherever the directory is.
    let folder =
        std::fs::File::open(directory).with_context(|| format!("{}", directory.display()))?;
    let path = format!("/proc/self/fd/{}/control", folder.as_raw_fd());
    let mut socket = match UnixStream::connect(&path) {
        Ok(socket) => socket,
        Err(e)
            if matches!(
                e.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused
            ) =>
        {
            bail!("no launcher works on the job in {}", directory.display())
        }
        Err(e) => return Err(e).with_context(|| format!("{}", directory.display())),
    };
    socket.write_all(b"images\n")?;
    let (mut failed, mut done) = (0, false);
    let mut answers = Vec::new();
    for line in BufReader::new(socket).lines() {
        let line = line.context("the launcher ended")?;
        let answer: serde_json::Value = serde_json::from_str(&line).context("its answer")?;
        if answer["done"] == true {
            done = true;
            break;
        }
        let why = answer["why"].as_str();
        failed += usize::from(why.is_some());
        if !json {
            match why {
                Some(why) => println!("rank {}: no image ({why})", answer["rank"]),
                None => println!(
                    "rank {}: image {}, {}",
                    answer["rank"],
                    answer["image"],
                    crate::size(answer["bytes"].as_u64().unwrap_or(0))
                ),
            }
        }
        answers.push(answer);
    }
    if json {
        println!("{}", serde_json::to_string_pretty(&serde_json::json!({ "images": answers }))?);
    }
    if !done {
        bail!("the job ended before every rank had its image");
    }
    Ok(failed == 0)
}
