//! An image that the disk has lost, or holds damaged, comes anew from the depot.
//!
//! Guarantees: a fetch finds an image that is in the depot (and was found there when the server began, or came since)
//! as long as one of the two places has it whole; a file is replaced only by one that was verified as it came, and
//! only while the image is offered. If the depot does not answer, older images serve, and what is there stays there:
//! the server takes it when it begins again.

use super::disk::ImageReader;
use super::object_tier::recover::{Way, Why};
use super::{NAME, Server};
use crate::server_process::log_line;
use ftmpi_protocols::image_catalogue::{CheckError, ImageName};
use tokio::task::block_in_place;

/// What [`super::disk::Disk::check`] says after the depot has helped; `found` is what it said before.
///
/// # Errors
/// It cannot: then `found`.
pub(super) async fn repair_image(
    server: &Server,
    name: ImageName,
    found: CheckError,
) -> Result<ImageReader, CheckError> {
    let Some(flusher) = &server.flusher else { return Err(found) };
    let chain = server.disk.chain(name);
    if !flusher.has_all(&chain) {
        return Err(found);
    }
    let _turn = flusher.lock_rank(name.rank).await;
    if !server.is_offered(name) {
        return Err(found);
    }
    let mut taken = 0;
    for &container in &chain {
        if block_in_place(|| server.disk.is_sound(container)) {
            continue;
        }
        let outcome = match flusher.is_unreachable() {
            true => Err(Why::Here("it did not answer just now".into())),
            false => take(server, name, container).await,
        };
        if let Err(Why::Trouble(_)) = outcome {
            flusher.set_unreachable();
        }
        let why = match outcome {
            Ok(true) => {
                taken += 1;
                continue;
            }
            Ok(false) => return Err(found),
            Err(Why::Image(why)) => why,
            Err(Why::Trouble(why) | Why::Here(why)) => {
                flusher.keep_unreachable(&chain);
                block_in_place(|| server.disk.remove_for_recovery(name));
                why
            }
        };
        log_line(NAME, format!("{}, and the object store cannot help: {why}", about(name, &found)));
        return Err(found);
    }
    // Nothing was taken: somebody else was healing the same.
    let checked = block_in_place(|| server.disk.check(name))?;
    if taken > 0 {
        let object_tier = flusher.object_tier.address();
        log_line(NAME, format!("{}: it came anew from {object_tier}", about(name, &found)));
    }
    Ok(checked)
}

fn about(name: ImageName, found: &CheckError) -> String {
    let why = match found {
        CheckError::Gone => "its file was removed",
        CheckError::Damaged(why) => why,
    };
    format!("image {} of rank {} cannot be read ({why})", name.image, name.rank)
}

/// Takes one container on which `image` rests, or its own; false: `image` is not offered any more.
async fn take(server: &Server, image: ImageName, container: ImageName) -> Result<bool, Why> {
    let Some(flusher) = &server.flusher else { return Ok(false) };
    let way = Way {
        object_tier: &flusher.object_tier,
        dir: server.disk.path(),
        files: server.disk.files(),
    };
    let (part, ..) = way.download(container).await?;
    let publish = || {
        // While nobody can take it from the shelf.
        let catalogue = server.catalogue.lock().expect("no panic while it is locked");
        if !catalogue.offers(image) {
            let _ = way.files.remove(&part);
            return Ok(false);
        }
        let replaced = server.disk.replace(&part, container, catalogue.offers(container));
        replaced.map(|()| true).map_err(|error| {
            let _ = way.files.remove(&part);
            Why::Here(format!("{}: {error}", server.disk.path().display()))
        })
    };
    block_in_place(publish)
}
