//! Becomes the process of an image. This is the first half: it reads everything that decides
//! whether the image fits, checks it, and hands over to the restorer in C (`restorer.c`).
//!
//! The restorer replaces the address space. The second half, [`resume::resume`], runs in the
//! restored process.

pub mod fit;
pub mod image_reader;
pub mod resume;
mod standby;
pub mod validate_here;

use crate::base::image_tables::{digest, tables};
use crate::base::notice::Notice;
use crate::base::procfs::{self, Lines};
use crate::base::refusal::{Refusal, Refused};
use crate::base::report::{self, fail};
use crate::base::reserved_area::{CODE, CODE_LEN, ReservedArea, STACK_TOP};
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::base::tables::{Control, StreamIdentity};
use crate::children::again;
use crate::descriptors::{contents, of_the_caller};
use crate::memory::layout::Layout;
use crate::memory::mapped_files::{self, KeptFiles};
use crate::memory::vdso;
use crate::process::{limits, process_state};
use crate::restore::image_reader::{read_process_state, read_table};
use crate::restore::validate_here::{check_code, check_tables, keepers};
use crate::threads::thread_state;
use core::arch::asm;
use core::mem::size_of;
use ftmpi_checkpoint::boot_abi::{EXIT_IMAGE_DAMAGED, EXIT_IMAGE_MISFIT};
use ftmpi_checkpoint::stream::{
    ARCH_X86_64, Descriptor, File, FileLock, Map, ProcessState, Range, RecordHeader,
    STREAM_VERSION, Signal, Thread, Timer, Watch, kind, limit,
};
use ftmpi_wire::control::{RankEnv, fds};

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    static ftmpi_restorer_sizes: [u64; 4];
    fn ftmpi_restorer_start() -> *const u8;
    fn ftmpi_restorer_stop() -> *const u8;
    fn ftmpi_restorer_main(control: *const Control) -> !;
}

/// Becomes the process of the image on [`fds::IMAGE`].
///
/// # Safety
/// Called in the constructor of a rank, or of the process of a child (the second part of
/// `streams`), which is alone. Reserved area and window are reserved.
pub unsafe fn run(
    area: &ReservedArea,
    env: &RankEnv,
    streams: ([StreamIdentity; 3], bool),
    window_len: u64,
) -> ! {
    syscalls::set_signal_mask(!0);
    let stack = match load(area, env, window_len) {
        Ok(stack) => stack,
        Err(Failure(code, Refused(_))) => fail(env.rank.0, area, code),
    };
    let control = prepare(area, env, streams, &stack);
    let control = match control {
        Ok(control) => control,
        Err(Refused(_)) => fail(env.rank.0, area, EXIT_IMAGE_MISFIT),
    };
    let process = &*area.process_state();
    let table = &mut area.descriptors()[..process.descriptors as usize];
    if again::lift(area, table).is_err() {
        fail(env.rank.0, area, EXIT_IMAGE_MISFIT);
    }
    // The numbers of the program's descriptors must be free.
    of_the_caller::close_others();
    if let Err((code, Refused(_))) = contents::restore(area, process) {
        fail(env.rank.0, area, code);
    }
    // `resume` sets the limit again.
    limits::set_stack_limit(u64::MAX);
    // The area lies in memory that the restorer replaces.
    if thread_state::unregister_rseq().is_err() {
        report::fail_with(env.rank.0, Notice::RseqNotReleased, EXIT_IMAGE_MISFIT);
    }
    // SAFETY: the reserved area holds a copy of the restorer's code, which is position-independent
    // and has this entry. The stack in the reserved area is unused.
    unsafe {
        let entry =
            CODE + (ftmpi_restorer_main as *const () as usize - ftmpi_restorer_start() as usize);
        asm!(
            "mov rsp, {stack}",
            "xor ebp, ebp",
            "call {entry}",
            "ud2",
            stack = in(reg) STACK_TOP,
            entry = in(reg) entry,
            in("rdi") control,
            options(noreturn)
        );
    }
}

/// Which stack the restored process has.
enum Stack {
    /// The one of this process lies where it must: it stays. So does the place of the heap.
    OfTheKernel(Layout),
    /// Memory at the addresses of the image; the kernel is told.
    OfTheImage(Layout),
}

