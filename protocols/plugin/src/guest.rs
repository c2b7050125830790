//! The library's side: any [`Protocol`] becomes a [`Table`].
//!
//! ```text
//! struct Mine;
//! impl Export for Mine { … }
//! #[global_allocator]
//! static MEMORY: Memory = Memory;
//! static TABLE: Table = table::<Mine>();
//! #[unsafe(no_mangle)]
//! extern "C" fn ftmpi_protocol() -> *const Table { &TABLE }
//! ```

use crate::messages::{Input, Output, Reply, Settings, Standing};
use crate::table::{Bytes, Host, MAGIC, Recovery, Table, VERSION};
use ftmpi_protocols::protocol::Protocol;
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A protocol for others.
pub trait Export {
    /// Its name, for messages and reports.
    const NAME: &'static CStr;
    /// What happens after a failure.
    const RECOVERY: Recovery;
    /// Whether its determinants go to an event logger.
    const LOGGER: bool;
    /// One for this rank; `None` refuses the settings.
    fn make(settings: &Settings) -> Option<Box<dyn Protocol>>;
}

/// The table of a protocol.
#[must_use]
pub const fn table<E: Export>() -> Table {
    Table {
        magic: MAGIC,
        version: VERSION,
        size: size_of::<Table>() as u32,
        recovery: E::RECOVERY.number(),
        logger: E::LOGGER as u32,
        name: E::NAME.as_ptr(),
        make: make::<E>,
        call,
        unmake,
    }
}

/// What ftmpi gave.
static HOST: AtomicPtr<Host> = AtomicPtr::new(null_mut());

/// Keeps what ftmpi gave.
pub(crate) fn take_host(host: *const Host) {
    HOST.store(host.cast_mut(), Ordering::Relaxed);
}

/// Memory of ftmpi's: to be the library's global allocator.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory;

// SAFETY: every block comes from the host's allocator, which is a global allocator itself. Each
// block goes back to it with the layout that it was requested with. Before `make` there is no
// memory.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let host = HOST.load(Ordering::Relaxed);
        if host.is_null() {
            return null_mut();
        }
        // SAFETY: the host lives as long as the process, as the table's contract says.
        unsafe { ((*host).take)(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let host = HOST.load(Ordering::Relaxed);
        // SAFETY: as above; a block exists, so a host does.
        unsafe { ((*host).give)(block, layout.size(), layout.align()) }
    }
}

/// One protocol and its last reply.
struct Guest {
    protocol: Box<dyn Protocol>,
    reply: Vec<u8>,
    bytes: Vec<u8>,
}

unsafe extern "C" fn make<E: Export>(
    host: *const Host,
    settings: *const u8,
    length: usize,
) -> *mut c_void {
    take_host(host);
    // SAFETY: the caller's bytes, valid for this call.
    let settings = unsafe { std::slice::from_raw_parts(settings, length) };
    let Some(protocol) =
        postcard::from_bytes(settings).ok().and_then(|settings| E::make(&settings))
    else {
        return null_mut();
    };
    let guest = Guest { protocol, reply: Vec::new(), bytes: Vec::new() };
    Box::into_raw(Box::new(guest)).cast()
}

unsafe extern "C" fn unmake(protocol: *mut c_void) {
    // SAFETY: `make` made it, and nobody uses it any more.
    drop(unsafe { Box::from_raw(protocol.cast::<Guest>()) });
}

unsafe extern "C" fn call(
    protocol: *mut c_void,
    input: *const u8,
    length: usize,
    reply: *mut Bytes,
) -> i32 {
    // SAFETY: `make` made it; one thread at a time calls, and no call is made within another.
    let guest = unsafe { &mut *protocol.cast::<Guest>() };
    // SAFETY: the caller's bytes, valid for this call.
    let input = unsafe { std::slice::from_raw_parts(input, length) };
    let Ok(input) = postcard::from_bytes::<Input<'_>>(input) else { return 1 };
    guest.handle(input);
    let bytes = Bytes { at: guest.reply.as_ptr(), length: guest.reply.len() };
    // SAFETY: the caller's place for the answer.
    unsafe { reply.write(bytes) };
    0
}

