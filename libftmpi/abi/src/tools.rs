//! The tools interface MPI_T: our settings as control variables, our counters as performance
//! variables, two categories, no events (MPI-4.1, chapter 15).
//!
//! Guarantees: calls return their codes and never reach an error handler; nothing can be written;
//! what a program reads of a counter is recorded like every answer that depends on timing, so that
//! a replay reads the same.

use crate::calls::{enter, enter_first, job};
use crate::constants::{MPI_SUCCESS, MPI_THREAD_MULTIPLE, MPI_THREAD_SERIALIZED};
use crate::environment;
use crate::handle::Datatype;
use crate::memory::{BufMut, Out, OutArray, OutTextOf, Text};
use ftmpi_core::datatype::Builtin;
use ftmpi_core::engine::Counters;
use ftmpi_core::error::ErrorClass as E;
use ftmpi_core::usermem::UserPtr;
use ftmpi_entry::entry;
use ftmpi_runtime::{Events, JobView};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many more calls of `MPI_T_init_thread` than of `MPI_T_finalize` there were.
static USERS: AtomicU32 = AtomicU32::new(0);
/// Sessions that are open, by the addresses of their boxes.
static SESSIONS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

const VERBOSITY_USER_BASIC: c_int = 221;
const VERBOSITY_TUNER_BASIC: c_int = 224;
const BIND_NO_OBJECT: c_int = 9700;
const SCOPE_CONSTANT: c_int = 60438;
const CLASS_LEVEL: c_int = 241;
const CLASS_HIGHWATERMARK: c_int = 244;
const CLASS_COUNTER: c_int = 246;
const CLASS_TIMER: c_int = 248;

/// A handle or enumeration of this interface: an address that means something to us only.
type Handle = *mut c_void;

/// A setting.
#[derive(Clone, Copy)]
enum Value {
    Text(fn(&Setup) -> String),
    Flag(fn(&Setup) -> bool),
    Choice(fn(&Setup) -> usize),
    Number(fn(&Setup) -> u64),
}

/// The view that settings are read from.
type Setup = JobView;

/// A control variable.
struct Setting {
    name: &'static str,
    description: &'static str,
    value: Value,
}

/// Room for a text value.
const TEXT_ROOM: usize = 64;

static SETTINGS: [Setting; 7] = [
    Setting {
        name: "ftmpi_protocol",
        description: "fault tolerance protocol of the job (ftmpiexec --protocol)",
        value: Value::Text(|job| job.protocol.name.clone()),
    },
    Setting {
        name: "ftmpi_events",
        description: "which receptions are logged (ftmpiexec --events)",
        value: Value::Choice(|job| usize::from(job.protocol.events == Events::All)),
    },
    Setting {
        name: "ftmpi_log_wtime",
        description: "whether the values of MPI_Wtime are logged",
        value: Value::Flag(|job| job.protocol.log_wtime),
    },
    Setting {
        name: "ftmpi_images",
        description: "whether images of the ranks are taken (ftmpiexec --ckpt)",
        value: Value::Flag(|job| job.images),
    },
    Setting {
        name: "ftmpi_log_limit",
        description: "bytes that the sender log of a rank may hold; 0: a share of the host's memory",
        value: Value::Number(|job| job.log_limit),
    },
    Setting {
        name: "ftmpi_force_tcp",
        description: "whether ranks of one host speak over sockets too (ftmpiexec --transport)",
        value: Value::Flag(|job| job.force_tcp),
    },
    Setting {
        name: "ftmpi_local_ranks",
        description: "ranks on this host",
        value: Value::Number(|job| u64::from(job.local_ranks)),
    },
];

/// Names of the values of `ftmpi_events`.
static EVENTS: [&str; 2] = ["nondeterministic", "all"];

impl Setting {
    fn datatype(&self) -> Datatype {
        Datatype::of_builtin(match self.value {
            Value::Text(_) => Builtin::Char,
            Value::Flag(_) | Value::Choice(_) => Builtin::Int,
            Value::Number(_) => Builtin::UnsignedLongLong,
        })
    }

    fn enumeration(&self) -> Handle {
        match self.value {
            Value::Choice(_) => (&raw const EVENTS).cast_mut().cast(),
            _ => std::ptr::null_mut(),
        }
    }
}

