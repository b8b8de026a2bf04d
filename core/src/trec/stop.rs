//! Asking a read to stop before its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::problems::Failure;

/// Shared by whoever asks and the threads that work; these look at it every block.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn check(&self) -> Result<(), Failure> {
        if self.is_set() {
            Err(Failure::Stopped)
        } else {
            Ok(())
        }
    }
}
