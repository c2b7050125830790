//! Categories of the tools interface (MPI-4.1, 15.3.9): settings, and counters.

use crate::memory::{Out, OutArray, OutTextOf, Text};
use crate::tool_counters::COUNTERS;
use crate::tool_settings::SETTINGS;
use crate::tools::{give, named, nth, put, tool};
use ftmpi_core::error::ErrorClass as E;
use ftmpi_entry::entry;
use std::ffi::c_int;

/// Names and descriptions of the categories: settings, counters.
static CATEGORIES: [(&str, &str); 2] = [
    ("ftmpi_settings", "settings of the job"),
    ("ftmpi_counters", "what was counted on this rank"),
];

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
