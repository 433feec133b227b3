//! What is asked of the kernel for which no safe interface exists. All unsafe code of the project is here.

mod memory;
mod turns;

pub use memory::give_back_program;
pub use turns::prefer_others;