/// A performance variable.
struct Counter {
    name: &'static str,
    description: &'static str,
    class: c_int,
    value: fn(&Counters) -> u64,
}

macro_rules! counters {
    ($($field:ident, $class:ident, $description:literal;)*) => {
        static COUNTERS: [Counter; [$(stringify!($field)),*].len()] = [$(
            Counter {
                name: concat!("ftmpi_", stringify!($field)),
                description: $description,
                class: $class,
                value: |counters| counters.$field,
            }
        ),*];
    };
}

counters! {
    messages_sent, CLASS_COUNTER, "messages sent by the program";
    bytes_sent, CLASS_COUNTER, "payload of the messages sent";
    messages_received, CLASS_COUNTER, "messages delivered to the program";
    bytes_received, CLASS_COUNTER, "payload of the messages delivered";
    determinants, CLASS_COUNTER, "determinants made: events that a replay must repeat";
    log_bytes, CLASS_LEVEL, "payload in the sender log";
    log_bytes_peak, CLASS_HIGHWATERMARK, "the most that the sender log ever held";
    gate_waits, CLASS_COUNTER, "sends that waited for determinants to become stable";
    gate_wait_ns, CLASS_TIMER, "nanoseconds that sends waited for determinants";
    duplicates, CLASS_COUNTER, "messages that came twice and were dropped";
    resent, CLASS_COUNTER, "messages sent again from the log to a rank that came back";
    replayed, CLASS_COUNTER, "receptions and answers repeated after a failure";
}

/// Names and descriptions of the categories: settings, counters.
static CATEGORIES: [(&str, &str); 2] = [
    ("ftmpi_settings", "settings of the job"),
    ("ftmpi_counters", "what was counted on this rank"),
];

/// Runs the body of a call, if the interface is in use.
fn tool(body: impl FnOnce() -> Result<(), E>) -> c_int {
    if USERS.load(Ordering::Relaxed) == 0 {
        return E::TNotInitialized.number();
    }
    body().map_or_else(E::number, |()| MPI_SUCCESS)
}

