//! Images of this rank, at safe points: the engine is at rest and every own event is stable.

use crate::call_trace;
use crate::control::{all_own, close};
use crate::shared_memory::{self, Taking};
use crate::world::World;
use ftmpi_checkpoint::boot_abi::{CaptureOutcome, CaptureRequest};
use ftmpi_core::engine::{Captured, Link};
use ftmpi_wire::control::FromRank;
use ftmpi_wire::status::word;
use ftmpi_wire::{ImageNo, Incarnation};

/// Takes the image that is due. Returns twice: in this incarnation, and in each one that the image
/// begins. The contents of `useless` are not wanted in it.
pub(crate) fn capture(
    world: &mut World,
    image: ImageNo,
    useless: &mut dyn Iterator<Item = &[u8]>,
) -> Captured {
    let Some((_, fd)) = world.agent.image_due.take() else {
        return Captured::Refused { lasts: false };
    };
    let Some(boot) = world.boot else {
        close(fd);
        world.report_refused_image(image, "the boot library is not loaded (start with ftmpiexec)");
        return Captured::Refused { lasts: true };
    };
    if (boot.0.reap)() == 1 {
        close(fd);
        world.report_refused_image(image, "the image before it is still being written");
        return Captured::Refused { lasts: false };
    }
    let written = [
        world.status.stream_position(1, word::STDOUT_BUSY, word::STDOUT_READ, false),
        world.status.stream_position(2, word::STDERR_BUSY, word::STDERR_READ, false),
    ];
    let consumed = world.status.stream_position(0, word::STDIN_BUSY, word::STDIN_FED, true);
    let shares = world.shared.has_board();
    if !world.shared.make_room() {
        close(fd);
        world.shared.drop_room();
        world.report_refused_image(
            image,
            "no memory for a copy of what this rank shares with others",
        );
        return Captured::Refused { lasts: false };
    }
    let useless: Vec<_> = useless.filter_map(pages_of).collect();
    let (own, guarded) = (all_own(), world.disk.descriptors());
    let mut taking = Taking { shared: &mut world.shared, image };
    let request = CaptureRequest {
        fd,
        reserved: 0,
        image_no: image.0,
        useless: useless.as_ptr(),
        useless_len: useless.len(),
        own: own.as_ptr(),
        own_len: own.len(),
        guarded: guarded.as_ptr(),
        guarded_len: guarded.len(),
        stopped: shares.then_some(shared_memory::stopped),
        made: shares.then_some(shared_memory::made),
        restored: Some(shared_memory::restored),
        context: (&raw mut taking).cast(),
    };
    let mut outcome = CaptureOutcome::default();
    // SAFETY: both structures and the lists live over the call. `useless` names memory that is not
    // wanted in the image (`Link::capture`). We are the one thread in the engine, outside of any
    // half-done change.
    let result = unsafe { (boot.0.capture)(&request, &mut outcome) };
    match result {
        0 => {
            close(fd);
            world.shared.drop_room();
            call_trace::image(image.0, outcome.pause_ns);
            world.notify_agent(FromRank::ImageBegun {
                image,
                written,
                consumed,
                pause_ns: outcome.pause_ns,
                estimate: outcome.estimate_bytes,
            });
            if let Some(file_undo) = &mut world.file_undo {
                file_undo.image(image);
            }
            world.image_taken = image;
            world.point("image");
            Captured::Running
        }
        1 => {
            // A later incarnation: nothing that the kernel held for the library is there any more.
            world.incarnation = Incarnation(boot.0.incarnation());
            world.image_taken = image;
            world.greet(Some(boot), Some(image));
            let job = world.job.as_ref().expect("the agent answered");
            Captured::Restored(job.incarnations.clone())
        }
        _ => {
            close(fd);
            world.shared.drop_room();
            let mut text = [0u8; 512];
            // SAFETY: the buffer is as long as we say.
            unsafe { (boot.0.why_refused)(text.as_mut_ptr().cast(), text.len()) };
            let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
            world.report_refused_image(image, &String::from_utf8_lossy(&text[..end]));
            // Everything else passes: something is busy, or the host lacks something now.
            Captured::Refused { lasts: result == -libc::EOPNOTSUPP }
        }
    }
}

/// The whole pages within a piece of memory, if it is long enough to be worth it.
fn pages_of(piece: &[u8]) -> Option<[u64; 2]> {
    const PAGE: usize = 4096;
    let begin = piece.as_ptr().addr().next_multiple_of(PAGE);
    let end = (piece.as_ptr().addr() + piece.len()) / PAGE * PAGE;
    (piece.len() >= 1 << 16 && begin < end).then_some([begin as u64, end as u64])
}
