//! The processes that the tests of this crate start and kill.
//!
//! - `fitrim`: the child that calls FITRIM ([`trim::child::serve`]);
//! - `hold STATE RUN UUID`: a pass that holds a lock, reports it, and on SIGTERM reports whether it
//!   was cancelled;
//! - `trim STATE RUN MOUNT DEVICE`: a pass of one step that holds the filesystem's lock, reports
//!   when the step is made, and repeats it for each line of input.

use facts::host::DeviceNumber;
use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trim::ByteRange;
use trim::child::{Child, Trimmer};
use trim::state::State;
use trim::stop::Stop;
use trim::target::{Identity, Target};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["fitrim"] => Ok(trim::child::serve()?),
        ["hold", state, run, uuid] => hold(state, run, uuid),
        ["trim", state, run, mount, device] => trim(state, run, mount, device),
        _ => Err("usage: see the head of the source".into()),
    }
}

fn say(text: &str) -> Outcome {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{text}")?;
    Ok(stdout.flush()?)
}

fn hold(state: &str, run: &str, uuid: &str) -> Outcome {
    let terminated = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&terminated))?;
    let state = State::open(state.into(), run.into())?;
    let identity = Identity {
        device: DeviceNumber { major: 7, minor: 0 },
        uuid: Some(uuid.to_owned()),
        fs_type: "ext4".to_owned(),
    };
    let locks = state.lock(&identity, &[])?;
    say("locked")?;
    while !terminated.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(5));
    }
    say(&format!("cancelled {}", state.cancel_requested(uuid)))?;
    drop(locks);
    Ok(())
}

fn trim(state: &str, run: &str, mount: &str, device: &str) -> Outcome {
    let state = State::open(state.into(), run.into())?;
    let target = Target::identify(mount.into(), "ext4", device.into())?;
    let locks = state.lock(&target.identity, &[])?;
    let helper = ["/proc/self/exe", "fitrim"].map(OsString::from).into();
    let mut child = Child::new(helper, target, locks.for_child()?, Stop::default());
    let mut line = String::new();
    loop {
        child.trim(ByteRange::WHOLE, 0)?;
        say("trimmed")?;
        if std::io::stdin().read_line(&mut line)? == 0 {
            return Ok(());
        }
    }
}
