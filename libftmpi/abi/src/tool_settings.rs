//! Control variables of the tools interface (MPI-4.1, 15.3.6): the settings of the job, which
//! nothing can change, those that each rank may change while it runs, the switch of the checks, and
//! the enumeration of one of the settings.

use crate::calls::{enter, job};
use crate::handle::Datatype;
use crate::memory::{BufMut, Out, OutTextOf, Text};
use crate::tools::{
    BIND_NO_OBJECT, Handle, address_of, by_address, give, named, nth, put, store, tool,
};
use ftmpi_core::datatype::Builtin;
use ftmpi_core::error::ErrorClass as E;
use ftmpi_entry::entry;
use ftmpi_runtime::{Events, JobView, Tunable};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

const VERBOSITY_USER_BASIC: c_int = 221;
const SCOPE_CONSTANT: c_int = 60438;
const SCOPE_LOCAL: c_int = 60440;
const SCOPE_ALL_EQ: c_int = 60444;

/// What a tool has chosen for `ftmpi_check` before MPI started; negative: nothing.
static CHECKS: AtomicI32 = AtomicI32::new(-1);

/// Whether the job begins with checks.
pub fn begins_with_checks() -> bool {
    match CHECKS.load(Ordering::Relaxed) {
        0 => false,
        1.. => true,
        _ => std::env::var_os("FTMPI_CHECK").is_some_and(|value| value != "0"),
    }
}

/// A setting.
#[derive(Clone, Copy)]
enum Value {
    Text(fn(&Setup) -> String),
    Flag(fn(&Setup) -> bool),
    Choice(fn(&Setup) -> usize),
    Number(fn(&Setup) -> u64),
    /// A number that a tool may change at each rank.
    Tunable(Tunable),
    /// `FTMPI_CHECK`, which a tool may change.
    Checks,
}

/// The view that settings are read from.
type Setup = JobView;

/// A control variable.
pub struct Setting {
    name: &'static str,
    description: &'static str,
    value: Value,
}

/// Room for a text value.
const TEXT_ROOM: usize = 64;

pub static SETTINGS: [Setting; 10] = [
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
        description: "bytes that the sender log of a rank may hold before it asks for images \
                      (ftmpiexec --log-limit); 0: any number",
        value: Value::Tunable(Tunable::LogLimit),
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
    Setting {
        name: "ftmpi_looks",
        description: "looks in vain of a rank that waits before it gives way (1 to 1000000)",
        value: Value::Tunable(Tunable::Looks),
    },
    Setting {
        name: "ftmpi_spin",
        description: "microseconds for which a rank that waits looks again and again before it \
                      sleeps (0 to 1000000); without a choice less where others want the processor",
        value: Value::Tunable(Tunable::Spins),
    },
    Setting {
        name: "ftmpi_check",
        description: "whether collective calls of all ranks are compared (FTMPI_CHECK); set it at \
                      all ranks, between the same two collective calls",
        value: Value::Checks,
    },
];

/// Names of the values of `ftmpi_events`.
static EVENTS: [&str; 2] = ["nondeterministic", "all"];

impl Setting {
    fn datatype(&self) -> Datatype {
        Datatype::of_builtin(match self.value {
            Value::Text(_) => Builtin::Char,
            Value::Flag(_) | Value::Choice(_) | Value::Checks => Builtin::Int,
            Value::Number(_) | Value::Tunable(_) => Builtin::UnsignedLongLong,
        })
    }

    fn enumeration(&self) -> Handle {
        match self.value {
            Value::Choice(_) => (&raw const EVENTS).cast_mut().cast(),
            _ => std::ptr::null_mut(),
        }
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
        scope.put_if_wanted(match setting.value {
            Value::Checks => SCOPE_ALL_EQ,
            Value::Tunable(_) => SCOPE_LOCAL,
            _ => SCOPE_CONSTANT,
        });
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

#[entry(guard = enter)]
pub extern "C" fn MPI_T_cvar_read(handle: Handle, place: BufMut) -> c_int {
    tool(|| {
        let setting = by_address(&SETTINGS, handle)?;
        if let Value::Checks = setting.value {
            let on = job().map_or_else(begins_with_checks, |job| job.checks());
            return store(place, &c_int::from(on).to_ne_bytes());
        }
        // Known from MPI_Init on. A process of its own has no job: nothing is logged, no image
        // taken.
        let job = job().ok_or(E::TNotAccessible)?;
        if let Value::Tunable(tunable) = setting.value {
            return store(place, &tunable.value(job).to_ne_bytes());
        }
        let setup = job.engine.link.job.as_deref();
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
            Value::Tunable(_) | Value::Checks => Ok(()),
        }
    })
}

#[entry(guard = enter)]
pub extern "C" fn MPI_T_cvar_write(handle: Handle, value: *const c_void) -> c_int {
    tool(|| {
        let setting = by_address(&SETTINGS, handle)?;
        if !matches!(setting.value, Value::Checks | Value::Tunable(_)) {
            return Err(E::TCvarSetNever);
        }
        if value.is_null() {
            return Err(E::TInvalid);
        }
        if let Value::Tunable(tunable) = setting.value {
            // SAFETY: not null; the program gives a value of the variable's type.
            let value = unsafe { value.cast::<u64>().read_unaligned() };
            if !tunable.allows(value) {
                return Err(E::TInvalid);
            }
            tunable.change(job().ok_or(E::TCvarSetNotNow)?, value);
            return Ok(());
        }
        // SAFETY: not null; the program gives a value of the variable's type.
        let on = unsafe { value.cast::<c_int>().read_unaligned() } != 0;
        CHECKS.store(c_int::from(on), Ordering::Relaxed);
        if let Some(job) = job() {
            job.set_checks(on);
        }
        Ok(())
    })
}
