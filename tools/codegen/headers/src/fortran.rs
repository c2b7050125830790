//! `mpif.h` and the module `mpi`: constants of the C header as Fortran has them, the common blocks
//! whose addresses are known, and an explicit interface for every function.
//!
//! `mpif.h` is correct in fixed and in free form: statements from column 7 to 72, comments by `!`,
//! no continuation lines.

use std::fmt::Write as _;

use ftmpi_codegen::table::{Direction, Function, Kind, Param};

/// `mpif.h` and the module `mpi`, with their names: these constants, and an interface for each of
/// `functions`.
pub fn files(constants: &[(String, i64)], functions: &[Function]) -> [(&'static str, String); 2] {
    let declarations = declarations(constants);
    let mut mpif = String::from("! mpif.h of ftmpi. Generated from include/mpi_preamble.h.\n");
    mpif.push_str(&declarations);
    mpif.push_str(EXTERNALS);
    [("mpif.h", mpif), ("mpi.f90", module(&declarations, functions))]
}

const KINDS: &str = "      INTEGER MPI_ADDRESS_KIND
      PARAMETER (MPI_ADDRESS_KIND=8)
      INTEGER MPI_OFFSET_KIND
      PARAMETER (MPI_OFFSET_KIND=8)
      INTEGER MPI_COUNT_KIND
      PARAMETER (MPI_COUNT_KIND=8)
      INTEGER MPI_INTEGER_KIND
      PARAMETER (MPI_INTEGER_KIND=4)
      INTEGER MPI_STATUS_SIZE
      PARAMETER (MPI_STATUS_SIZE=5)
      INTEGER MPI_SOURCE
      PARAMETER (MPI_SOURCE=3)
      INTEGER MPI_TAG
      PARAMETER (MPI_TAG=4)
      INTEGER MPI_ERROR
      PARAMETER (MPI_ERROR=5)
      LOGICAL MPI_SUBARRAYS_SUPPORTED
      PARAMETER (MPI_SUBARRAYS_SUPPORTED=.FALSE.)
      LOGICAL MPI_ASYNC_PROTECTS_NONBLOCKING
      PARAMETER (MPI_ASYNC_PROTECTS_NONBLOCKING=.FALSE.)
";

/// Names, order and types are those that programs of the MPICH family have compiled in.
const COMMONS: &str = "      INTEGER MPI_BOTTOM, MPI_IN_PLACE
      INTEGER MPI_STATUS_IGNORE(MPI_STATUS_SIZE)
      INTEGER MPI_STATUSES_IGNORE(MPI_STATUS_SIZE,1)
      INTEGER MPI_ERRCODES_IGNORE(1)
      CHARACTER*1 MPI_ARGVS_NULL(1,1)
      CHARACTER*1 MPI_ARGV_NULL(1)
      INTEGER MPI_UNWEIGHTED(1)
      INTEGER MPI_WEIGHTS_EMPTY(1)
      INTEGER MPI_BUFFER_AUTOMATIC(1)
      COMMON /MPIFCMB5/ MPI_UNWEIGHTED
      COMMON /MPIFCMB9/ MPI_WEIGHTS_EMPTY
      COMMON /MPIFCMBA/ MPI_BUFFER_AUTOMATIC
      COMMON /MPIPRIV1/ MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE
      COMMON /MPIPRIV2/ MPI_STATUSES_IGNORE, MPI_ERRCODES_IGNORE
      COMMON /MPIPRIVC/ MPI_ARGVS_NULL, MPI_ARGV_NULL
      SAVE /MPIFCMB5/, /MPIFCMB9/, /MPIFCMBA/
      SAVE /MPIPRIV1/, /MPIPRIV2/, /MPIPRIVC/
      EXTERNAL MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, MPI_DUP_FN
      EXTERNAL MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN
      EXTERNAL MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN
      EXTERNAL MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN
      EXTERNAL MPI_COMM_DUP_FN, MPI_TYPE_DUP_FN, MPI_WIN_DUP_FN
      EXTERNAL MPI_CONVERSION_FN_NULL
";

/// Functions: the module has interfaces for them.
const EXTERNALS: &str = "      EXTERNAL MPI_WTIME, MPI_WTICK
      EXTERNAL PMPI_WTIME, PMPI_WTICK
      DOUBLE PRECISION MPI_WTIME, MPI_WTICK
      DOUBLE PRECISION PMPI_WTIME, PMPI_WTICK
      EXTERNAL MPI_AINT_ADD, MPI_AINT_DIFF
      EXTERNAL PMPI_AINT_ADD, PMPI_AINT_DIFF
      INTEGER(KIND=MPI_ADDRESS_KIND) MPI_AINT_ADD, MPI_AINT_DIFF
      INTEGER(KIND=MPI_ADDRESS_KIND) PMPI_AINT_ADD, PMPI_AINT_DIFF
";

/// Keys of predefined attributes, which are one higher in Fortran.
const KEYS: [&str; 12] = [
    "MPI_TAG_UB",
    "MPI_HOST",
    "MPI_IO",
    "MPI_WTIME_IS_GLOBAL",
    "MPI_UNIVERSE_SIZE",
    "MPI_LASTUSEDCODE",
    "MPI_APPNUM",
    "MPI_WIN_BASE",
    "MPI_WIN_SIZE",
    "MPI_WIN_DISP_UNIT",
    "MPI_WIN_CREATE_FLAVOR",
    "MPI_WIN_MODEL",
];

fn declarations(constants: &[(String, i64)]) -> String {
    let mut out = String::from(KINDS);
    parameters(constants, &mut out, |_, _| None);
    out + COMMONS
}

/// The same for the module `mpi_f08`, where handles have types.
pub fn declarations_f08(constants: &[(String, i64)]) -> String {
    let mut out = KINDS.replace(".FALSE.", ".TRUE.");
    parameters(constants, &mut out, handle_type);
    out
}

/// The type of a predefined handle in `mpi_f08`.
fn handle_type(name: &str, value: i64) -> Option<&'static str> {
    if name == "MPI_FILE_NULL" {
        return Some("MPI_File");
    }
    let bits = u32::try_from(value & 0xffff_ffff).ok()?;
    if bits >> 30 == 3 {
        return None;
    }
    Some(match bits >> 26 & 0xf {
        1 => "MPI_Comm",
        2 => "MPI_Group",
        3 => "MPI_Datatype",
        5 => "MPI_Errhandler",
        6 => "MPI_Op",
        7 => "MPI_Info",
        8 => "MPI_Win",
        11 if name.starts_with("MPI_MESSAGE") => "MPI_Message",
        11 => "MPI_Request",
        14 => "MPI_Session",
        _ => return None,
    })
}

