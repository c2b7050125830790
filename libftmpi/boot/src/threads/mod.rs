//! Other threads of the program: they stand still while an image is taken, and are made again in the
//! restored process.
//!
//! To stop them, the thread that takes the image sends each the engine's signal; each parks in its
//! handler, where the kernel has saved all its registers in the signal frame (as wide as the
//! processor has them), writes down what the kernel knows about it, and waits. A restored process
//! begins as its main thread; [`recreate_all`] makes the others with `clone` on their old stacks and
//! thread blocks, each goes on in its handler, waits until all are there, and returns from the
//! signal. The C library notices nothing but new thread ids (see [`crate::threads::owned_locks`]).
//!
//! A thread that stays in the kernel or blocks every signal cannot be stopped: no image then.

pub mod linker_locks;
pub mod owned_locks;
pub mod parking;
pub mod recreate;
pub mod stop;
pub mod thread_notes;
pub mod thread_state;
