//! What several rooms ask of the Linux kernel. Each question is asked in one place, and nothing here
//! knows what the answer is for.

pub mod device_number;
pub mod mountinfo;
pub mod octal;