/// One `PARAMETER` for each constant; `typed` says which are handles with a type.
fn parameters(
    constants: &[(String, i64)],
    out: &mut String,
    typed: fn(&str, i64) -> Option<&'static str>,
) {
    for (name, value) in constants {
        let only_in_c = name.starts_with("MPI_F_")
            || name.starts_with("MPI_T_")
            || name.starts_with("MPI_CXX_") && name.ends_with("_SPEC")
            || name == "MPI_INCLUDED";
        if only_in_c {
            continue;
        }
        let value = if KEYS.contains(&name.as_str()) {
            value + 1
        } else if name.starts_with("MPI_MAX_") && *value > 1 && !is_operation(name) {
            // No zero byte ends a Fortran text.
            value - 1
        } else {
            *value
        };
        if let Some(handle) = typed(name, value) {
            let _ = writeln!(out, "      type({handle}), parameter :: {name} = {handle}({value})");
            continue;
        }
        let wide = name == "MPI_DISPLACEMENT_CURRENT";
        let kind = if wide { "INTEGER(KIND=MPI_OFFSET_KIND)" } else { "INTEGER" };
        let _ = writeln!(out, "      {kind} {name}\n      PARAMETER ({name}={value})");
    }
}

/// `MPI_MAX` and `MPI_MAXLOC` have no underscore behind; nothing else begins so.
fn is_operation(name: &str) -> bool {
    matches!(name, "MPI_MAX" | "MPI_MAXLOC")
}

/// With the types of `mpi_f08`, their operators and the conversions of statuses (MPI-4.1, 19.1.3).
fn module(declarations: &str, functions: &[Function]) -> String {
    let mut out = String::from(
        "! Module mpi of ftmpi. Generated from include/mpi_preamble.h, include/mpi.table and include/mpix.table.\n\
         module mpi\n      use mpi_f08_types\n      implicit none\n      public\n",
    );
    out.push_str(declarations);
    out.push_str("interface\n");
    for prefix in ["", "P"] {
        for f in functions.iter().filter(|f| exists(f)) {
            interface(prefix, f, &mut out);
        }
    }
    out.push_str(SIZEOF);
    out.push_str("end interface\n");
    out.push_str("interface MPI_SIZEOF\nprocedure MPI_Sizeof_f08ts\nend interface MPI_SIZEOF\nend module mpi\n");
    out
}

/// One procedure for all types and ranks: the compiler says in a descriptor how long an element is.
const SIZEOF: &str = "subroutine MPI_Sizeof_f08ts(x, size, ierror)
implicit none
type(*), dimension(..) :: x
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Sizeof_f08ts
";

/// Has the function a form in `mpif.h` and the module `mpi`?
fn exists(f: &Function) -> bool {
    ftmpi_codegen::fortran::exists(f) && !f.name.ends_with("_c")
}

