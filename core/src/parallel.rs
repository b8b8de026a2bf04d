//! Threads. Nothing else in the core starts one, lets go of the interpreter or attaches to it, and
//! the lints in `clippy.toml` and a test below hold it to that.
//!
//! A loop over data takes a [`Crew`], and only [`detached`] hands one out: by then the calling thread
//! has let go of the interpreter and waits, and the work runs in a pool that never attaches. So a
//! thread that holds the GIL never waits for the pool, nor the pool for the GIL.
//!
//! While it waits, the calling thread looks for signals. If one raises an exception, such as
//! `KeyboardInterrupt`, the crew stops: [`Crew::check`] leaves the work by unwinding. Whatever takes
//! long has to come past it a few times a second.

#![allow(clippy::disallowed_methods)] // the one place that may

use std::any::Any;
use std::hint::black_box;
use std::iter;
use std::mem;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process;
use std::ptr;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator, Zip};
use rayon::slice::{ParallelSlice, ParallelSliceMut};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How long the calling thread waits before it looks for signals.
const PATIENCE: Duration = Duration::from_millis(50);

// ----------------------------------------------------------------------------------- from Python

/// From so many steps on, each of a nanosecond or a few, it is worth waking other threads.
const WORTH_WAKING: usize = 1 << 15;

/// Does the work on the pool, without the interpreter, and stops it when a signal raises. Work of few
/// `steps`, which are multiplied, is done by the calling thread, before anybody could ask to stop.
pub fn detached<const N: usize, R: Send>(
    py: Python<'_>,
    steps: [usize; N],
    work: impl FnOnce(Crew) -> R + Send,
) -> PyResult<R> {
    let steps = steps.into_iter().map(|factor| factor.max(1));
    if steps.fold(1, usize::saturating_mul) < WORTH_WAKING {
        let stop = Stop::default();
        return Ok(at_once(py, || work(Crew::alone(&stop))));
    }
    attended(py, None, |stop, wait| match pool() {
        Some(pool) => on_pool(pool, stop, work, wait),
        // Nobody is left to look for signals.
        None => caught(|| work(Crew::alone(stop))),
    })
}

/// Does the work on a thread of its own: for what waits for a file or a pipe, which would keep a
/// thread of the pool from those who could feed it. Of a thread that handles no signals, who called
/// it may ask for the end by `asked`.
pub fn aside<R: Send>(
    py: Python<'_>,
    asked: Option<&Stop>,
    work: impl FnOnce(&Stop) -> R + Send,
) -> PyResult<R> {
    attended(py, asked, |stop, wait| on_thread(stop, work, wait))
}

/// Does the work on the calling thread, without the interpreter: for what is over before anybody
/// could ask to stop.
pub fn at_once<R: Send>(py: Python<'_>, work: impl FnOnce() -> R + Send) -> R {
    py.detach(work)
}

/// `callable(*arguments)`, of what may let go of the interpreter, as `NumPy` does where it allots memory.
///
/// When the process ends meanwhile, Python before 3.14 ends the thread that wants the interpreter back,
/// by unwinding it. Our frames cannot be unwound so, and the process would abort: this one stays.
pub fn called<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    type Call = unsafe extern "C-unwind" fn(
        *mut ffi::PyObject,
        *mut ffi::PyObject,
        *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    // SAFETY: the function as it is declared, but that it may unwind; the compiler must not see that
    // it is the one that was declared not to.
    let call: Call = unsafe { mem::transmute(black_box(ffi::PyObject_Call as *const ())) };
    let stays = Stays;
    // SAFETY: two objects that live, no keywords; what comes back is owned, or null with an error.
    let made = unsafe {
        let found = call(callable.as_ptr(), arguments.as_ptr(), ptr::null_mut());
        Bound::from_owned_ptr_or_err(callable.py(), found)
    };
    mem::forget(stays);
    made
}

/// Whose end never comes: what unwinds past it waits until the process is gone.
struct Stays;

