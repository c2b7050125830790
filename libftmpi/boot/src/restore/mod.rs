//! The first half of a restore: reads everything that decides whether the image fits, checks it, and
//! only then hands over to the restorer in C, which replaces the address space. The second half is
//! [`crate::life::restore_kernel_state`], in the restored process.

use crate::base::procfs::{self, Lines};
use crate::base::refusal::{Line, Refused, Shown, refuse};
use crate::base::reserved_area::{CODE, CODE_LEN, Control, Keep, ReservedArea, STACK_TOP};
use crate::base::strings::Strings;
use crate::base::syscalls;
use crate::descriptors::contents;
use crate::memory::mappings;
use crate::process::process_state::{self, Layout};
use crate::start;
use core::arch::asm;
use core::mem::size_of;
use ftmpi_checkpoint::boot_abi::{EXIT_IMAGE_DAMAGED, EXIT_IMAGE_MISFIT};
use ftmpi_checkpoint::stream::{
    ARCH_X86_64, Descriptor, File, FileLock, Map, ProcessState, RECORD_MAGIC, Range, RecordHeader,
    STREAM_VERSION, Signal, Thread, Timer, kind, limit, validate,
};
use ftmpi_wire::control::{RankEnv, fds};

// SAFETY: the signatures are those of the C side.
unsafe extern "C" {
    static ftmpi_restorer_sizes: [u64; 4];
    fn ftmpi_restorer_start() -> *const u8;
    fn ftmpi_restorer_stop() -> *const u8;
    fn ftmpi_restorer_main(control: *const Control) -> !;
}

/// Highest address of a process, and one more.
const USER_END: u64 = 0x7fff_ffff_f000;

/// Ends the process with the line in the reserved area.
pub fn fail(rank: u32, area: &ReservedArea, code: i32) -> ! {
    start::say(rank, area.line().bytes());
    syscalls::exit(code)
}

/// Ends the process with a line, where there is no reserved area.
pub fn fail_early(rank: u32, text: &str, code: i32) -> ! {
    start::say(rank, text.as_bytes());
    syscalls::exit(code)
}

