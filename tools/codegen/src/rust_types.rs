//! Types of parameters in Rust: with the names of the C types, or without any name of MPI.

use crate::table::{Direction, Function, Kind, Param};

/// The C name of the type that one element of this kind has.
pub fn c_element(kind: &Kind) -> &str {
    match kind {
        Kind::Handle(t) | Kind::Tool(t) | Kind::ToolEnum(t) => t,
        Kind::File => "MPI_File",
        Kind::Large => "MPI_Count",
        Kind::Aint => "MPI_Aint",
        Kind::Offset => "MPI_Offset",
        Kind::Fint | Kind::FStatus => "MPI_Fint",
        Kind::Double => "c_double",
        Kind::Status => "MPI_Status",
        Kind::F08Status => "MPI_F08_status",
        Kind::String | Kind::Strings | Kind::Stringss | Kind::Argv => "c_char",
        Kind::Buffer | Kind::Pointer | Kind::Attribute | Kind::State => "c_void",
        Kind::Function(t) => t,
        _ => "c_int",
    }
}

/// The parameter's type in Rust, spelt with the names of the C types (`*const MPI_Status`).
pub fn rust_type(p: &Param) -> String {
    let t = c_element(&p.kind);
    let read_only = p.direction == Direction::In;
    match p.kind {
        Kind::Buffer | Kind::String | Kind::FStatus | Kind::Status | Kind::F08Status => {
            format!("*{} {t}", if read_only { "const" } else { "mut" })
        }
        Kind::Pointer | Kind::Attribute | Kind::State | Kind::Function(_) => format!("*mut {t}"),
        Kind::Strings => format!("*mut *mut {t}"),
        Kind::Stringss | Kind::Argv => format!("*mut *mut *mut {t}"),
        Kind::Argc => format!("*mut {t}"),
        Kind::Ranges => format!("*mut [{t}; 3]"),
        Kind::Varargs => "...".to_owned(),
        _ if p.length.is_some() => format!("*{} {t}", if read_only { "const" } else { "mut" }),
        _ if read_only => t.to_owned(),
        _ => format!("*mut {t}"),
    }
}

/// Does the function return an integer handle or integer that equals its only argument? In this
/// ABI, handles of C and Fortran are the same integers.
pub fn is_identity(f: &Function) -> bool {
    let integer = |k: &Kind| matches!(k, Kind::Handle(_) | Kind::Fint | Kind::Int);
    let conversion = ["_c2f", "_f2c", "_toint", "_fromint"].iter().any(|s| f.name.ends_with(s));
    conversion
        && f.returns.as_ref().is_some_and(integer)
        && f.params.len() == 1
        && integer(&f.params[0].kind)
}

/// The same type without names of MPI types, so that generated code depends on no other module.
pub fn plain_type(t: &str) -> String {
    let (pointers, base) =
        t.rsplit_once(' ').map_or((String::new(), t), |(p, b)| (format!("{p} "), b));
    if t.ends_with("; 3]") {
        return t.replace("[c_int; 3]", "[core::ffi::c_int; 3]");
    }
    let plain = match base {
        "MPI_Count" | "MPI_Offset" => "core::ffi::c_longlong",
        "MPI_Aint" => "isize",
        "c_double" => "core::ffi::c_double",
        "c_char" => "core::ffi::c_char",
        "MPI_File" => "*mut core::ffi::c_void",
        "c_void" | "MPI_Status" | "MPI_F08_status" => "core::ffi::c_void",
        b if b.starts_with("MPI_T_cb") || b.starts_with("MPI_T_source") => "core::ffi::c_int",
        b if b.ends_with("_function") || b.ends_with("function_c") => "core::ffi::c_void",
        b if b.starts_with("MPI_T_") => "*mut core::ffi::c_void",
        _ => "core::ffi::c_int",
    };
    format!("{pointers}{plain}")
}
