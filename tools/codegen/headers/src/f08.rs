//! The module `mpi_f08`: handles and statuses as types, `ierror` optional, choice buffers as
//! descriptors (MPI-4.1, 19.1.2).
//!
//! The names of types, modules and specific procedures are MPICH's, because gfortran makes symbols
//! of them. So programs compiled with either module run with either library. No object code is
//! needed: the operators that `mpi_f08_types` contains have their bodies in `libmpifort.so.12`.

use std::fmt::Write as _;

use crate::fortran::{declarations_f08, folded, is_legacy, is_written_later, keyword};
use ftmpi_codegen::fortran::{self, f08_name};
use ftmpi_codegen::table::{Direction, Function, Kind, Param, Standing};

const HANDLES: [&str; 11] = [
    "Comm",
    "Datatype",
    "Errhandler",
    "File",
    "Group",
    "Info",
    "Message",
    "Op",
    "Request",
    "Session",
    "Win",
];

/// The whole file: the modules `mpi_f08_types`, `mpi_f08_callbacks` and `mpi_f08`.
pub fn module(constants: &[(String, i64)], functions: &[Function]) -> String {
    let mut out = String::from(
        "! Modules of `use mpi_f08` of ftmpi. Generated from include/mpi_preamble.h, include/mpi.table and include/mpix.table.\n",
    );
    types(&mut out);
    out.push_str(CALLBACKS);
    out.push_str("module mpi_f08\n  use, intrinsic :: iso_c_binding, only: c_ptr, c_int\n  use mpi_f08_types\n  use mpi_f08_callbacks\n  implicit none\n  public\n  private :: c_ptr, c_int\n");
    out.push_str(&declarations_f08(constants));
    out.push_str(SENTINELS);
    let here: Vec<&Function> = functions.iter().filter(|f| exists(f)).collect();
    for f in &here {
        if generic(f) != f.name && here.iter().any(|g| generic(f) == g.name) {
            continue;
        }
        let family = f.name.split('_').next().unwrap_or_default();
        for (prefix, specific) in [("", format!("{family}_")), ("P", format!("P{family}R_"))] {
            let _ = writeln!(out, "interface {prefix}{}", f.name);
            procedure(&specific, f, &mut out);
            let large = here.iter().find(|g| {
                // Integers of the same kinds: the compiler could not distinguish the two.
                g.name != f.name && generic(g) == f.name && kinds(g) != kinds(f)
            });
            if let Some(large) = large {
                procedure(&specific, large, &mut out);
            }
            let _ = writeln!(out, "end interface {prefix}{}", f.name);
        }
    }
    out.push_str(EXTRAS);
    out.push_str("end module mpi_f08\n");
    out
}

/// Has the function a form in this module? What was deprecated before there was it has none.
fn exists(f: &Function) -> bool {
    let old = f.standing == Standing::Removed
        || f.standing == Standing::Deprecated && f.since.starts_with("1.")
        || is_legacy(&f.name);
    fortran::exists(f) && !old
}

/// The generic name under which the function is called.
fn generic(f: &Function) -> &str {
    match f.name.as_str() {
        // Distinguished by nothing but their callbacks (MPI-4.1, 19.2).
        name @ ("MPI_Op_create_c" | "MPI_Register_datarep_c") => name,
        name => name.strip_suffix("_c").unwrap_or(name),
    }
}

/// The kinds of the integers among the parameters: addresses and large counts have the same.
fn kinds(f: &Function) -> Vec<bool> {
    let wide = |p: &Param| matches!(p.kind, Kind::Large | Kind::Aint | Kind::Offset);
    f.params.iter().map(wide).chain(f.params.iter().map(|p| p.length.is_some())).collect()
}