impl Stack {
    fn layout(&self) -> &Layout {
        let (Self::OfTheKernel(layout) | Self::OfTheImage(layout)) = self;
        layout
    }
}

/// Exit code, and the refusal whose text the reserved area holds.
struct Failure(i32, Refused);

/// Reads everything before the contents and the pages, and checks it.
fn load(area: &ReservedArea, env: &RankEnv, window_len: u64) -> Result<Stack, Failure> {
    let damaged = |refused| Failure(EXIT_IMAGE_DAMAGED, refused);
    let misfit = |refused| Failure(EXIT_IMAGE_MISFIT, refused);
    let process = area.process_state();
    read_process_state(area, process).map_err(damaged)?;
    if process.version != STREAM_VERSION
        || process.size as usize != size_of::<ProcessState>()
        || process.arch != ARCH_X86_64
        || process.page_bytes != 4096
    {
        return Err(misfit(area.refuse(Refusal::OtherVersion)));
    }
    if process.rank != env.rank.0 {
        return Err(misfit(area.refuse(Refusal::OtherRank { rank: process.rank })));
    }
    let counts = [
        (process.descriptors, limit::DESCRIPTORS),
        (process.files, limit::FILES),
        (process.maps, limit::MAPS),
        (process.strings_len, limit::STRINGS),
        (process.threads, limit::THREADS),
        (process.posix_timers, limit::TIMERS),
        (process.signals, limit::SIGNALS),
        (process.contents, limit::CONTENTS),
        (process.locks, limit::LOCKS),
        (process.ranges, limit::RANGES),
        (process.watches, limit::WATCHES),
    ];
    if counts.iter().any(|(count, limit)| *count as usize > *limit) || process.threads == 0 {
        return Err(damaged(image_reader::damaged(area, "impossible numbers")));
    }
    let [
        descriptors,
        files,
        map_count,
        strings_len,
        threads,
        timers,
        signals,
        _,
        locks,
        ranges,
        watches,
    ] = counts.map(|(count, _)| count as usize);
    let process: &ProcessState = process;
    read_table::<Descriptor>(area, kind::DESCRIPTORS, &mut area.descriptors()[..descriptors])
        .and_then(|()| read_table::<File>(area, kind::FILES, &mut area.files()[..files]))
        .and_then(|()| read_table::<Map>(area, kind::MAPS, &mut area.maps()[..map_count]))
        .and_then(|()| read_table::<u8>(area, kind::STRINGS, &mut area.strings()[..strings_len]))
        .and_then(|()| read_table::<Thread>(area, kind::THREADS, &mut area.threads()[..threads]))
        .and_then(|()| read_table::<Timer>(area, kind::TIMERS, &mut area.timers()[..timers]))
        .and_then(|()| read_table::<Signal>(area, kind::SIGNALS, &mut area.signals()[..signals]))
        .and_then(|()| read_table::<FileLock>(area, kind::LOCKS, &mut area.locks()[..locks]))
        .and_then(|()| read_table::<Range>(area, kind::RANGES, &mut area.ranges()[..ranges]))
        .and_then(|()| read_table::<Watch>(area, kind::WATCHES, &mut area.watches()[..watches]))
        .map_err(damaged)?;
    let mut strings = Strings::loaded(area, strings_len);
    let tables = tables(area, process);
    if digest(&tables) != process.digest {
        return Err(damaged(image_reader::damaged(
            area,
            "its tables are not as they were written",
        )));
    }
    let mut layout = Layout::default();
    let heap_start = add_mapping(area, &mut layout)
        .map_err(|errno| misfit(area.unreadable("/proc/self", errno)))?;
    fit::check_fit(area, process, &layout, heap_start, window_len).map_err(misfit)?;
    vdso::make_room(area, process, tables.maps, &layout).map_err(misfit)?;
    let stack = if fit::is_elsewhere(process, &layout, heap_start) {
        layout.stack_end = process.stack_end;
        Stack::OfTheImage(layout)
    } else {
        Stack::OfTheKernel(layout)
    };
    check_tables(area, &tables, stack.layout()).map_err(damaged)?;
    let same_boot = process.boot != 0 && process.boot == process_state::boot_id();
    let kept_files = if env.standby { KeptFiles::NotAsked } else { KeptFiles::Asked };
    mapped_files::check_files(area, &mut strings, files, same_boot, kept_files).map_err(misfit)?;
    if env.standby {
        standby::check(area, process).map_err(misfit)?;
    }
    check_code(area, &tables).map_err(damaged)?;
    Ok(stack)
}