impl Drop for Stays {
    fn drop(&mut self) {
        loop {
            thread::park();
        }
    }
}

type Outcome<R> = Result<R, Box<dyn Any + Send>>;

/// `run` starts the work and calls back to wait until it is over.
fn attended<R: Send>(
    py: Python<'_>,
    asked: Option<&Stop>,
    run: impl FnOnce(&Stop, &mut dyn FnMut(&Receiver<()>)) -> Outcome<R> + Send,
) -> PyResult<R> {
    let stop = Stop::default();
    let serves_signals = is_main_thread(py)?;
    let (outcome, raised) = at_once(py, || {
        let mut raised = None;
        let outcome = run(&stop, &mut |over| {
            if serves_signals {
                raised = signal_until(over);
                if raised.is_some() {
                    stop.set();
                }
            } else if let Some(asked) = asked {
                while !asked.is_set() && still_at_work(over) {}
                if asked.is_set() {
                    stop.set();
                }
            }
        });
        (outcome, raised)
    });
    match (raised, outcome) {
        (Some(error), _) => Err(error),
        (None, Ok(result)) => Ok(result),
        (None, Err(panic)) => resume_unwind(panic),
    }
}

/// The process whose main thread was looked up last, and the identifier of that thread.
static MAIN: (AtomicU32, AtomicU64) = (AtomicU32::new(0), AtomicU64::new(0));

/// Only the main thread handles signals; another would ask for the interpreter in vain.
///
/// Nothing of this runs Python code, but once a process: there the interpreter may end a thread that
/// it no longer waits for, and to unwind our frames for that would abort the process.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let current: u64 = threading.call_method0("get_ident")?.extract()?;
    let (process, main) = (&MAIN.0, &MAIN.1);
    if process.load(Ordering::Acquire) != process::id() {
        let found = threading.call_method0("main_thread")?.getattr("ident")?;
        main.store(found.extract()?, Ordering::Relaxed);
        process.store(process::id(), Ordering::Release);
    }
    Ok(current == main.load(Ordering::Relaxed))
}

/// Waits a moment for the other end to hang up, and says whether it has not.
fn still_at_work(over: &Receiver<()>) -> bool {
    over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout)
}

/// Waits until the other end hangs up, or a signal has raised an exception.
fn signal_until(over: &Receiver<()>) -> Option<PyErr> {
    while still_at_work(over) {
        #[allow(clippy::redundant_closure_for_method_calls)] // the method is for one lifetime only
        let signals = Python::try_attach(|py| py.check_signals());
        if let Some(Err(error)) = signals {
            return Some(error);
        }
    }
    None
}

fn caught<R>(work: impl FnOnce() -> R) -> Outcome<R> {
    catch_unwind(AssertUnwindSafe(work))
}

fn on_pool<R: Send>(
    pool: &ThreadPool,
    stop: &Stop,
    work: impl FnOnce(Crew) -> R + Send,
    wait: &mut dyn FnMut(&Receiver<()>),
) -> Outcome<R> {
    let (working, over) = channel();
    let mut outcome = None;
    pool.in_place_scope(|scope| {
        let outcome = &mut outcome;
        scope.spawn(move |_| {
            // Hangs up when all is done.
            let _working = working;
            *outcome = Some(caught(|| work(Crew { stop, alone: false })));
        });
        wait(&over);
    });
    outcome.expect("the scope waits for what it spawned")
}

fn on_thread<R: Send>(
    stop: &Stop,
    work: impl FnOnce(&Stop) -> R + Send,
    wait: &mut dyn FnMut(&Receiver<()>),
) -> Outcome<R> {
    let (working, over) = channel();
    // Shared with the thread, which may not come to be.
    let work = std::sync::Mutex::new(Some(work));
    let take = || work.lock().ok().and_then(|mut work| work.take());
    thread::scope(|scope| {
        let run = move || {
            let _working = working;
            take().map(|work| work(stop))
        };
        match thread::Builder::new().spawn_scoped(scope, run) {
            Ok(worker) => {
                wait(&over);
                worker.join()
            }
            Err(_) => caught(|| take().map(|work| work(stop))),
        }
    })
    .map(|result| result.expect("work is taken once"))
}

