//! MPICH's own extensions: names that a program linked to MPICH may need in order to start.
//!
//! Guarantees: questions about optional hardware are answered with "no". All other functions report
//! that they are not supported, without reading their arguments; they are declared without
//! arguments.

use crate::calls::{anywhere, enter, on_requests, unsupported};
use crate::generalized::{Places, settle};
use crate::memory::Out;
use ftmpi_core::mpi::Request;
use std::ffi::{c_int, c_void};

macro_rules! unsupported {
    ($($name:ident $twin:ident;)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $name() -> c_int {
            unsupported(stringify!($name))
        }

        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $twin() -> c_int {
            unsupported(stringify!($name))
        }
    )* };
}

unsupported! {
    MPIX_Allreduce_enqueue PMPIX_Allreduce_enqueue;
    MPIX_Allreduce_enqueue_c PMPIX_Allreduce_enqueue_c;
    MPIX_Async_get_state PMPIX_Async_get_state;
    MPIX_Async_spawn PMPIX_Async_spawn;
    MPIX_Async_start PMPIX_Async_start;
    MPIX_Comm_create_errhandler_x PMPIX_Comm_create_errhandler_x;
    MPIX_Comm_get_stream PMPIX_Comm_get_stream;
    MPIX_Comm_test_threadcomm PMPIX_Comm_test_threadcomm;
    MPIX_File_create_errhandler_x PMPIX_File_create_errhandler_x;
    MPIX_Grequest_class_allocate PMPIX_Grequest_class_allocate;
    MPIX_Grequest_class_create PMPIX_Grequest_class_create;
    MPIX_Grequest_start PMPIX_Grequest_start;
    MPIX_Info_set_hex PMPIX_Info_set_hex;
    MPIX_Irecv_enqueue PMPIX_Irecv_enqueue;
    MPIX_Irecv_enqueue_c PMPIX_Irecv_enqueue_c;
    MPIX_Isend_enqueue PMPIX_Isend_enqueue;
    MPIX_Isend_enqueue_c PMPIX_Isend_enqueue_c;
    MPIX_Op_create_x PMPIX_Op_create_x;
    MPIX_Recv_enqueue PMPIX_Recv_enqueue;
    MPIX_Recv_enqueue_c PMPIX_Recv_enqueue_c;
    MPIX_Send_enqueue PMPIX_Send_enqueue;
    MPIX_Send_enqueue_c PMPIX_Send_enqueue_c;
    MPIX_Session_create_errhandler_x PMPIX_Session_create_errhandler_x;
    MPIX_Start_progress_thread PMPIX_Start_progress_thread;
    MPIX_Stop_progress_thread PMPIX_Stop_progress_thread;
    MPIX_Stream_comm_create PMPIX_Stream_comm_create;
    MPIX_Stream_comm_create_multiplex PMPIX_Stream_comm_create_multiplex;
    MPIX_Stream_create PMPIX_Stream_create;
    MPIX_Stream_free PMPIX_Stream_free;
    MPIX_Stream_irecv PMPIX_Stream_irecv;
    MPIX_Stream_irecv_c PMPIX_Stream_irecv_c;
    MPIX_Stream_isend PMPIX_Stream_isend;
    MPIX_Stream_isend_c PMPIX_Stream_isend_c;
    MPIX_Stream_progress PMPIX_Stream_progress;
    MPIX_Stream_recv PMPIX_Stream_recv;
    MPIX_Stream_recv_c PMPIX_Stream_recv_c;
    MPIX_Stream_send PMPIX_Stream_send;
    MPIX_Stream_send_c PMPIX_Stream_send_c;
    MPIX_Threadcomm_finish PMPIX_Threadcomm_finish;
    MPIX_Threadcomm_free PMPIX_Threadcomm_free;
    MPIX_Threadcomm_init PMPIX_Threadcomm_init;
    MPIX_Threadcomm_start PMPIX_Threadcomm_start;
    MPIX_Type_iov PMPIX_Type_iov;
    MPIX_Type_iov_len PMPIX_Type_iov_len;
    MPIX_Wait_enqueue PMPIX_Wait_enqueue;
    MPIX_Waitall_enqueue PMPIX_Waitall_enqueue;
    MPIX_Win_create_errhandler_x PMPIX_Win_create_errhandler_x;
}

/// Whether buffers may lie in a GPU's memory: they may not.
macro_rules! hardware {
    ($($name:ident $twin:ident;)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $name() -> c_int {
            0
        }

        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $twin() -> c_int {
            0
        }
    )* };
}

hardware! {
    MPIX_Query_cuda_support PMPIX_Query_cuda_support;
    MPIX_Query_hip_support PMPIX_Query_hip_support;
    MPIX_Query_ze_support PMPIX_Query_ze_support;
}

/// Whether a request is complete, which stays as it is.
macro_rules! is_complete {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $name(request: Request) -> c_int {
            let _inside = enter(&"MPIX_Request_is_complete");
            let mut complete = false;
            on_requests("MPIX_Request_is_complete", |job| {
                complete = job.request_get_status(request)?.is_some();
                Ok(())
            });
            settle("MPIX_Request_is_complete", c_int::from(complete), Places::None)
        }
    )* };
}

is_complete! { MPIX_Request_is_complete PMPIX_Request_is_complete }

macro_rules! gpu_support {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $name(_kind: c_int, supported: Out<c_int>) -> c_int {
            anywhere("MPIX_GPU_query_support", || supported.put(0))
        }
    )* };
}

gpu_support! { MPIX_GPU_query_support PMPIX_GPU_query_support }

/// A constant of `mpi.h` that is an exported variable: stands for all handles of a performance
/// variable.
#[repr(transparent)]
pub struct Sentinel(*const c_void);

// SAFETY: the pointer is never followed and never written; it is only compared.
unsafe impl Sync for Sentinel {}

impl Sentinel {
    /// The value that stands for all handles.
    pub fn address(&self) -> *const c_void {
        self.0
    }
}

static ALL_HANDLES: c_int = 0;

#[unsafe(no_mangle)]
pub static MPI_T_PVAR_ALL_HANDLES: Sentinel = Sentinel(&raw const ALL_HANDLES as *const c_void);
