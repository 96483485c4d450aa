//! Runs the responder on a port until it is killed, for other load drivers to be run on it.
//!
//! `respond [ADDRESS [STALL_MS]]`, by default 127.0.0.1:9400 without stalls; stalls come every second.

use bench::testing::{Behaviour, Responder, Stall};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments
        .next()
        .unwrap_or_else(|| "127.0.0.1:9400".to_owned());
    let stall_ms: Option<u64> = arguments.next().map(|text| text.parse()).transpose()?;
    let responder = Responder::on(
        &address,
        Behaviour {
            stall: stall_ms.map(|stall_ms| Stall {
                every: Duration::from_secs(1),
                len: Duration::from_millis(stall_ms),
            }),
            ..Behaviour::default()
        },
    )?;
    println!("http://{}", responder.address());
    loop {
        std::thread::sleep(Duration::from_mins(1));
    }
}
