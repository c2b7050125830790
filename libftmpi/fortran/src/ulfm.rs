//! User-level failure mitigation: the `MPIX_` subroutines. The modules `mpi` and `mpi_f08` have
//! their interfaces (`include/mpix.table`); with `mpif.h` programs call them without.
//!
//! Guarantees: each has the symbols of all Fortran compilers, as every other subroutine, and those
//! of `mpi_f08`, where the error code may be left out. Handles are the same integers in both
//! languages; truth values are translated.

use crate::marshal::{logical, set};
use core::ffi::c_int;

/// The C functions. `$c` are their symbols.
macro_rules! functions {
    ($($c:ident($($kind:ty),*);)*) => {
        #[allow(non_snake_case)]
        mod c {
            use core::ffi::c_int;
            // SAFETY: the signatures are those of the C side.
            unsafe extern "C" { $(pub fn $c($(_: $kind),*) -> c_int;)* }
        }
    };
}

functions! {
    MPIX_Comm_revoke(c_int);
    MPIX_Comm_is_revoked(c_int, *mut c_int);
    MPIX_Comm_shrink(c_int, *mut c_int);
    MPIX_Comm_ishrink(c_int, *mut c_int, *mut c_int);
    MPIX_Comm_agree(c_int, *mut c_int);
    MPIX_Comm_iagree(c_int, *mut c_int, *mut c_int);
    MPIX_Comm_failure_ack(c_int);
    MPIX_Comm_failure_get_acked(c_int, *mut c_int);
    MPIX_Comm_get_failed(c_int, *mut c_int);
    MPIX_Comm_ack_failed(c_int, c_int, *mut c_int);
    PMPIX_Comm_revoke(c_int);
    PMPIX_Comm_is_revoked(c_int, *mut c_int);
    PMPIX_Comm_shrink(c_int, *mut c_int);
    PMPIX_Comm_ishrink(c_int, *mut c_int, *mut c_int);
    PMPIX_Comm_agree(c_int, *mut c_int);
    PMPIX_Comm_iagree(c_int, *mut c_int, *mut c_int);
    PMPIX_Comm_failure_ack(c_int);
    PMPIX_Comm_failure_get_acked(c_int, *mut c_int);
    PMPIX_Comm_get_failed(c_int, *mut c_int);
    PMPIX_Comm_ack_failed(c_int, c_int, *mut c_int);
}

/// One subroutine under all its names: the first argument is the communicator, the last one the
/// error code.
macro_rules! subroutine {
    ($c:ident $more:tt: $($name:ident)*) => { $(subroutine! { $name, $c $more })* };
    ($name:ident, $c:ident($($more:ident),*)) => {
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::missing_safety_doc)]
        pub unsafe extern "C" fn $name(
            comm: *mut c_int, $($more: *mut c_int,)* ierror: *mut c_int,
        ) {
            // SAFETY: Fortran passes the address of each argument.
            unsafe {
                let code = c::$c(*comm, $($more),*);
                set(ierror, code);
            }
        }
    };
}

