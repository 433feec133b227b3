//! What is asked of the kernel for which no safe interface exists. All unsafe code of the project is here.

mod memory;
mod pauses;
mod turns;

pub use memory::give_back_program;
pub use pauses::{Pauses, time_of_thread};
pub use turns::{come_soon, let_stand_back, stand_back, stands_back};