// --------------------------------------------------------------------------------------- the pool

/// The pool of a process. A forked child has none of its parent's threads and makes its own.
struct Owned {
    process: u32,
    pool: ThreadPool,
}

/// Never locked: in a child, whoever held a lock at the fork would hold it for ever.
static POOL: AtomicPtr<Owned> = AtomicPtr::new(ptr::null_mut());

/// The pool of this process, made when first asked for; none where the system grants no thread.
fn pool() -> Option<&'static ThreadPool> {
    let process = process::id();
    let found = POOL.load(Ordering::Acquire);
    // SAFETY: what is stored there is null or came from a box, and is never freed.
    let known = unsafe { found.as_ref() }.filter(|owned| owned.process == process);
    if let Some(owned) = known {
        return Some(&owned.pool);
    }
    let pool = built()?;
    let made = Box::into_raw(Box::new(Owned { process, pool }));
    // The pool of a parent is left where it is: its threads are not here to be ended.
    match POOL.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: as above.
        Ok(_) => Some(unsafe { &(*made).pool }),
        Err(first) => {
            // SAFETY: `made` was shown to nobody; `first`, of a thread of this process, as above.
            drop(unsafe { Box::from_raw(made) });
            Some(unsafe { &(*first).pool })
        }
    }
}

/// With as many threads as `RAYON_NUM_THREADS` says or there are cores, or fewer where the system
/// grants no more.
fn built() -> Option<ThreadPool> {
    let builder = || ThreadPoolBuilder::new().thread_name(|n| format!("calipers-{n}"));
    [0, 4, 2, 1]
        .into_iter()
        .find_map(|threads| builder().num_threads(threads).build().ok())
}

// ----------------------------------------------------------------------------------- how far it is

/// How many steps of the loop that is now at work are done, and how many there are; 0 of 0 between
/// loops. Of loops at work at once, or in one another, the first is told of.
static DONE: AtomicU64 = AtomicU64::new(0);
static ALL: AtomicU64 = AtomicU64::new(0);

/// How far the loop is that is now at work: steps done, and all of them.
#[pyfunction]
pub fn progress() -> (u64, u64) {
    let all = ALL.load(Ordering::Relaxed);
    (DONE.load(Ordering::Relaxed).min(all), all)
}

/// Counts the steps of a loop, if no other is counted.
struct Meter {
    counts: bool,
    /// Of very many steps, not every one.
    every: usize,
}

impl Meter {
    fn of(steps: usize) -> Self {
        let counts = steps > 1
            && ALL
                .compare_exchange(0, steps as u64, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if counts {
            DONE.store(0, Ordering::Relaxed);
        }
        let every = (steps >> 12).max(1).next_power_of_two();
        Self { counts, every }
    }

    #[inline]
    fn step(&self, place: usize) {
        if self.counts && place & (self.every - 1) == 0 {
            DONE.fetch_add(self.every as u64, Ordering::Relaxed);
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.counts {
            ALL.store(0, Ordering::Relaxed);
        }
    }
}

// --------------------------------------------------------------------------------------- the crew

/// Asks work to stop before its end.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The threads of the pool, or the calling thread alone, for as long as some work takes.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    stop: &'a Stop,
    alone: bool,
}

/// What work is left with when it was asked to stop.
struct Stopped;

/// From here on a slice is sorted by one thread: a few milliseconds of work.
const SORTED_AT_ONCE: usize = 1 << 14;

/// So many values are looked at between two looks for a stop.
const LOOKED_AT: usize = 1 << 12;

impl<'a> Crew<'a> {
    fn alone(stop: &'a Stop) -> Self {
        Self { stop, alone: true }
    }

