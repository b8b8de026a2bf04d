//! Asking a read to stop before its end; its threads look every block.

use super::problems::Failure;

pub use crate::parallel::Stop;

impl Stop {
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_set() {
            Err(Failure::Stopped)
        } else {
            Ok(())
        }
    }
}