fn add_mapping(area: &ReservedArea, layout: &mut Layout) -> Result<u64, i32> {
    let heap_start = procfs::heap_start(area.text())?;
    let mut lines = Lines::open(c"/proc/self/maps", area.text())?;
    while let Some(line) = lines.next()? {
        if let Some(entry) = procfs::entry(line) {
            layout.add_mapping(&entry);
        }
    }
    Ok(heap_start)
}

/// Copies the restorer into the reserved area, and writes down what it needs.
fn prepare(
    area: &ReservedArea,
    env: &RankEnv,
    (streams, as_child): ([StreamIdentity; 3], bool),
    stack: &Stack,
) -> Result<*const Control, Refused> {
    // SAFETY: constants of our own object.
    let (sizes, from, to) =
        unsafe { (ftmpi_restorer_sizes, ftmpi_restorer_start(), ftmpi_restorer_stop()) };
    let expected =
        [size_of::<Control>(), size_of::<Map>(), size_of::<File>(), size_of::<RecordHeader>()];
    let len = to as usize - from as usize;
    if sizes != expected.map(|size| size as u64) || len > CODE_LEN {
        return Err(area.refuse(Refusal::WrongBuild));
    }
    // SAFETY: this place in the reserved area is for the code; the section is readable.
    unsafe { core::ptr::copy_nonoverlapping(from, CODE as *mut u8, len) };
    // SAFETY: only the restorer's copy lies there.
    unsafe { syscalls::protect(CODE, CODE_LEN, libc::PROT_READ | libc::PROT_EXEC) }
        .map_err(|errno| area.refuse(Refusal::NotExecutable { errno }))?;
    let process = area.process_state();
    let main = &area.threads()[0];
    let kernels = match stack {
        Stack::OfTheKernel(layout) => Some(layout),
        Stack::OfTheImage(_) => None,
    };
    let (keep, kept) = keepers(area, kernels)?;
    let mut control = Control {
        image_fd: i64::from(fds::IMAGE),
        sequence: u64::from(kind::LAST_TABLE) + u64::from(process.contents),
        maps: area.maps().as_ptr() as u64,
        map_count: u64::from(process.maps),
        files: area.files().as_ptr() as u64,
        strings: area.strings().as_ptr() as u64,
        heap_start: process.heap_start,
        heap_end: process.heap_end,
        is_elsewhere: u64::from(kernels.is_none()),
        fs_base: main.fs_base,
        gs_base: main.gs_base,
        tid_address: main.tid_address,
        robust_head: main.robust_head,
        robust_len: main.robust_len,
        rseq_address: main.rseq_address,
        rseq_len: main.rseq_len,
        // As at the begin of a function that was called.
        resume_sp: STACK_TOP as u64 - 8,
        resume_ip: process.resume_ip,
        keep_count: kept as u64,
        keep,
        rank: env.rank.0,
        incarnation: env.incarnation.0,
        died: env.died,
        together: u64::from(env.together) | u64::from(as_child) << 1,
        streams,
        line_broken_off: [0; 160],
        line_damaged: [0; 160],
        line_map: [0; 160],
        line_state: [0; 160],
    };
    for (line, notice) in [
        (&mut control.line_broken_off, Notice::BreaksOff),
        (&mut control.line_damaged, Notice::Damaged),
        (&mut control.line_map, Notice::MemoryNotMapped),
        (&mut control.line_state, Notice::ThreadStateRefused),
    ] {
        let whole = report::line(env.rank.0, notice);
        let len = whole.bytes().len().min(line.len() - 1);
        line[..len].copy_from_slice(&whole.bytes()[..len]);
    }
    // SAFETY: this place in the reserved area is for the value.
    unsafe { area.control().write(control) };
    Ok(area.control())
}