    /// Leaves the work, by unwinding, if it was asked to stop.
    #[inline]
    pub fn check(self) {
        if self.stop.is_set() {
            resume_unwind(Box::new(Stopped));
        }
    }

    /// A range in pieces of some length, the last of which may be shorter.
    pub fn pieces(self, range: Range<usize>, piece: usize) -> impl Iterator<Item = Range<usize>> {
        let end = range.end;
        range.step_by(piece).map(move |start| {
            self.check();
            start..end.min(start + piece)
        })
    }

    /// The items of an iterator, with a look for a stop now and then.
    pub fn watched<I: IntoIterator>(self, items: I) -> impl Iterator<Item = I::Item> {
        items.into_iter().enumerate().map(move |(at, item)| {
            if at.is_multiple_of(LOOKED_AT) {
                self.check();
            }
            item
        })
    }

    /// Both at once.
    pub fn join<A: Send, B: Send>(
        self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        if self.alone {
            return (first(), second());
        }
        rayon::join(first, second)
    }

    /// What `work` makes of each of the rows and its place.
    pub fn map<R: Rows, T: Send>(
        self,
        rows: R,
        work: impl Fn(usize, R::Row) -> T + Sync + Send,
    ) -> Vec<T> {
        self.map_with(rows, || (), |(), place, row| work(place, row))
    }

    /// The same with something to write on, which one row hands to another.
    pub fn map_with<R: Rows, S, T: Send>(
        self,
        rows: R,
        scratch: impl Fn() -> S + Sync + Send,
        work: impl Fn(&mut S, usize, R::Row) -> T + Sync + Send,
    ) -> Vec<T> {
        if self.alone {
            let mut scratch = scratch();
            let rows = rows.all().enumerate();
            let work = |(place, row)| {
                self.check();
                work(&mut scratch, place, row)
            };
            return rows.map(work).collect();
        }
        let rows = rows.each();
        let meter = Meter::of(rows.len());
        let made = rows
            .enumerate()
            .take_any_while(|_| !self.stop.is_set())
            .map_init(scratch, |scratch, (place, row)| {
                let made = work(scratch, place, row);
                meter.step(place);
                made
            })
            .collect();
        self.check();
        made
    }

    /// What `work` makes of the numbers of a range, put together in any order.
    pub fn reduce<T: Send + Sync + Copy>(
        self,
        range: Range<usize>,
        none: T,
        work: impl Fn(usize) -> T + Sync + Send,
        and: impl Fn(T, T) -> T + Sync + Send,
    ) -> T {
        if self.alone {
            return self.watched(range).map(work).fold(none, and);
        }
        let meter = Meter::of(range.len());
        let made = range
            .into_par_iter()
            .take_any_while(|_| !self.stop.is_set())
            .map(|at| {
                let made = work(at);
                meter.step(at);
                made
            })
            .reduce(|| none, and);
        self.check();
        made
    }

    /// The first of the values that is one of those looked for.
    pub fn position<T: Sync>(
        self,
        values: &[T],
        is: impl Fn(&T) -> bool + Sync + Send,
    ) -> Option<usize> {
        if self.alone {
            return self.watched(values).position(is);
        }
        let part = values.par_chunks(LOOKED_AT).position_first(|values| {
            // No end before the last: so it is done in vectors.
            self.stop.is_set() || values.iter().fold(false, |found, value| found | is(value))
        });
        self.check();
        let start = part? * LOOKED_AT;
        let within = values[start..].iter().position(is)?;
        Some(start + within)
    }

    /// Sorts values, equal ones in any order. Quicksort over threads, by medians of samples, until
    /// the standard library's sort can take a part at once.
    pub fn sort<T: Copy + Ord + Send + Sync>(self, values: &mut [T]) {
        let depth = 2 * values.len().max(1).ilog2();
        self.sort_above(values, None, depth);
    }

