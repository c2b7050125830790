//! Fortran.
use std::path::Path;

use crate::table::Function;

pub fn files(_: &Path, _: &[Function]) -> anyhow::Result<Vec<(&'static str, String)>> {
    Ok(vec![])
}