/// The element of a table that a number names.
fn nth<T>(table: &'static [T], index: c_int) -> Result<&'static T, E> {
    usize::try_from(index).ok().and_then(|index| table.get(index)).ok_or(E::TInvalidIndex)
}

/// The element of a table that a handle is the address of.
fn by_address<T>(table: &'static [T], handle: Handle) -> Result<&'static T, E> {
    table.iter().find(|one| std::ptr::eq(*one, handle.cast())).ok_or(E::TInvalidHandle)
}

fn address_of<T>(one: &'static T) -> Handle {
    (&raw const *one).cast_mut().cast()
}

/// Gives a text and its length with the zero byte, cut to the room that the program has.
fn give(text: &str, place: OutTextOf, length: Out<c_int>) {
    let room = length.get().ok().and_then(|room| usize::try_from(room).ok()).unwrap_or(0);
    if room > 0 && place.put(room, text).is_ok() {
        length.put_if_wanted((text.len() + 1).min(room) as c_int);
    } else {
        length.put_if_wanted(text.len() as c_int + 1);
    }
}

fn put<T: Copy>(place: Out<T>, value: T) -> Result<(), E> {
    place.put(value).map_err(|_| E::TInvalid)
}

fn named<T>(table: &[T], name: Text, of: fn(&T) -> &str) -> Result<c_int, E> {
    let wanted = name.get("name").map_err(|_| E::TInvalidName)?;
    let found = table.iter().position(|one| of(one).as_bytes() == wanted);
    found.map(|index| index as c_int).ok_or(E::TInvalidName)
}

/// Counters are read under the lock of the job, so a tool with several threads needs a job that has
/// one: it is joined here, as by a session, if MPI has not started yet. Under a protocol that
/// repeats what was read after a failure the job lets one thread in at a time, and so does this
/// interface.
#[entry]
pub extern "C" fn MPI_T_init_thread(required: c_int, provided: Out<c_int>) -> c_int {
    USERS.fetch_add(1, Ordering::Relaxed);
    let several = required >= MPI_THREAD_MULTIPLE && {
        let _inside = enter_first();
        environment::join(MPI_THREAD_MULTIPLE).is_ok_and(|()| environment::lets_threads_in())
    };
    provided.put_if_wanted(if several { MPI_THREAD_MULTIPLE } else { MPI_THREAD_SERIALIZED });
    MPI_SUCCESS
}

#[entry]
pub extern "C" fn MPI_T_finalize() -> c_int {
    let one_less = |users: u32| users.checked_sub(1);
    match USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) {
        Ok(_) => MPI_SUCCESS,
        Err(_) => E::TNotInitialized.number(),
    }
}

#[entry]
pub extern "C" fn MPI_T_enum_get_info(
    of: Handle,
    number: Out<c_int>,
    name: OutTextOf,
    length: Out<c_int>,
) -> c_int {
    tool(|| {
        if !std::ptr::eq(of, (&raw const EVENTS).cast()) {
            return Err(E::TInvalidHandle);
        }
        number.put_if_wanted(EVENTS.len() as c_int);
        give("ftmpi_events", name, length);
        Ok(())
    })
}

#[entry]
pub extern "C" fn MPI_T_enum_get_item(
    of: Handle,
    index: c_int,
    value: Out<c_int>,
    name: OutTextOf,
    length: Out<c_int>,
) -> c_int {
    tool(|| {
        if !std::ptr::eq(of, (&raw const EVENTS).cast()) {
            return Err(E::TInvalidHandle);
        }
        let found = nth(&EVENTS, index).map_err(|_| E::TInvalidItem)?;
        value.put_if_wanted(index);
        give(found, name, length);
        Ok(())
    })
}

// ---- Control variables ----

#[entry]
pub extern "C" fn MPI_T_cvar_get_num(number: Out<c_int>) -> c_int {
    tool(|| put(number, SETTINGS.len() as c_int))
}

#[entry]
pub extern "C" fn MPI_T_cvar_get_info(
    index: c_int,
    name: OutTextOf,
    name_length: Out<c_int>,
    verbosity: Out<c_int>,
    datatype: Out<Datatype>,
    enumeration: Out<Handle>,
    description: OutTextOf,
    description_length: Out<c_int>,
    bind: Out<c_int>,
    scope: Out<c_int>,
) -> c_int {
    tool(|| {
        let setting = nth(&SETTINGS, index)?;
        give(setting.name, name, name_length);
        verbosity.put_if_wanted(VERBOSITY_USER_BASIC);
        datatype.put_if_wanted(setting.datatype());
        enumeration.put_if_wanted(setting.enumeration());
        give(setting.description, description, description_length);
        bind.put_if_wanted(BIND_NO_OBJECT);
        scope.put_if_wanted(SCOPE_CONSTANT);
        Ok(())
    })
}

#[entry]
pub extern "C" fn MPI_T_cvar_get_index(name: Text, index: Out<c_int>) -> c_int {
    tool(|| put(index, named(&SETTINGS, name, |setting| setting.name)?))
}

#[entry]
pub extern "C" fn MPI_T_cvar_handle_alloc(
    index: c_int,
    _object: *mut c_void,
    handle: Out<Handle>,
    count: Out<c_int>,
) -> c_int {
    tool(|| {
        let setting = nth(&SETTINGS, index)?;
        count.put_if_wanted(match setting.value {
            Value::Text(_) => TEXT_ROOM as c_int,
            _ => 1,
        });
        put(handle, address_of(setting))
    })
}

#[entry]
pub extern "C" fn MPI_T_cvar_handle_free(handle: Out<Handle>) -> c_int {
    tool(|| {
        by_address(&SETTINGS, handle.get().map_err(|_| E::TInvalidHandle)?)?;
        put(handle, std::ptr::null_mut())
    })
}

/// Stores bytes where the program wants a value.
fn store(place: BufMut, bytes: &[u8]) -> Result<(), E> {
    if place.is_null() {
        return Err(E::TInvalid);
    }
    // SAFETY: not null; the caller promised room for the variable, whose size it was told.
    unsafe { UserPtr::new(place) }.write(bytes);
    Ok(())
}

#[entry(guard = enter)]
pub extern "C" fn MPI_T_cvar_read(handle: Handle, place: BufMut) -> c_int {
    tool(|| {
        let setting = by_address(&SETTINGS, handle)?;
        // Known from MPI_Init on. A process of its own has no job: nothing is logged, no image
        // taken.
        let setup = job().ok_or(E::TNotAccessible)?.engine.link.job.as_deref();
        match setting.value {
            Value::Text(value) => {
                let mut text = [0; TEXT_ROOM];
                let value = setup.map_or_else(|| "none".into(), value);
                let len = value.len().min(TEXT_ROOM - 1);
                text[..len].copy_from_slice(&value.as_bytes()[..len]);
                store(place, &text)
            }
            Value::Flag(value) => {
                store(place, &c_int::from(setup.is_some_and(value)).to_ne_bytes())
            }
            Value::Choice(value) => store(place, &(setup.map_or(0, value) as c_int).to_ne_bytes()),
            Value::Number(value) => store(place, &setup.map_or(0, value).to_ne_bytes()),
        }
    })
}

#[entry]
pub extern "C" fn MPI_T_cvar_write(handle: Handle, _value: *const c_void) -> c_int {
    tool(|| {
        by_address(&SETTINGS, handle)?;
        Err(E::TCvarSetNever)
    })
}

// ---- Performance variables ----

#[entry]
pub extern "C" fn MPI_T_pvar_get_num(number: Out<c_int>) -> c_int {
    tool(|| put(number, COUNTERS.len() as c_int))
}

#[entry]
pub extern "C" fn MPI_T_pvar_get_info(
    index: c_int,
    name: OutTextOf,
    name_length: Out<c_int>,
    verbosity: Out<c_int>,
    class: Out<c_int>,
    datatype: Out<Datatype>,
    enumeration: Out<Handle>,
    description: OutTextOf,
    description_length: Out<c_int>,
    bind: Out<c_int>,
    readonly: Out<c_int>,
    continuous: Out<c_int>,
    atomic: Out<c_int>,
) -> c_int {
    tool(|| {
        let counter = nth(&COUNTERS, index)?;
        give(counter.name, name, name_length);
        verbosity.put_if_wanted(VERBOSITY_TUNER_BASIC);
        class.put_if_wanted(counter.class);
        datatype.put_if_wanted(Datatype::of_builtin(Builtin::UnsignedLongLong));
        enumeration.put_if_wanted(std::ptr::null_mut());
        give(counter.description, description, description_length);
        bind.put_if_wanted(BIND_NO_OBJECT);
        readonly.put_if_wanted(1);
        continuous.put_if_wanted(1);
        atomic.put_if_wanted(0);
        Ok(())
    })
}

#[entry]
pub extern "C" fn MPI_T_pvar_get_index(name: Text, class: c_int, index: Out<c_int>) -> c_int {
    tool(|| {
        let found = named(&COUNTERS, name, |counter| counter.name)?;
        if COUNTERS[found as usize].class != class {
            return Err(E::TInvalidName);
        }
        put(index, found)
    })
}

fn sessions() -> std::sync::MutexGuard<'static, Vec<usize>> {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn session(handle: Handle) -> Result<(), E> {
    if sessions().contains(&(handle as usize)) { Ok(()) } else { Err(E::TInvalidSession) }
}