    /// `least` is a lower limit that has divided values before.
    fn sort_above<T: Copy + Ord + Send + Sync>(
        self,
        values: &mut [T],
        least: Option<T>,
        depth: u32,
    ) {
        const SAMPLE: usize = 64;
        self.check();
        if values.len() <= SORTED_AT_ONCE || depth == 0 {
            return values.sort_unstable();
        }
        let step = values.len() / SAMPLE;
        let mut sample: [T; SAMPLE] = std::array::from_fn(|at| values[at * step]);
        sample.sort_unstable();
        let pivot = sample[SAMPLE / 2];
        if least == Some(pivot) {
            // So many are equal that the limit came up again; they are in place.
            let end = partition(values, |value| value <= pivot);
            return self.sort_above(&mut values[end..], None, depth - 1);
        }
        let start = partition(values, |value| value < pivot);
        let (below, others) = values.split_at_mut(start);
        self.join(
            || self.sort_above(below, least, depth - 1),
            || self.sort_above(others, Some(pivot), depth - 1),
        );
    }
}

/// Moves those that belong there to the front and counts them, without a branch to mispredict.
fn partition<T: Copy>(values: &mut [T], belongs: impl Fn(T) -> bool) -> usize {
    let mut front = 0;
    for at in 0..values.len() {
        let value = values[at];
        values.swap(at, front);
        front += usize::from(belongs(value));
    }
    front
}

/// What a crew goes over, several rows at once.
pub trait Rows {
    type Row: Send;
    type Each: IndexedParallelIterator<Item = Self::Row>;
    type All: Iterator<Item = Self::Row>;

    /// For several threads.
    fn each(self) -> Self::Each;
    /// For one, one after the other.
    fn all(self) -> Self::All;
}

impl Rows for Range<usize> {
    type Row = usize;
    type Each = rayon::range::Iter<usize>;
    type All = Range<usize>;

    fn each(self) -> Self::Each {
        self.into_par_iter()
    }

    fn all(self) -> Self::All {
        self
    }
}

/// A slice in rows of so many values, the last of which may be shorter. Of no values there are no
/// rows.
pub struct Chunks<S>(pub S, pub usize);

impl<'a, T: Sync> Rows for Chunks<&'a [T]> {
    type Row = &'a [T];
    type Each = rayon::slice::Chunks<'a, T>;
    type All = slice::Chunks<'a, T>;

    fn each(self) -> Self::Each {
        self.0.par_chunks(self.1.max(1))
    }

    fn all(self) -> Self::All {
        self.0.chunks(self.1.max(1))
    }
}

impl<'a, T: Send> Rows for Chunks<&'a mut [T]> {
    type Row = &'a mut [T];
    type Each = rayon::slice::ChunksMut<'a, T>;
    type All = slice::ChunksMut<'a, T>;

    fn each(self) -> Self::Each {
        self.0.par_chunks_mut(self.1.max(1))
    }

    fn all(self) -> Self::All {
        self.0.chunks_mut(self.1.max(1))
    }
}

/// Rows side by side.
impl<A: Rows, B: Rows> Rows for (A, B) {
    type Row = (A::Row, B::Row);
    type Each = Zip<A::Each, B::Each>;
    type All = iter::Zip<A::All, B::All>;

    fn each(self) -> Self::Each {
        self.0.each().zip(self.1.each())
    }

