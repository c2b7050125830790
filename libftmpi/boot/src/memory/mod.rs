//! The memory of the process: its mappings, and what the kernel keeps for each page.

pub mod copies;
pub mod data_files;
pub mod known_hashes;
pub mod layout;
pub mod locked_memory;
pub mod mapped_files;
pub mod mappings;
pub mod moved_files;
pub mod page_attributes;
pub mod page_scanner;
pub mod register_areas;
pub mod vdso;
pub mod window;
