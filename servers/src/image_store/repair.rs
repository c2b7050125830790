//! Repair: an image that the disk has lost, or holds damaged, is downloaded from the object tier.
//!
//! Guarantees: a fetch finds an image of the object tier as long as the disk or the object tier has
//! it complete. The object tier must have had it when the server began, or have received it since.
//! A file is replaced only by a verified download, and only while the image is offered. If the
//! object store does not answer, older images serve, and its copy stays for the next start of the
//! server.

use super::image_file::ImageReader;
use super::object_tier::recover::{Download, DownloadError};
use super::server::{NAME, Server};
use crate::server_process::log_line;
use ftmpi_protocols::image_catalogue::CheckError;
use ftmpi_wire::ImageId;

/// Verifies the image once more after the object tier has helped. `found` is what
/// [`super::disk::Disk::check`] said before.
///
/// # Errors
/// The object tier cannot help: then `found`.
pub(super) async fn repair_image(
    server: &Server,
    name: ImageId,
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
        if server.turns.run(|| server.disk.is_sound(container)).await {
            continue;
        }
        let outcome = match flusher.is_unreachable() {
            true => Err(DownloadError::Local("it did not answer just now".into())),
            false => take(server, name, container).await,
        };
        if let Err(DownloadError::Unreachable(_)) = outcome {
            flusher.set_unreachable();
        }
        let why = match outcome {
            Ok(true) => {
                taken += 1;
                continue;
            }
            Ok(false) => return Err(found),
            Err(DownloadError::Damaged(why)) => why,
            Err(DownloadError::Unreachable(why) | DownloadError::Local(why)) => {
                flusher.keep_unreachable(&chain);
                server.turns.run(|| server.disk.remove_for_recovery(name)).await;
                why
            }
        };
        log_line(NAME, format!("{}, and the object store cannot help: {why}", about(name, &found)));
        return Err(found);
    }
    // If nothing was downloaded, another connection has repaired the image.
    let checked = server.turns.run(|| server.disk.check(name)).await?;
    if taken > 0 {
        let object_tier = flusher.object_tier.address();
        log_line(NAME, format!("{}: it was fetched again from {object_tier}", about(name, &found)));
    }
    Ok(checked)
}

fn about(name: ImageId, found: &CheckError) -> String {
    let why = match found {
        CheckError::Gone => "its file was removed",
        CheckError::Damaged(why) => why,
    };
    format!("image {} of rank {} cannot be read ({why})", name.image, name.rank)
}

/// Downloads one container of `image`: its own, or a base. `false`: `image` is no longer offered.
async fn take(server: &Server, image: ImageId, container: ImageId) -> Result<bool, DownloadError> {
    let Some(flusher) = &server.flusher else { return Ok(false) };
    let download_from = Download {
        object_tier: &flusher.object_tier,
        dir: server.disk.path(),
        files: server.disk.files(),
    };
    let (part, ..) = download_from.download(container).await?;
    let publish = || {
        // Nobody can remove the image while the catalogue is locked.
        let catalogue = server.catalogue.lock().expect("no panic while it is locked");
        if !catalogue.offers(image) {
            let _ = download_from.files.remove(&part);
            return Ok(false);
        }
        let replaced = server.disk.replace(&part, container, catalogue.offers(container));
        replaced.map(|()| true).map_err(|error| {
            let _ = download_from.files.remove(&part);
            DownloadError::Local(format!("{}: {error}", server.disk.path().display()))
        })
    };
    server.turns.run(publish).await
}
