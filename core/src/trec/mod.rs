//! TREC judgments and runs.
//!
//! A run is reduced against the judgments while it is read: a topic's rows are ranked as soon as
//! they are complete, and only the judged documents among them are kept. Memory is therefore
//! bounded by the judgments and a few blocks of text, whatever the size of the file; what exceeds
//! it where topics do not stand together waits in a temporary file.

mod columns;
mod contiguous;
mod contradictions;
mod input;
mod judgments;
mod lines;
mod numbers;
mod partitions;
mod problems;
mod python;
mod rank;
mod rows;
mod run;
mod scattered;
mod source;
mod stop;
#[cfg(test)]
mod tests;
mod topic;
mod zstd;

pub use python::{Asked, JudgedRun, Judgments, read_rows};