fn types(out: &mut String) {
    out.push_str("module mpi_f08_types\n  implicit none\n  public\n");
    for h in HANDLES {
        let _ =
            writeln!(out, "  type, bind(C) :: MPI_{h}\n    integer :: MPI_VAL\n  end type MPI_{h}");
    }
    out.push_str(
        "  type, bind(C) :: MPI_Status\n    integer :: count_lo\n    integer :: count_hi_and_cancelled\n    \
         integer :: MPI_SOURCE\n    integer :: MPI_TAG\n    integer :: MPI_ERROR\n  end type MPI_Status\n",
    );
    for (operator, names) in
        [("==", ["eq", "f08_eq_f", "f_eq_f08"]), ("/=", ["neq", "f08_neq_f", "f_neq_f08"])]
    {
        let _ = writeln!(out, "  interface operator({operator})");
        for h in HANDLES {
            for name in names {
                let _ = writeln!(out, "    module procedure mpi_{h}_{name}");
            }
        }
        let _ = writeln!(out, "  end interface");
    }
    out.push_str("contains\n");
    for h in HANDLES {
        for (name, left, right, operator) in [
            ("eq", true, true, "=="),
            ("neq", true, true, "/="),
            ("f08_eq_f", true, false, "=="),
            ("f08_neq_f", true, false, "/="),
            ("f_eq_f08", false, true, "=="),
            ("f_neq_f08", false, true, "/="),
        ] {
            let side = |is_handle: bool, n: &str| {
                if is_handle {
                    (format!("type(MPI_{h}), intent(in) :: {n}"), format!("{n}%MPI_VAL"))
                } else {
                    (format!("integer, intent(in) :: {n}"), n.to_owned())
                }
            };
            let ((x, vx), (y, vy)) = (side(left, "x"), side(right, "y"));
            let _ = writeln!(
                out,
                "  elemental logical function mpi_{h}_{name}(x, y)\n    {x}\n    {y}\n    \
                 mpi_{h}_{name} = {vx} {operator} {vy}\n  end function"
            );
        }
    }
    for (name, arguments, from, to, assign) in [
        (
            "f2f08",
            "f_status, f08_status",
            "integer, intent(in) :: f_status(5)",
            "type(MPI_Status), intent(out) :: f08_status",
            "f08_status = MPI_Status(f_status(1), f_status(2), f_status(3), f_status(4), f_status(5))",
        ),
        (
            "f082f",
            "f08_status, f_status",
            "type(MPI_Status), intent(in) :: f08_status",
            "integer, intent(out) :: f_status(5)",
            "f_status = [f08_status%count_lo, f08_status%count_hi_and_cancelled, f08_status%MPI_SOURCE, &\n      \
             f08_status%MPI_TAG, f08_status%MPI_ERROR]",
        ),
    ] {
        let _ = writeln!(
            out,
            "  subroutine MPI_Status_{name}({arguments}, ierror)\n    {from}\n    {to}\n    \
             integer, optional, intent(out) :: ierror\n    {assign}\n    \
             if (present(ierror)) ierror = 0\n  end subroutine"
        );
    }
    out.push_str("end module mpi_f08_types\n");
}

fn procedure(prefix: &str, f: &Function, out: &mut String) {
    let params: Vec<&Param> = f
        .params
        .iter()
        .filter(|p| !matches!(p.kind, Kind::Argc | Kind::Argv | Kind::Varargs))
        .filter(|p| f.name != "MPI_Info_create_env" || p.direction == Direction::Out)
        .collect();
    let mut names: Vec<&str> = params.iter().map(|p| keyword(p)).collect();
    let name = format!("{prefix}{}", f08_name(f));
    if f.returns.is_some() {
        // Functions with a result: `MPI_Wtime` and its relatives.
        let kind = match f.returns {
            Some(Kind::Double) => "double precision",
            _ => "integer(kind=MPI_ADDRESS_KIND)",
        };
        let _ = writeln!(out, "function {name}({}) result(answer)", names.join(", "));
        out.push_str("import\nimplicit none\n");
        for p in &params {
            declaration(p, f, out);
        }
        let _ = writeln!(out, "{kind} :: answer\nend function {name}");
        return;
    }
    names.push("ierror");
    let _ = writeln!(out, "{}", folded(&format!("subroutine {name}({})", names.join(", "))));
    out.push_str("import\nimplicit none\n");
    for p in &params {
        declaration(p, f, out);
    }
    // MPI_Pcontrol does not set it.
    let intent = if f.name == "MPI_Pcontrol" { "" } else { ", intent(out)" };
    let _ = writeln!(out, "integer, optional{intent} :: ierror\nend subroutine {name}");
}