/// The keyword of a parameter: C's table avoids the name of a function of the C library.
pub fn keyword(p: &Param) -> &str {
    if p.name == "indx" { "index" } else { &p.name }
}

/// Whether a number is written when the request of the call is complete, and not before. `target`
/// keeps compilers from taking it for unchanged until then; with `asynchronous` alone gfortran
/// would.
pub fn is_written_later(p: &Param, f: &Function) -> bool {
    let goes_on = f.params.iter().any(|q| q.kind == Kind::Handle("MPI_Request"));
    goes_on && p.kind == Kind::Int && p.direction == Direction::InOut
}

/// MPI-1 functions whose addresses, displacements and attribute values are default integers.
pub fn is_legacy(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "MPI_Address",
        "MPI_Attr_get",
        "MPI_Attr_put",
        "MPI_Keyval_create",
        "MPI_Type_extent",
        "MPI_Type_hindexed",
        "MPI_Type_hvector",
        "MPI_Type_lb",
        "MPI_Type_struct",
        "MPI_Type_ub",
    ];
    NAMES.contains(&name)
}

fn interface(prefix: &str, f: &Function, out: &mut String) {
    let params: Vec<&Param> = f
        .params
        .iter()
        .filter(|p| !matches!(p.kind, Kind::Argc | Kind::Argv | Kind::Varargs))
        // The arguments of main, which Fortran does not have.
        .filter(|p| f.name != "MPI_Info_create_env" || p.direction == Direction::Out)
        .collect();
    let mut names: Vec<&str> = params.iter().map(|p| keyword(p)).collect();
    let word = if f.returns.is_some() { "function" } else { "subroutine" };
    if f.returns.is_none() {
        names.push("ierror");
    }
    let head = format!("{word} {prefix}{}({})", f.name, names.join(", "));
    let _ = writeln!(out, "{}", folded(&head));
    out.push_str("import\nimplicit none\n");
    for p in &params {
        declaration(p, f, out);
    }
    match f.returns {
        Some(Kind::Double) => {
            let _ = writeln!(out, "double precision {prefix}{}", f.name);
        }
        Some(_) => {
            let _ = writeln!(out, "integer(kind=MPI_ADDRESS_KIND) {prefix}{}", f.name);
        }
        // The standard's MPI_PCONTROL has no error code; programs that pass one are not refused.
        None if f.name == "MPI_Pcontrol" => out.push_str("integer, optional :: ierror\n"),
        None => out.push_str("integer ierror\n"),
    }
    let _ = writeln!(out, "end {word} {prefix}{}", f.name);
}

fn declaration(p: &Param, f: &Function, out: &mut String) {
    let n = keyword(p);
    let array = if p.length.is_some() { "(*)" } else { "" };
    let legacy = is_legacy(&f.name);
    let line = match &p.kind {
        Kind::Buffer | Kind::Pointer => {
            // Any type, any rank; each compiler has its own directive for it.
            format!(
                "!GCC$ ATTRIBUTES NO_ARG_CHECK :: {n}\n!DEC$ ATTRIBUTES NO_ARG_CHECK :: {n}\n\
                 !DIR$ IGNORE_TKR {n}\ntype(*), dimension(*) :: {n}"
            )
        }
        Kind::Aint | Kind::Attribute | Kind::State if legacy => format!("integer {n}{array}"),
        Kind::Aint | Kind::Attribute | Kind::State => {
            format!("integer(kind=MPI_ADDRESS_KIND) {n}{array}")
        }
        Kind::Offset => format!("integer(kind=MPI_OFFSET_KIND) {n}{array}"),
        Kind::Large => format!("integer(kind=MPI_COUNT_KIND) {n}{array}"),
        Kind::Logical => format!("logical {n}{array}"),
        Kind::String => format!("character(len=*) {n}"),
        Kind::Strings => format!("character(len=*) {n}(*)"),
        Kind::Stringss => format!("character(len=*) {n}(count,*)"),
        Kind::Status if p.length.is_some() => format!("integer {n}(MPI_STATUS_SIZE,*)"),
        Kind::Status => format!("integer {n}(MPI_STATUS_SIZE)"),
        Kind::Ranges => format!("integer {n}(3,*)"),
        Kind::Function(_) => format!("external {n}"),
        _ if is_written_later(p, f) => format!("integer, asynchronous, target :: {n}"),
        _ => format!("integer {n}{array}"),
    };
    let _ = writeln!(out, "{line}");
}

/// A statement in lines of at most 100 characters.
pub fn folded(statement: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for piece in statement.split_inclusive(", ") {
        if column + piece.len() > 100 {
            out.push_str("&\n    ");
            column = 4;
        }
        out.push_str(piece);
        column += piece.len();
    }
    out
}