subroutine! { MPIX_Comm_revoke(): mpix_comm_revoke_ mpix_comm_revoke__
mpix_comm_revoke_f08_ MPIX_COMM_REVOKE }
subroutine! { MPIX_Comm_shrink(new): mpix_comm_shrink_ mpix_comm_shrink__
mpix_comm_shrink_f08_ MPIX_COMM_SHRINK }
subroutine! { MPIX_Comm_ishrink(new, request):
mpix_comm_ishrink_ mpix_comm_ishrink__
mpix_comm_ishrink_f08_ MPIX_COMM_ISHRINK }
subroutine! { MPIX_Comm_agree(flag): mpix_comm_agree_ mpix_comm_agree__
mpix_comm_agree_f08_ MPIX_COMM_AGREE }
subroutine! { MPIX_Comm_iagree(flag, request):
mpix_comm_iagree_ mpix_comm_iagree__
mpix_comm_iagree_f08_ MPIX_COMM_IAGREE }
subroutine! { MPIX_Comm_failure_ack():
mpix_comm_failure_ack_ mpix_comm_failure_ack__
mpix_comm_failure_ack_f08_ MPIX_COMM_FAILURE_ACK }
subroutine! { MPIX_Comm_failure_get_acked(group):
mpix_comm_failure_get_acked_ mpix_comm_failure_get_acked__
mpix_comm_failure_get_acked_f08_ MPIX_COMM_FAILURE_GET_ACKED }
subroutine! { MPIX_Comm_get_failed(group):
mpix_comm_get_failed_ mpix_comm_get_failed__
mpix_comm_get_failed_f08_ MPIX_COMM_GET_FAILED }
subroutine! { PMPIX_Comm_revoke(): pmpix_comm_revoke_ pmpix_comm_revoke__
pmpixr_comm_revoke_f08_ PMPIX_COMM_REVOKE }
subroutine! { PMPIX_Comm_shrink(new): pmpix_comm_shrink_ pmpix_comm_shrink__
pmpixr_comm_shrink_f08_ PMPIX_COMM_SHRINK }
subroutine! { PMPIX_Comm_ishrink(new, request):
pmpix_comm_ishrink_ pmpix_comm_ishrink__
pmpixr_comm_ishrink_f08_ PMPIX_COMM_ISHRINK }
subroutine! { PMPIX_Comm_agree(flag): pmpix_comm_agree_ pmpix_comm_agree__
pmpixr_comm_agree_f08_ PMPIX_COMM_AGREE }
subroutine! { PMPIX_Comm_iagree(flag, request):
pmpix_comm_iagree_ pmpix_comm_iagree__
pmpixr_comm_iagree_f08_ PMPIX_COMM_IAGREE }
subroutine! { PMPIX_Comm_failure_ack():
pmpix_comm_failure_ack_ pmpix_comm_failure_ack__
pmpixr_comm_failure_ack_f08_ PMPIX_COMM_FAILURE_ACK }
subroutine! { PMPIX_Comm_failure_get_acked(group):
pmpix_comm_failure_get_acked_ pmpix_comm_failure_get_acked__
pmpixr_comm_failure_get_acked_f08_ PMPIX_COMM_FAILURE_GET_ACKED }
subroutine! { PMPIX_Comm_get_failed(group):
pmpix_comm_get_failed_ pmpix_comm_get_failed__
pmpixr_comm_get_failed_f08_ PMPIX_COMM_GET_FAILED }

macro_rules! is_revoked {
    ($c:ident: $($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::missing_safety_doc)]
        pub unsafe extern "C" fn $name(comm: *mut c_int, flag: *mut c_int, ierror: *mut c_int) {
            let mut revoked = 0;
            // SAFETY: Fortran passes the address of each argument.
            unsafe {
                let code = c::$c(*comm, &raw mut revoked);
                *flag = logical(revoked);
                set(ierror, code);
            }
        }
    )* };
}

is_revoked! { MPIX_Comm_is_revoked:
mpix_comm_is_revoked_ mpix_comm_is_revoked__
mpix_comm_is_revoked_f08_ MPIX_COMM_IS_REVOKED }
is_revoked! { PMPIX_Comm_is_revoked:
pmpix_comm_is_revoked_ pmpix_comm_is_revoked__
pmpixr_comm_is_revoked_f08_ PMPIX_COMM_IS_REVOKED }

macro_rules! ack_failed {
    ($c:ident: $($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case, clippy::missing_safety_doc)]
        pub unsafe extern "C" fn $name(
            comm: *mut c_int, count: *mut c_int, acked: *mut c_int, ierror: *mut c_int,
        ) {
            // SAFETY: Fortran passes the address of each argument.
            unsafe {
                let code = c::$c(*comm, *count, acked);
                set(ierror, code);
            }
        }
    )* };
}

ack_failed! { MPIX_Comm_ack_failed:
mpix_comm_ack_failed_ mpix_comm_ack_failed__
mpix_comm_ack_failed_f08_ MPIX_COMM_ACK_FAILED }
ack_failed! { PMPIX_Comm_ack_failed:
pmpix_comm_ack_failed_ pmpix_comm_ack_failed__
pmpixr_comm_ack_failed_f08_ PMPIX_COMM_ACK_FAILED }
