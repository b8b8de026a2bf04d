//! TREC judgments and runs.
//!
//! A run is reduced against the judgments while it is read: a topic's rows are ranked as soon as
//! they are complete, and only the judged documents among them are kept. Memory is therefore
//! bounded by the judgments and a few blocks of text, whatever the size of the file.

mod columns;
mod judgments;
mod lines;
mod problems;
mod python;
mod rank;
mod run;
mod source;
#[cfg(test)]
mod tests;
mod topic;
mod zstd;

pub use python::{JudgedRun, Judgments};
