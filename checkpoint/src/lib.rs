//! Format of a process image, and the contract with the boot library.
