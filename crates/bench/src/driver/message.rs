//! Requests as they are sent.

use std::fmt;
use zeroize::Zeroizing;

/// A request that is ready to be sent.
#[derive(Clone, Copy)]
pub(super) struct Message<'a> {
    /// The head, and the body unless it is kept elsewhere.
    pub(super) front: &'a [u8],
    /// A body that is kept elsewhere, or nothing.
    pub(super) rest: &'a [u8],
}

/// Bytes that hold credentials: they are zeroed when they are dropped, and when they move to a larger place.
#[derive(Clone, Default)]
pub(super) struct SecretBytes(Zeroizing<Vec<u8>>);

impl SecretBytes {
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let len = self.0.len() + bytes.len();
        if len > self.0.capacity() {
            let mut larger = Zeroizing::new(Vec::with_capacity(len.next_power_of_two()));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }
}

impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} bytes)", self.0.len())
    }
}