    fn all(self) -> Self::All {
        self.0.all().zip(self.1.all())
    }
}

/// The work of a test, which has no interpreter to let go of.
#[cfg(test)]
pub fn tested<R: Send>(work: impl FnOnce(Crew) -> R + Send) -> R {
    let pool = pool().expect("threads");
    on_pool(pool, &Stop::default(), work, &mut |_| ()).unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    use crate::random::Stream;

    #[test]
    fn nothing_else_knows_of_threads() {
        fn look(folder: &Path) {
            for entry in fs::read_dir(folder).expect("sources") {
                let path = entry.expect("a source").path();
                if path.is_dir() {
                    look(&path);
                } else if !path.ends_with("src/parallel.rs") {
                    let text = fs::read_to_string(&path).expect("text");
                    for word in [
                        "rayon",
                        "::attach(",
                        ".detach(",
                        "par_iter",
                        "disallowed_methods",
                    ] {
                        assert!(!text.contains(word), "{} says {word}", path.display());
                    }
                }
            }
        }
        look(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    }

    #[test]
    fn sorts_as_the_standard_library() {
        let rows = 3 * SORTED_AT_ONCE;
        let stream = Stream::new(1, 0);
        for distinct in [1, 2, 5, 1000, usize::MAX] {
            let below = |at: usize| stream.below(at as u64, distinct);
            let random: Vec<_> = (0..rows).map(below).collect();
            let mut ascending = random.clone();
            ascending.sort_unstable();
            let mut descending = ascending.clone();
            descending.reverse();
            for mut values in [random, descending, ascending.clone()] {
                tested(|crew| crew.sort(&mut values));
                assert!(values == ascending, "{distinct} distinct values");
            }
        }
    }

    #[test]
    fn finds_the_first() {
        let mut values = vec![0; 5 * LOOKED_AT];
        let first = |values: &[i32]| {
            let work = |crew: Crew| crew.position(values, |&value| value == 1);
            let found = tested(work);
            assert_eq!(work(Crew::alone(&Stop::default())), found);
            found
        };
        assert_eq!(first(&values), None);
        for place in [5 * LOOKED_AT - 1, 2 * LOOKED_AT, 7, 0] {
            values[place] = 1;
            assert_eq!(first(&values), Some(place));
        }
    }

    #[test]
    fn rows_keep_their_places() {
        fn work(crew: Crew) {
            let mut doubled = [0; 10];
            let source: Vec<_> = (0..10).collect();
            let rows = (Chunks(&mut doubled[..], 3), Chunks(&source[..], 3));
            let places = crew.map((rows, 5..9), |place, ((to, from), other)| {
                let twice = from.iter().map(|from| 2 * from);
                to.iter_mut().zip(twice).for_each(|(to, from)| *to = from);
                (place, other)
            });
            assert_eq!(places, [(0, 5), (1, 6), (2, 7), (3, 8)]);
            assert_eq!(doubled, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
            let total = crew.reduce(0..100, 0, |place| place, |a, b| a + b);
            assert_eq!(total, 4950);
            assert_eq!(crew.join(|| 1, || 2), (1, 2));
        }
        tested(work);
        work(Crew::alone(&Stop::default()));
    }

    #[test]
    fn work_leaves_when_asked_to() {
        let pool = pool().expect("threads");
        let stop = Stop::default();
        let endless = |crew: Crew| crew.map(0..usize::MAX >> 1, |_, _| ()).len();
        let outcome = on_pool(pool, &stop, endless, &mut |_| stop.set());
        assert!(outcome.expect_err("stopped").is::<Stopped>());
        let endless = |crew: Crew| crew.watched(0_u64..).count();
        let stop = Stop::default();
        let outcome = on_pool(pool, &stop, endless, &mut |_| stop.set());
        assert!(outcome.expect_err("stopped").is::<Stopped>());
    }

    #[test]
    fn a_thread_can_work_alone() {
        let stop = Stop::default();
        let here = thread::current().id();
        let ids = Crew::alone(&stop).map(0..1000, |_, _| thread::current().id());
        assert!(ids.iter().all(|&id| id == here));
        stop.set();
        let stopped = caught(|| Crew::alone(&stop).map(0..1000, |_, _| ()));
        assert!(stopped.expect_err("stopped").is::<Stopped>());
    }

    #[test]
    fn work_aside_ends_as_it_may() {
        let stop = Stop::default();
        let done = on_thread(&stop, |_| 5, &mut |over| {
            over.recv().expect_err("hangs up");
        });
        assert_eq!(done.expect("no panic"), 5);
        let panic = on_thread(
            &stop,
            |_| -> u8 { resume_unwind(Box::new("odd")) },
            &mut |_| (),
        );
        assert!(panic.expect_err("a panic").is::<&str>());
    }
}