fn declaration(p: &Param, f: &Function, out: &mut String) {
    let n = keyword(p);
    let array = if p.length.is_some() { "(*)" } else { "" };
    let intent = match p.direction {
        Direction::In | Direction::Ref => ", intent(in)",
        Direction::Out => ", intent(out)",
        Direction::InOut => ", intent(inout)",
    };
    // Until the operation is complete the compiler must expect the buffer to be used.
    let goes_on = f.params.iter().any(|q| q.kind == Kind::Handle("MPI_Request"))
        || f.section.starts_with("One-sided")
        || f.name.ends_with("_begin")
        || f.name.contains("ttach");
    let asynchronous = if goes_on { ", asynchronous" } else { "" };
    let line = match &p.kind {
        Kind::Buffer if p.direction == Direction::In && asynchronous.is_empty() => {
            format!("type(*), dimension(..), intent(in) :: {n}")
        }
        Kind::Buffer => format!("type(*), dimension(..){asynchronous} :: {n}"),
        Kind::Pointer => format!("type(c_ptr), intent(out) :: {n}"),
        Kind::Aint | Kind::Attribute | Kind::State => {
            format!("integer(kind=MPI_ADDRESS_KIND){intent} :: {n}{array}")
        }
        Kind::Offset => format!("integer(kind=MPI_OFFSET_KIND){intent} :: {n}{array}"),
        Kind::Large => format!("integer(kind=MPI_COUNT_KIND){intent} :: {n}{array}"),
        Kind::Logical => format!("logical{intent} :: {n}{array}"),
        Kind::String => format!("character(len=*){intent} :: {n}"),
        Kind::Strings => format!("character(len=*), intent(in) :: {n}(*)"),
        Kind::Stringss => format!("character(len=*), intent(in) :: {n}(count,*)"),
        // No intent: MPI_STATUS_IGNORE is allowed.
        Kind::Status if p.direction == Direction::In => {
            format!("type(MPI_Status), intent(in) :: {n}{array}")
        }
        Kind::Status => format!("type(MPI_Status) :: {n}{array}"),
        Kind::Ranges => format!("integer, intent(in) :: {n}(3,*)"),
        Kind::Function(t) => format!("procedure({t}) :: {n}"),
        Kind::Handle(t) => format!("type({t}){intent} :: {n}{array}"),
        Kind::File => format!("type(MPI_File){intent} :: {n}{array}"),
        Kind::Errcode if p.length.is_some() => format!("integer :: {n}{array}"),
        _ if n.ends_with("weights") && p.direction != Direction::In => {
            format!("integer :: {n}{array}")
        }
        _ if is_written_later(p, f) => format!("integer{intent}, asynchronous, target :: {n}"),
        _ => format!("integer{intent} :: {n}{array}"),
    };
    let _ = writeln!(out, "{line}");
}

/// Special addresses. The objects are in the libraries; these are references to them.
const SENTINELS: &str = "  integer(c_int), bind(C, name='MPIR_F08_MPI_BOTTOM'), target :: MPI_BOTTOM
  integer(c_int), bind(C, name='MPIR_F08_MPI_IN_PLACE'), target :: MPI_IN_PLACE
  type(MPI_Status), bind(C, name='MPIR_F08_MPI_STATUS_IGNORE_OBJ'), target :: MPI_STATUS_IGNORE
  type(MPI_Status), bind(C, name='MPIR_F08_MPI_STATUSES_IGNORE_OBJ'), target :: MPI_STATUSES_IGNORE(1)
  integer :: MPI_UNWEIGHTED(1), MPI_WEIGHTS_EMPTY(1), ftmpi_statuses_ignore(5), MPI_ERRCODES_IGNORE(1)
  integer, target :: MPI_BUFFER_AUTOMATIC(1)
  character(len=1) :: MPI_ARGVS_NULL(1,1), MPI_ARGV_NULL(1)
  private :: ftmpi_statuses_ignore
  common /MPIFCMB5/ MPI_UNWEIGHTED
  common /MPIFCMB9/ MPI_WEIGHTS_EMPTY
  common /MPIFCMBA/ MPI_BUFFER_AUTOMATIC
  common /MPIPRIV2/ ftmpi_statuses_ignore, MPI_ERRCODES_IGNORE
  common /MPIPRIVC/ MPI_ARGVS_NULL, MPI_ARGV_NULL
  save /MPIFCMB5/, /MPIFCMB9/, /MPIFCMBA/, /MPIPRIV2/, /MPIPRIVC/
";

/// What has no line in the table.
const EXTRAS: &str = "interface MPI_Sizeof
subroutine MPI_Sizeof_f08ts(x, size, ierror)
implicit none
type(*), dimension(..) :: x
integer, intent(out) :: size
integer, optional, intent(out) :: ierror
end subroutine MPI_Sizeof_f08ts
end interface MPI_Sizeof
interface MPI_F_sync_reg
subroutine MPI_F_sync_reg_f08(buf)
implicit none
type(*), dimension(..), asynchronous :: buf
end subroutine MPI_F_sync_reg_f08
end interface MPI_F_sync_reg
";

/// Shapes of the procedures that a program passes, and the ones that MPI provides.
const CALLBACKS: &str = include_str!("../../../../include/mpi_f08_callbacks.f90");
