//! What the kernel keeps for the process as a whole.

pub mod child_calls;
pub mod credentials;
pub mod ended_children;
pub mod limits;
pub mod process_attributes;
pub mod process_state;
pub mod system_v;
pub mod system_v_memory;
pub mod system_v_objects;