#[entry]
pub extern "C" fn MPI_T_pvar_session_create(session: Out<Handle>) -> c_int {
    tool(|| {
        // Only its address counts: no other session has it while this one is open.
        let handle: Handle = Box::into_raw(Box::new(0u64)).cast();
        sessions().push(handle as usize);
        put(session, handle)
    })
}

#[entry]
pub extern "C" fn MPI_T_pvar_session_free(session: Out<Handle>) -> c_int {
    tool(|| {
        let handle = session.get().map_err(|_| E::TInvalidSession)?;
        let mut open = sessions();
        let found =
            open.iter().position(|&one| one == handle as usize).ok_or(E::TInvalidSession)?;
        open.swap_remove(found);
        // SAFETY: it was in the list, so it is a box made above that nobody has freed.
        drop(unsafe { Box::from_raw(handle.cast::<u64>()) });
        put(session, std::ptr::null_mut())
    })
}

#[entry]
pub extern "C" fn MPI_T_pvar_handle_alloc(
    of: Handle,
    index: c_int,
    _object: *mut c_void,
    handle: Out<Handle>,
    count: Out<c_int>,
) -> c_int {
    tool(|| {
        session(of)?;
        let counter = nth(&COUNTERS, index)?;
        count.put_if_wanted(1);
        put(handle, address_of(counter))
    })
}

