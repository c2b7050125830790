//! `request`: asks the launcher of a running job for images, through the socket in its directory.

use anyhow::{Context, bail};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A wait that is longer is explained.
const SILENCE: Duration = Duration::from_secs(10);

pub fn request(directory: &Path, json: bool) -> anyhow::Result<bool> {
    // Socket paths must be short. The path of a descriptor is short, wherever the directory is.
    let folder =
        std::fs::File::open(directory).with_context(|| format!("{}", directory.display()))?;
    let path = format!("/proc/self/fd/{}/control", folder.as_raw_fd());
    let mut socket = match UnixStream::connect(&path) {
        Ok(socket) => socket,
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            bail!(
                "no launcher works on a job in {}; ftmpi-ctl list shows the running jobs",
                directory.display()
            )
        }
        Err(e) => return Err(e).with_context(|| format!("{}", directory.display())),
    };
    socket.write_all(b"images\n")?;
    socket.set_read_timeout(Some(SILENCE))?;
    let (mut failed, mut done) = (0, false);
    let mut answers = Vec::new();
    let mut lines = BufReader::new(socket);
    while let Some(line) = next_line(&mut lines).context("the launcher ended")? {
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

/// The next line of an answer. A long wait for it is explained once.
fn next_line(lines: &mut BufReader<UnixStream>) -> std::io::Result<Option<String>> {
    let (mut line, mut explained) = (String::new(), false);
    loop {
        match lines.read_line(&mut line) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(line)),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if !std::mem::replace(&mut explained, true) {
                    eprintln!(
                        "ftmpi-ckpt: the next image is waited for; it may be large, or the rank or the \
                         launcher is stopped (ftmpi-ctl status)"
                    );
                }
            }
            Err(e) => return Err(e),
        }
    }
}
