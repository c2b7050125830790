//! Performance variables of the tools interface (MPI-4.1, 15.3.7): the counters of this rank.

use crate::calls::{enter, job};
use crate::handle::Datatype;
use crate::memory::{BufMut, Out, OutTextOf, Text};
use crate::tools::{
    BIND_NO_OBJECT, Handle, address_of, by_address, give, named, nth, put, store, tool,
};
use ftmpi_core::datatype::Builtin;
use ftmpi_core::engine::Counters;
use ftmpi_core::error::ErrorClass as E;
use ftmpi_entry::entry;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

/// Sessions that are open, by the addresses of their boxes.
static SESSIONS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

const VERBOSITY_TUNER_BASIC: c_int = 224;
const CLASS_LEVEL: c_int = 241;
const CLASS_HIGHWATERMARK: c_int = 244;
const CLASS_COUNTER: c_int = 246;
const CLASS_TIMER: c_int = 248;

/// A performance variable.
pub struct Counter {
    name: &'static str,
    description: &'static str,
    class: c_int,
    value: fn(&Counters) -> u64,
}

macro_rules! counters {
    ($($field:ident, $class:ident, $description:literal;)*) => {
        pub static COUNTERS: [Counter; [$(stringify!($field)),*].len()] = [$(
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