impl Guest {
    fn handle(&mut self, input: Input<'_>) {
        let protocol = &mut *self.protocol;
        self.bytes.clear();
        let output = answer(protocol, input, &mut self.bytes);
        let commands = std::iter::from_fn(|| protocol.next_command()).collect();
        let standing = Standing {
            next_service: protocol.next_service(),
            replaying: protocol.replaying(),
            repeating: protocol.repeating(),
            gathering: protocol.gathering(),
            is_awaited: protocol.is_awaited(),
            stands_still: protocol.stands_still(),
            gate: protocol.gate(),
            last_event: protocol.last_event(),
            stable: protocol.stable(),
            recorded: protocol.recorded(),
            determinants: protocol.determinants(),
            counts: protocol.counts(),
        };
        let output = output.unwrap_or(Output::Bytes(&self.bytes));
        let reply = Reply { output, standing, commands };
        self.reply.clear();
        let buffer = std::mem::take(&mut self.reply);
        self.reply = postcard::to_extend(&reply, buffer).unwrap_or_default();
    }
}

/// `None`: the answer is in `out`.
fn answer(
    protocol: &mut dyn Protocol,
    input: Input<'_>,
    out: &mut Vec<u8>,
) -> Option<Output<'static>> {
    match input {
        Input::Hooks => return Some(Output::Hooks(protocol.hooks())),
        Input::LogsPayload(peer) => return Some(Output::Bool(protocol.logs_payload(peer))),
        Input::SharesWaves(peer) => return Some(Output::Bool(protocol.shares_waves(peer))),
        Input::OnSend(to, ssn) => return Some(Output::Send(protocol.on_send(to, ssn))),
        Input::HasPiggyback(to) => return Some(Output::Bool(protocol.has_piggyback(to))),
        Input::Piggyback(to) => {
            protocol.piggyback(to, out);
            return None;
        }
        Input::OnPiggyback(from, bytes) => protocol.on_piggyback(from, bytes),
        Input::OnArrival(from, ssn) => {
            return Some(Output::Arrival(protocol.on_arrival(from, ssn)));
        }
        Input::Refuses(from) => return Some(Output::Bool(protocol.refuses(from))),
        Input::Pin(post) => return Some(Output::Pin(protocol.pin(post))),
        Input::OnMatch(post, source, ssn) => protocol.on_match(post, source, ssn),
        Input::Decide => return Some(Output::Decision(protocol.decide())),
        Input::OnNegative => protocol.on_negative(),
        Input::OnAnswer(answer) => protocol.on_answer(answer),
        Input::ServiceRepeated => protocol.service_repeated(),
        Input::OnStable(written, durable) => protocol.on_stable(written, durable),
        Input::Flush => protocol.flush(),
        Input::Settle => protocol.settle(),
        Input::Commit => protocol.commit(),
        Input::OnLoggerBack => protocol.on_logger_back(),
        Input::OnStableClocks(clocks) => protocol.on_stable_clocks(&clocks),
        Input::OnNewIncarnation(last, incarnations) => {
            protocol.on_new_incarnation(last, &incarnations)
        }
        Input::OnRestart(last, recorded) => protocol.on_restart(last, recorded),
        Input::OnPeerRestart(peer, incarnation) => protocol.on_peer_restart(peer, incarnation),
        Input::Resume(peer) => {
            protocol.resume(peer, out);
            return None;
        }
        Input::OnJoined(peer, said) => protocol.on_joined(peer, said),
        Input::OnParted(peer) => protocol.on_parted(peer),
        Input::OnFrame(from, payload) => protocol.on_frame(from, payload),
        Input::OnOldestImage(events) => protocol.on_oldest_image(events),
        Input::OnImageDue(image) => protocol.on_image_due(image),
        Input::ImageReady(image, peers) => {
            let ready = protocol.image_ready(image, &mut peers.into_iter());
            return Some(Output::Readiness(ready));
        }
        Input::OnImageOver(image) => protocol.on_image_over(image),
        Input::OnReturn(image) => protocol.on_return(image),
        Input::Greeting => return Some(Output::Marker(protocol.greeting())),
    }
    Some(Output::Nothing)
}
