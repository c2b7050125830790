//! The memory of the process: its mappings, and what the kernel keeps for each page.

pub mod data_files;
pub mod mappings;
pub mod page_attributes;
pub mod page_scanner;