/// Becomes the process of the image on [`fds::IMAGE`].
///
/// # Safety
/// In the constructor of a rank, alone; reserved area and window are reserved.
pub unsafe fn run(
    area: &ReservedArea,
    env: &RankEnv,
    streams: [crate::descriptors::Stream; 3],
    window_len: u64,
) -> ! {
    syscalls::set_signal_mask(!0);
    let layout = match load(area, env, window_len) {
        Ok(layout) => layout,
        Err(Failure(code, Refused(_))) => fail(env.rank.0, area, code),
    };
    let control = prepare(area, env, streams, &layout);
    let control = match control {
        Ok(control) => control,
        Err(Refused(_)) => fail(env.rank.0, area, EXIT_IMAGE_MISFIT),
    };
    // The program's descriptors are made now or later; none of this life's may be in their way.
    syscalls::close_range(3, crate::descriptors::FIRST_LIBRARY as u32 - 1);
    let process = &*area.process_state();
    if let Err((code, Refused(_))) = contents::restore(area, process) {
        fail(env.rank.0, area, code);
    }
    // Back again in the restored process.
    process_state::set_stack_limit(u64::MAX);
    // The kernel writes into this area whenever it preempts us: it must not be there when the memory
    // is gone.
    let (rseq_address, rseq_len) = process_state::rseq();
    if rseq_len != 0 {
        const UNREGISTER: usize = 1;
        const SIGNATURE: usize = 0x5305_3053;
        // SAFETY: nobody needs it any more.
        let result = unsafe {
            syscalls::call!(libc::SYS_rseq, rseq_address, rseq_len, UNREGISTER, SIGNATURE)
        };
        // EINVAL: it was not registered (switched off by a tunable).
        if !matches!(result, Ok(_) | Err(libc::EINVAL)) {
            fail_early(
                env.rank.0,
                "restartable sequences cannot be switched off",
                EXIT_IMAGE_MISFIT,
            );
        }
    }
    // SAFETY: the copy in the reserved area is the restorer's code, position-independent, with this entry;
    // the stack is the reserved area's and unused.
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

/// Exit code, and the refusal whose line is in the reserved area.
struct Failure(i32, Refused);

/// Reads up to the first page, and checks.
fn load(area: &ReservedArea, env: &RankEnv, window_len: u64) -> Result<Layout, Failure> {
    let damaged = |refused| Failure(EXIT_IMAGE_DAMAGED, refused);
    let misfit = |refused| Failure(EXIT_IMAGE_MISFIT, refused);
    let process = area.process_state();
    read_process_state(area, process).map_err(damaged)?;
    if process.version != STREAM_VERSION
        || process.size as usize != size_of::<ProcessState>()
        || process.arch != ARCH_X86_64
        || process.page_bytes != 4096
    {
        return Err(misfit(refuse!(
            area,
            libc::ENOEXEC,
            "the image was made by another version of ftmpi, or for another machine: use the ftmpi \
             that made it"
        )));
    }
    if process.rank != env.rank.0 {
        return Err(misfit(refuse!(area, libc::ENOEXEC, "the image is of rank {}", process.rank)));
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
    ];
    if counts.iter().any(|(count, limit)| *count as usize > *limit) || process.threads == 0 {
        return Err(damaged(refuse!(
            area,
            libc::EINVAL,
            "the image is damaged: impossible numbers"
        )));
    }
    let [descriptors, files, map_count, strings_len, threads, timers, signals, _, locks, ranges] =
        counts.map(|(count, _)| count as usize);
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
        .map_err(damaged)?;
    let strings = Strings::loaded(area, strings_len);
    let tables = tables(area, process);
    if digest(&tables) != process.digest {
        return Err(damaged(refuse!(
            area,
            libc::EINVAL,
            "the image is damaged: its tables are not as they were written"
        )));
    }
    let mut layout = Layout::default();
    let heap_start = add_mapping(area, &mut layout).map_err(|errno| {
        misfit(refuse!(area, errno, "/proc/self: {}", syscalls::error_text(errno)))
    })?;
    process_state::check_fit(area, process, &layout, heap_start, window_len).map_err(misfit)?;
    check_tables(area, &tables, &layout).map_err(damaged)?;
    mappings::check_files(area, &strings, files).map_err(misfit)?;
    check_code(area, &tables).map_err(damaged)?;
    Ok(layout)
}

/// The tables in the reserved area, as long as the process state say.
pub fn tables(area: &ReservedArea, process: &'static ProcessState) -> validate::Tables<'static> {
    validate::Tables {
        process,
        descriptors: &area.descriptors()[..process.descriptors as usize],
        files: &area.files()[..process.files as usize],
        maps: &area.maps()[..process.maps as usize],
        strings: &area.strings()[..process.strings_len as usize],
        threads: &area.threads()[..process.threads as usize],
        timers: &area.timers()[..process.posix_timers as usize],
        signals: &area.signals()[..process.signals as usize],
        locks: &area.locks()[..process.locks as usize],
        ranges: &area.ranges()[..process.ranges as usize],
    }
}

/// See [`validate::digest`].
pub fn digest(tables: &validate::Tables<'_>) -> u64 {
    fn bytes<T>(table: &[T]) -> &[u8] {
        // SAFETY: plain numbers without padding; every byte is one.
        unsafe { core::slice::from_raw_parts(table.as_ptr().cast(), size_of_val(table)) }
    }
    validate::digest([
        bytes(core::slice::from_ref(tables.process)),
        bytes(tables.descriptors),
        bytes(tables.files),
        bytes(tables.maps),
        tables.strings,
        bytes(tables.threads),
        bytes(tables.timers),
        bytes(tables.signals),
        bytes(tables.locks),
        bytes(tables.ranges),
    ])
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

/// The next record's header.
pub fn read_header(area: &ReservedArea) -> Result<RecordHeader, Refused> {
    let broke = |what: &str| {
        refuse!(area, libc::EIO, "the image is damaged ({what}): an older one is needed")
    };
    let mut header = RecordHeader::default();
    // SAFETY: plain numbers; any bytes are a valid value.
    let bytes = unsafe {
        core::slice::from_raw_parts_mut((&raw mut header).cast::<u8>(), size_of::<RecordHeader>())
    };
    if syscalls::read_full(fds::IMAGE, bytes) != Ok(size_of::<RecordHeader>()) {
        return Err(broke("it breaks off"));
    }
    if header.magic != RECORD_MAGIC {
        return Err(broke("it is no image"));
    }
    Ok(header)
}

/// Of another version only what tells that.
fn read_process_state(area: &ReservedArea, process: &mut ProcessState) -> Result<(), Refused> {
    let header = read_header(area)?;
    if header.len == size_of::<ProcessState>() as u64 || header.kind != kind::PROCESS {
        return read_rest(area, header, kind::PROCESS, core::slice::from_mut(process));
    }
    let mut begin = [0; 8];
    let len = begin.len();
    if syscalls::read_full(fds::IMAGE, &mut begin) == Ok(len) {
        let version = u32::from_le_bytes([begin[0], begin[1], begin[2], begin[3]]);
        if (1..1000).contains(&version) && version != STREAM_VERSION {
            process.version = version;
            return Ok(());
        }
    }
    Err(refuse!(
        area,
        libc::EIO,
        "the image is damaged (its parts are not as they should be): an older one is needed"
    ))
}

fn read_table<T>(area: &ReservedArea, wanted: u32, table: &mut [T]) -> Result<(), Refused> {
    let header = read_header(area)?;
    read_rest(area, header, wanted, table)
}

/// A table whose header was read.
fn read_rest<T>(
    area: &ReservedArea,
    header: RecordHeader,
    wanted: u32,
    table: &mut [T],
) -> Result<(), Refused> {
    let broke = |what: &str| {
        refuse!(area, libc::EIO, "the image is damaged ({what}): an older one is needed")
    };
    if header.kind != wanted
        || header.sequence != u64::from(wanted - 1)
        || header.at != 0
        || header.len != size_of_val(table) as u64
    {
        return Err(broke("its parts are not as they should be"));
    }
    // SAFETY: plain numbers; any bytes are a valid value.
    let bytes = unsafe {
        core::slice::from_raw_parts_mut(table.as_mut_ptr().cast::<u8>(), size_of_val(table))
    };
    if syscalls::read_full(fds::IMAGE, bytes) == Ok(bytes.len()) {
        Ok(())
    } else {
        Err(broke("it breaks off"))
    }
}

/// In the image child: what every restore would refuse is no image.
pub fn refuse_unsound(area: &ReservedArea, layout: &Layout) -> Result<(), Refused> {
    sound_here(area, &tables(area, area.process_state()), layout)?.map_err(|what| {
        refuse!(area, libc::EOPNOTSUPP, "an image of this process could not be restored: {what}")
    })
}

/// What the restorer and the restored process rely on.
fn check_tables(
    area: &ReservedArea,
    tables: &validate::Tables<'_>,
    layout: &Layout,
) -> Result<(), Refused> {
    sound_here(area, tables, layout)?
        .map_err(|what| refuse!(area, libc::EINVAL, "the image is damaged: {what}"))
}

fn sound_here(
    area: &ReservedArea,
    tables: &validate::Tables<'_>,
    layout: &Layout,
) -> Result<Result<(), validate::Wrong>, Refused> {
    let (keep, count) = keepers(area, None)?;
    let mut reserved = [(0, 0); KEEP_MAX];
    for (slot, keep) in reserved.iter_mut().zip(keep) {
        *slot = (keep.start, keep.end);
    }
    let (rseq_address, rseq_len) = process_state::rseq();
    let offset =
        if rseq_len == 0 { 0 } else { rseq_address.wrapping_sub(process_state::fs_base()) };
    let here = validate::Here {
        reserved: &reserved[..count],
        stack_end: layout.stack_end,
        // The program may have allowed itself more than it began with.
        stack_limit: process_state::stack_limit_max(),
        descriptors_end: crate::descriptors::FIRST_LIBRARY,
        rseq: (offset, rseq_len),
        notes_bytes: size_of::<crate::threads::thread_notes::ThreadNotes>() as u64,
    };
    Ok(validate::check(tables, &here))
}

/// Where the process is put together again, and where its threads go on, is code of this library: the
/// same bytes of a file, wherever it lies.
fn check_code(area: &ReservedArea, tables: &validate::Tables<'_>) -> Result<(), Refused> {
    let failed = |errno| refuse!(area, errno, "/proc/self/maps: {}", syscalls::error_text(errno));
    let [resume, resumed] = [
        crate::life::resume as *const () as u64,
        crate::capture::ftmpi_boot_resumed as *const () as u64,
    ];
    let (mut resume_at, mut resumed_at) = (0, 0);
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let Some(entry) = procfs::entry(line) else { continue };
        for (address, at) in [(resume, &mut resume_at), (resumed, &mut resumed_at)] {
            if (entry.start..entry.end).contains(&address) {
                *at = entry.offset + (address - entry.start);
            }
        }
    }
    let is_ours = |address, wanted| {
        validate::in_file(tables.maps, address).is_some_and(|(file, at)| {
            at == wanted && tables.files.get(file as usize).is_some_and(|file| file.hashed != 0)
        })
    };
    let all = is_ours(tables.process.resume_ip, resume_at)
        && tables.threads.iter().all(|thread| is_ours(thread.resume[1], resumed_at));
    if all {
        Ok(())
    } else {
        Err(refuse!(area, libc::EINVAL, "the image is damaged: nowhere to go on"))
    }
}

/// Copies the restorer into the reserved area and writes down what it needs.
fn prepare(
    area: &ReservedArea,
    env: &RankEnv,
    streams: [crate::descriptors::Stream; 3],
    layout: &Layout,
) -> Result<*const Control, Refused> {
    // SAFETY: constants of our own object.
    let (sizes, from, to) =
        unsafe { (ftmpi_restorer_sizes, ftmpi_restorer_start(), ftmpi_restorer_stop()) };
    let expected =
        [size_of::<Control>(), size_of::<Map>(), size_of::<File>(), size_of::<RecordHeader>()];
    let len = to as usize - from as usize;
    if sizes != expected.map(|size| size as u64) || len > CODE_LEN {
        return Err(refuse!(area, libc::EINVAL, "the boot library is not built as it should be"));
    }
    // SAFETY: the code's place in the reserved area is for this; the section is readable.
    unsafe { core::ptr::copy_nonoverlapping(from, CODE as *mut u8, len) };
    // SAFETY: only the restorer's copy lies there.
    unsafe { syscalls::protect(CODE, CODE_LEN, libc::PROT_READ | libc::PROT_EXEC) }
        .map_err(|errno| refuse!(area, errno, "memory cannot be made executable here"))?;
    let process = area.process_state();
    let main = &area.threads()[0];
    let (keep, kept) = keepers(area, Some(layout))?;
    let mut control = Control {
        image_fd: i64::from(fds::IMAGE),
        sequence: u64::from(kind::LAST_TABLE) + u64::from(process.contents),
        maps: area.maps().as_ptr() as u64,
        map_count: u64::from(process.maps),
        files: area.files().as_ptr() as u64,
        strings: area.strings().as_ptr() as u64,
        heap_start: process.heap_start,
        heap_end: process.heap_end,
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
        streams,
        line_broken_off: [0; 160],
        line_damaged: [0; 160],
        line_map: [0; 160],
        line_state: [0; 160],
    };
    for (line, text) in [
        (&mut control.line_broken_off, "the image breaks off: an older one is needed"),
        (&mut control.line_damaged, "the image is damaged: an older one is needed"),
        (&mut control.line_map, "the image's memory cannot be laid out here"),
        (&mut control.line_state, "the kernel refuses the state of the image's thread"),
    ] {
        let mut whole = Line::new();
        whole.set(format_args!("ftmpi: rank {}: {}\n", env.rank.0, Shown(text.as_bytes())));
        let len = whole.bytes().len().min(line.len() - 1);
        line[..len].copy_from_slice(&whole.bytes()[..len]);
    }
    // SAFETY: the place in the reserved area is for this.
    unsafe { area.control().write(control) };
    Ok(area.control())
}

/// Ranges that survive, at the most.
const KEEP_MAX: usize = 16;

/// What must survive, ascending: the engine's ranges, the kernel's, and of a layout the stack. And how
/// many.
fn keepers(
    area: &ReservedArea,
    stack_of: Option<&Layout>,
) -> Result<([Keep; KEEP_MAX], usize), Refused> {
    let failed = |errno| refuse!(area, errno, "/proc/self/maps: {}", syscalls::error_text(errno));
    let (mut keep, mut count) = ([Keep::default(); KEEP_MAX], 0);
    let mut lines = Lines::open(c"/proc/self/maps", area.text()).map_err(failed)?;
    while let Some(line) = lines.next().map_err(failed)? {
        let Some(entry) = procfs::entry(line) else { continue };
        let is_stack = stack_of.is_some_and(|layout| {
            (entry.start, entry.end) == (layout.stack_start, layout.stack_end)
                || entry.name == b"[stack]"
        });
        if !(mappings::is_ours(&entry) || mappings::is_kernels(&entry) || is_stack)
            || entry.end > USER_END
        {
            continue;
        }
        if count > 0 && keep[count - 1].end == entry.start {
            keep[count - 1].end = entry.end;
        } else if count < KEEP_MAX {
            keep[count] = Keep { start: entry.start, end: entry.end };
            count += 1;
        } else {
            return Err(refuse!(area, libc::ENOMEM, "the kernel's mappings are too many"));
        }
    }
    Ok((keep, count))
}
