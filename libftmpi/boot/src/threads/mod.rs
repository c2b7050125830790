//! Other threads of the program: they stand still for an image, and are made again in a restored
//! process.
//!
//! The thread that takes the image sends the agent's signal to each other thread ([`stop`]). Each
//! parks in its handler, where the kernel has saved all its registers in the signal frame
//! ([`parking`]). It writes down what the kernel knows about it ([`thread_state`]), and waits.
//!
//! A restored process begins as its main thread. [`recreate`] makes the others with `clone`, on
//! their old stacks and thread blocks. Each goes on in its handler, waits until all are there, and
//! returns from the signal. The C library sees nothing but new thread ids ([`owned_locks`]).
//!
//! A thread that stays in the kernel, or blocks every signal, cannot be stopped. Then there is no
//! image.

pub mod linker_locks;
pub mod owned_locks;
pub mod parking;
pub mod recreate;
pub mod stop;
pub mod thread_notes;
pub mod thread_numbers;
pub mod thread_state;