#[entry]
pub extern "C" fn MPI_T_pvar_handle_free(of: Handle, handle: Out<Handle>) -> c_int {
    tool(|| {
        session(of)?;
        by_address(&COUNTERS, handle.get().map_err(|_| E::TInvalidHandle)?)?;
        put(handle, std::ptr::null_mut())
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_T_pvar_read(of: Handle, handle: Handle, place: BufMut) -> c_int {
    tool(|| {
        session(of)?;
        let counter = by_address(&COUNTERS, handle)?;
        let value = match job() {
            Some(job) => {
                let live = (counter.value)(&job.engine.counters());
                job.observed(live)
            }
            None => 0,
        };
        store(place, &value.to_ne_bytes())
    })
}

/// The code for changes of continuous counters, which cannot be written; with all handles at once,
/// no handle would be changed.
macro_rules! refused {
    ($(fn $name:ident($($extra:ident: $type:ty)?), $error:ident;)*) => { $(
        #[entry]
        pub extern "C" fn $name(of: Handle, handle: Handle, $($extra: $type)?) -> c_int {
            tool(|| {
                session(of)?;
                if std::ptr::eq(handle, crate::extensions::MPI_T_PVAR_ALL_HANDLES.address()) {
                    return Ok(());
                }
                by_address(&COUNTERS, handle)?;
                Err(E::$error)
            })
        }
    )* };
}

refused! {
    fn MPI_T_pvar_start(), TPvarNoStartstop;
    fn MPI_T_pvar_stop(), TPvarNoStartstop;
    fn MPI_T_pvar_reset(), TPvarNoWrite;
    fn MPI_T_pvar_write(_value: *const c_void), TPvarNoWrite;
    fn MPI_T_pvar_readreset(_place: BufMut), TPvarNoAtomic;
}

// ---- Categories ----

#[entry]
pub extern "C" fn MPI_T_category_get_num(number: Out<c_int>) -> c_int {
    tool(|| put(number, CATEGORIES.len() as c_int))
}

#[entry]
pub extern "C" fn MPI_T_category_get_info(
    index: c_int,
    name: OutTextOf,
    name_length: Out<c_int>,
    description: OutTextOf,
    description_length: Out<c_int>,
    cvars: Out<c_int>,
    pvars: Out<c_int>,
    categories: Out<c_int>,
) -> c_int {
    tool(|| {
        let (title, about) = nth(&CATEGORIES, index)?;
        give(title, name, name_length);
        give(about, description, description_length);
        cvars.put_if_wanted(if index == 0 { SETTINGS.len() as c_int } else { 0 });
        pvars.put_if_wanted(if index == 1 { COUNTERS.len() as c_int } else { 0 });
        categories.put_if_wanted(0);
        Ok(())
    })
}

#[entry]
pub extern "C" fn MPI_T_category_get_index(name: Text, index: Out<c_int>) -> c_int {
    tool(|| put(index, named(&CATEGORIES, name, |category| category.0)?))
}

#[entry]
pub extern "C" fn MPI_T_category_get_num_events(index: c_int, number: Out<c_int>) -> c_int {
    tool(|| {
        nth(&CATEGORIES, index)?;
        put(number, 0)
    })
}

/// Never: what there is is fixed.
#[entry]
pub extern "C" fn MPI_T_category_changed(stamp: Out<c_int>) -> c_int {
    tool(|| put(stamp, 0))
}

/// The numbers of what is in a category: in each category all of one table, or nothing.
macro_rules! contents {
    ($(fn $name:ident, $len:expr;)*) => { $(
        #[entry]
        pub extern "C" fn $name(index: c_int, len: c_int, indices: OutArray<c_int>) -> c_int {
            tool(|| {
                nth(&CATEGORIES, index)?;
                let contents: [usize; 2] = $len;
                let there = contents[index as usize].min(usize::try_from(len).unwrap_or(0));
                for i in 0..there {
                    indices.put(i, i as c_int).map_err(|_| E::TInvalid)?;
                }
                Ok(())
            })
        }
    )* };
}

contents! {
    fn MPI_T_category_get_cvars, [SETTINGS.len(), 0];
    fn MPI_T_category_get_pvars, [0, COUNTERS.len()];
    fn MPI_T_category_get_categories, [0, 0];
    fn MPI_T_category_get_events, [0, 0];
}
