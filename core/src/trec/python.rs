//! What Python sees of it.

// Counts of documents, which memory bounds.
#![allow(clippy::cast_possible_wrap)]
// PyO3 hands arguments over by value.
#![allow(clippy::needless_pass_by_value)]

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::io;
use std::path::Path;
use std::thread;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString};

use super::columns::{Columns, StringBuffers, Strings};
use super::input::Given;
use super::judgments::{self, out_of_range};
use super::lines::{Fault, Kind};
use super::problems::{Failure, named, shown};
use super::rows::{self, Numbers, Rows};
use super::run::{self, Context, Options, Run};
use super::source::Provenance;
use super::stop::Stop;
use crate::parallel::{aside, at_once};

/// Bytes of text that a thread takes at a time: so few that they stay in its cache from the kernel's
/// copy until they are parsed.
const BLOCK: usize = 1 << 20;

/// Rows of columns that a thread takes at a time.
const ROWS: usize = 1 << 16;

/// Reading and digesting a file is one thread's work at a time; more threads would only wait.
const MOST_THREADS: usize = 8;

/// Bytes of rows that may wait in memory where topics do not stand together.
const BUDGET: usize = 1 << 26;

/// How many topics without judgments are named.
const NAMED: usize = 10;

type Ints = Py<PyArray1<i64>>;

/// A column of byte strings: offsets and data, as in Arrow's `large_binary`.
type StringArrays<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>);

impl FromPyObject<'_, '_> for Given {
    type Error = PyErr;

    fn extract(path: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let begun = path.getattr_opt("begun")?;
        let file = path.getattr_opt("file")?;
        Ok(Self {
            path: path.extract()?,
            begun: begun.map_or(Ok(Vec::new()), |begun| begun.extract())?,
            file: file.map(|file| file.extract()).transpose()?,
        })
    }
}

/// Asks those who read for another thread, which alone learns of Ctrl-C, to stop.
#[pyclass(frozen, name = "Stop", module = "calipers._core")]
#[derive(Default)]
pub struct Asked(Stop);

#[pymethods]
impl Asked {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn set(&self) {
        self.0.set();
    }
}

/// The judgments of a collection: which document has which grade for which topic.
#[pyclass(frozen, module = "calipers._core")]
pub struct Judgments(judgments::Judgments);

#[pymethods]
impl Judgments {
    /// Read a qrels file: topic, iteration, document, grade. `-` is standard input.
    #[staticmethod]
    #[pyo3(signature = (path, lenient = false))]
    fn from_file(py: Python, path: Given, lenient: bool) -> PyResult<Self> {
        let read = |stop: &Stop| judgments::Judgments::from_file(&path, lenient, BLOCK, stop);
        watched(py, Some(&path.path), read).map(Self)
    }

    /// Take grades by topic and document.
    #[staticmethod]
    fn from_dict(py: Python, d: &Bound<PyDict>) -> PyResult<Self> {
        let table = Table::from_dict(d, grade_of)?;
        Self::new(py, table.columns())
    }

    /// Take one row a judgment; topics and documents are pairs of offsets and data.
    #[staticmethod]
    fn from_columns(
        py: Python,
        topics: StringArrays,
        docs: StringArrays,
        grades: PyReadonlyArray1<i64>,
    ) -> PyResult<Self> {
        Self::new(py, columns(&topics, &docs, grades.as_slice()?)?)
    }

    /// The topics in ascending order.
    #[getter]
    fn topics<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.0.names().map(|name| PyBytes::new(py, name)).collect()
    }

    /// For each topic its distinct grades, descending, and how many documents have each: offsets,
    /// grades, counts.
    fn grades(&self, py: Python) -> (Ints, Ints, Ints) {
        let (mut offsets, mut grades, mut counts) = (vec![0], Vec::new(), Vec::new());
        for topic in self.0.grades() {
            for (grade, count) in topic {
                grades.push(i64::from(grade));
                counts.push(count as i64);
            }
            offsets.push(grades.len() as i64);
        }
        (array(py, offsets), array(py, grades), array(py, counts))
    }

    /// What is wrong with single topics, by their places; only lenient reading goes on with them.
    #[getter]
    fn wrong(&self) -> BTreeMap<usize, String> {
        self.0.wrong.iter().cloned().collect()
    }

    /// Size and digest of what was read.
    #[getter]
    fn source<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        source(py, &self.0.provenance)
    }

    /// Read a run file, topic Q0 document rank score tag, and reduce it to its judged documents.
    /// `-` is standard input.
    #[pyo3(signature = (
        path, float32 = false, lenient = false, ascending = false, *,
        depth = None, threads = None, budget = BUDGET, asked = None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn read_run(
        &self,
        py: Python,
        path: Given,
        float32: bool,
        lenient: bool,
        ascending: bool,
        depth: Option<usize>,
        threads: Option<usize>,
        budget: usize,
        asked: Option<&Asked>,
    ) -> PyResult<JudgedRun> {
        let options = Options {
            float32,
            lenient,
            depth: depth.unwrap_or(usize::MAX),
            ascending,
            threads: threads_of(threads)?,
            block: BLOCK,
            budget,
        };
        let read = |stop: &Stop| run::read_file(&path, self.context(options, stop));
        let run = aside(py, asked.map(|asked| &asked.0), read)?
            .map_err(|failure| raised(py, failure, Some(&path.path)))?;
        JudgedRun::new(py, run)
    }

    /// Rank documents by their scores, given by topic and document.
    #[pyo3(signature = (d, float32 = false, lenient = false, ascending = false))]
    fn rank_dict(
        &self,
        py: Python,
        d: &Bound<PyDict>,
        float32: bool,
        lenient: bool,
        ascending: bool,
    ) -> PyResult<JudgedRun> {
        let table = Table::from_dict(d, if lenient { any_score_of } else { score_of })?;
        self.rank(py, table.columns(), float32, lenient, ascending)
    }

    /// Rank documents, one row each; topics and documents are pairs of offsets and data.
    #[pyo3(signature = (topics, docs, scores, float32 = false, lenient = false, ascending = false))]
    #[allow(clippy::too_many_arguments)]
    fn rank_columns(
        &self,
        py: Python,
        topics: StringArrays,
        docs: StringArrays,
        scores: PyReadonlyArray1<f64>,
        float32: bool,
        lenient: bool,
        ascending: bool,
    ) -> PyResult<JudgedRun> {
        let columns = columns(&topics, &docs, scores.as_slice()?)?;
        self.rank(py, columns, float32, lenient, ascending)
    }
}

impl Judgments {
    fn new(py: Python, columns: Columns<i64>) -> PyResult<Self> {
        let rows = columns.values.len();
        let take = |stop: &Stop| judgments::Judgments::from_columns(columns, stop);
        in_memory(py, rows, take).map(Self)
    }

    fn rank(
        &self,
        py: Python,
        columns: Columns<f64>,
        float32: bool,
        lenient: bool,
        ascending: bool,
    ) -> PyResult<JudgedRun> {
        let rows = columns.values.len();
        let options = Options {
            float32,
            lenient,
            depth: usize::MAX,
            ascending,
            threads: threads_of(None)?.min(rows.div_ceil(ROWS).max(1)),
            block: ROWS,
            budget: BUDGET,
        };
        let rank = |stop: &Stop| run::read_columns(columns, self.context(options, stop));
        let run = in_memory(py, rows, rank)?;
        JudgedRun::new(py, run)
    }

    fn context<'a>(&'a self, options: Options, stop: &'a Stop) -> Context<'a> {
        Context {
            judgments: &self.0,
            options,
            stop,
        }
    }
}

/// Read every row of a file as columns. Columns of text are pairs of offsets and data. `-` is
/// standard input. Whether it holds groups or preferences, its first line tells.
#[pyfunction]
#[pyo3(signature = (path, kind, lenient = false))]
pub fn read_rows<'py>(
    py: Python<'py>,
    path: Given,
    kind: &str,
    lenient: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let kind = match kind {
        "run" => Some(Kind::Run),
        "qrels" => Some(Kind::Qrels),
        "groups" => Some(Kind::Groups),
        "prefs" => Some(Kind::Prefs),
        "groups or prefs" => None,
        "zscores" => Some(Kind::ZScores),
        _ => {
            return Err(PyValueError::new_err(format!(
                "kind is {kind:?}, expected \"run\", \"qrels\", \"groups\", \"prefs\", \
                 \"groups or prefs\" or \"zscores\""
            )));
        }
    };
    let read = |stop: &Stop| rows::read_rows(&path, kind, lenient, BLOCK, stop);
    let Rows {
        texts,
        numbers,
        lines,
        provenance,
    } = watched(py, Some(&path.path), read)?;
    let columns = PyDict::new(py);
    for (name, StringBuffers { offsets, data }) in texts {
        columns.set_item(name, (offsets.into_pyarray(py), data.into_pyarray(py)))?;
    }
    match numbers {
        Numbers::Whole(name, values) => columns.set_item(name, values.into_pyarray(py))?,
        Numbers::Real(name, values) => columns.set_item(name, values.into_pyarray(py))?,
        Numbers::None => {}
    }
    columns.set_item("line", lines.into_pyarray(py))?;
    columns.set_item("source", source(py, &provenance)?)?;
    Ok(columns)
}

/// A run reduced to its judged documents, topic after topic in the order of the judgments.
#[pyclass(frozen, get_all, module = "calipers._core")]
pub struct JudgedRun {
    /// How many documents were retrieved for each topic.
    retrieved: Ints,
    /// Where each topic starts in the arrays that follow.
    offsets: Ints,
    rank: Ints,
    grade: Ints,
    /// The first rank with the same score.
    tied_from: Ints,
    /// The last rank with the same score.
    tied_to: Ints,
    /// What is wrong with single topics, by their places; only lenient reading goes on with them.
    wrong: BTreeMap<usize, String>,
    /// How many topics of the run nobody judged.
    unjudged_topics: usize,
    /// The first of them.
    unjudged_topic_names: Vec<Py<PyBytes>>,
    tag: Option<Py<PyBytes>>,
    /// Of rows in a file whose rank contradicts that of the row before: the line of the first, its
    /// two ranks, of which the larger number has the higher score, and how many there are.
    contradictions: Option<(u64, u64, u64, u64)>,
    source: Py<PyDict>,
}

impl JudgedRun {
    fn new(py: Python, run: Run) -> PyResult<Self> {
        let hits = || run.topics.iter().flat_map(|topic| &topic.hits);
        let offsets = run.topics.iter().scan(0, |end, topic| {
            *end += topic.hits.len() as i64;
            Some(*end)
        });
        let bytes = |name: &[u8]| PyBytes::new(py, name).unbind();
        Ok(Self {
            retrieved: array(
                py,
                run.topics
                    .iter()
                    .map(|topic| topic.retrieved as i64)
                    .collect(),
            ),
            offsets: array(py, [0].into_iter().chain(offsets).collect()),
            rank: array(py, hits().map(|hit| hit.rank as i64).collect()),
            grade: array(py, hits().map(|hit| i64::from(hit.grade)).collect()),
            tied_from: array(py, hits().map(|hit| hit.tied.0 as i64).collect()),
            tied_to: array(py, hits().map(|hit| hit.tied.1 as i64).collect()),
            wrong: run.wrong.into_iter().collect(),
            unjudged_topics: run.unjudged.len(),
            unjudged_topic_names: run
                .unjudged
                .iter()
                .take(NAMED)
                .map(|name| bytes(name))
                .collect(),
            tag: run.tag.as_deref().map(bytes),
            contradictions: run
                .contradictions
                .first
                .map(|first| (first.at, first.rank, first.other, run.contradictions.total)),
            source: source(py, &run.provenance)?.unbind(),
        })
    }
}

/// Topic, document and value of every entry of a dict of dicts.
struct Table<V> {
    topics: StringBuffers,
    docs: StringBuffers,
    values: Vec<V>,
}

impl<V> Table<V> {
    fn from_dict(
        d: &Bound<PyDict>,
        value_of: fn(&Bound<PyAny>, Entry) -> PyResult<V>,
    ) -> PyResult<Self> {
        let mut table = Self {
            topics: StringBuffers::default(),
            docs: StringBuffers::default(),
            values: Vec::new(),
        };
        for (topic, entries) in d {
            let topic = id_of(&topic, "topic")?;
            let Ok(entries) = entries.cast::<PyDict>() else {
                let what = format!("topic {}", shown(topic));
                return Err(bad_type(&what, &entries, "a dict"));
            };
            for (doc, value) in entries {
                if table.values.len().is_multiple_of(ROWS) {
                    d.py().check_signals()?;
                }
                let doc = id_of(&doc, "document")?;
                let value = value_of(&value, Entry { topic, doc })?;
                table.topics.push(topic);
                table.docs.push(doc);
                table.values.push(value);
            }
        }
        Ok(table)
    }

    fn columns(&self) -> Columns<'_, V> {
        let (topics, docs) = (self.topics.strings(), self.docs.strings());
        Columns::new(topics, docs, &self.values).expect("columns are filled together")
    }
}

/// An id as Python gives it: text, which counts as UTF-8, or bytes.
fn id_of<'a>(key: &'a Bound<PyAny>, what: &str) -> PyResult<&'a [u8]> {
    if let Ok(text) = key.cast::<PyString>() {
        text.to_str().map(str::as_bytes)
    } else if let Ok(bytes) = key.cast::<PyBytes>() {
        Ok(bytes.as_bytes())
    } else {
        let what = format!("{what} {}", key.repr()?);
        Err(bad_type(&what, key, "str or bytes"))
    }
}

/// Which entry of a dict of dicts a message is about.
#[derive(Clone, Copy)]
struct Entry<'a> {
    topic: &'a [u8],
    doc: &'a [u8],
}

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (topic, doc) = (shown(self.topic), shown(self.doc));
        write!(f, "topic {topic}, document {doc}")
    }
}

fn grade_of(value: &Bound<PyAny>, entry: Entry) -> PyResult<i64> {
    let is_bool = value.is_instance_of::<PyBool>();
    if is_masked(value) {
        return Err(missing(entry, "grade"));
    }
    if is_bool || !value.hasattr("__index__")? {
        if is_absent(value) {
            return Err(missing(entry, "grade"));
        }
        let what = format!("{entry}: grade {value}");
        return Err(bad_type(&what, value, "an integer"));
    }
    let grade = value
        .extract::<i32>()
        .map_err(|_| PyValueError::new_err(format!("{entry}: {}", out_of_range(value))))?;
    Ok(i64::from(grade))
}

fn any_score_of(value: &Bound<PyAny>, entry: Entry) -> PyResult<f64> {
    if is_masked(value) {
        return Err(missing(entry, "score")); // as a float it would be NaN, and a warning
    }
    value.extract().map_err(|_| {
        if is_absent(value) {
            return missing(entry, "score");
        }
        let what = format!("{entry}: score {value}");
        bad_type(&what, value, "a number")
    })
}

fn score_of(value: &Bound<PyAny>, entry: Entry) -> PyResult<f64> {
    let score = any_score_of(value, entry)?;
    if score.is_nan() {
        return Err(PyValueError::new_err(format!("{entry}: {}", Fault::NaN)));
    }
    Ok(score)
}

/// `masked` of `NumPy`.
fn is_masked(value: &Bound<PyAny>) -> bool {
    let plain = value.is_exact_instance_of::<PyFloat>() || value.is_exact_instance_of::<PyInt>();
    !plain && is_of_type(value, &["MaskedConstant"])
}

/// Whether a value says that there is none: None, NaN, `NA`, `NaT`.
fn is_absent(value: &Bound<PyAny>) -> bool {
    value.is_none() || is_of_type(value, &["NAType", "NaTType"]) || value.ne(value).unwrap_or(false)
}

fn is_of_type(value: &Bound<PyAny>, names: &[&str]) -> bool {
    let name = value.get_type().name();
    name.is_ok_and(|name| names.iter().any(|one| name == *one))
}

fn missing(entry: Entry, what: &str) -> PyErr {
    PyValueError::new_err(format!("{entry}: the {what} is missing"))
}

fn bad_type(what: &str, value: &Bound<PyAny>, expected: &str) -> PyErr {
    match value.get_type().name() {
        Ok(kind) => PyTypeError::new_err(format!("{what} is of type {kind}, expected {expected}")),
        Err(error) => error,
    }
}

fn columns<'a, V>(
    topics: &'a StringArrays,
    docs: &'a StringArrays,
    values: &'a [V],
) -> PyResult<Columns<'a, V>> {
    let strings = |arrays: &'a StringArrays, what| {
        Strings::new(arrays.0.as_slice()?, arrays.1.as_slice()?)
            .map_err(|wrong| PyValueError::new_err(format!("{what}: {wrong}")))
    };
    Columns::new(strings(topics, "topics")?, strings(docs, "docs")?, values)
        .map_err(PyValueError::new_err)
}

fn threads_of(asked: Option<usize>) -> PyResult<usize> {
    match asked {
        Some(0) => Err(PyValueError::new_err("threads is 0, expected at least 1")),
        Some(threads) => Ok(threads),
        None => {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            Ok(cores.min(MOST_THREADS))
        }
    }
}

/// Reads aside, until Ctrl-C. What fails is about the file at `path`, or about what is in memory.
fn watched<T: Send>(
    py: Python,
    path: Option<&Path>,
    work: impl FnOnce(&Stop) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    aside(py, None, work)?.map_err(|failure| raised(py, failure, path))
}

/// The same of rows in memory. A few are done before anybody could ask to stop, and a thread of its
/// own would take longer.
fn in_memory<T: Send>(
    py: Python,
    rows: usize,
    work: impl FnOnce(&Stop) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    if rows > ROWS {
        return watched(py, None, work);
    }
    at_once(py, || work(&Stop::default())).map_err(|failure| raised(py, failure, None))
}

fn array(py: Python, values: Vec<i64>) -> Ints {
    values.into_pyarray(py).unbind()
}

fn source<'py>(py: Python<'py>, provenance: &Provenance) -> PyResult<Bound<'py, PyDict>> {
    let (bytes, sha256) = provenance.stored.clone().unzip();
    let source = PyDict::new(py);
    source.set_item("lines", provenance.lines)?;
    source.set_item("bytes", bytes)?;
    source.set_item("sha256", sha256)?;
    Ok(source)
}

/// The exception: what is wrong inside, or an ordinary `OSError` with its file name.
fn raised(py: Python, failure: Failure, path: Option<&Path>) -> PyErr {
    let error = match (failure, path) {
        (Failure::Input(report), _) => return PyValueError::new_err(report),
        (Failure::Io(error), Some(path)) => os_error(py, "", &error, named(path)),
        (Failure::Io(error), None) => return error.into(),
        (Failure::Temporary(error), _) => {
            let folder = env::temp_dir();
            let what = format!(
                "cannot keep rows in a temporary file in {}: ",
                folder.display()
            );
            os_error(py, &what, &error, path.map_or(folder.as_path(), named))
        }
        (Failure::Stopped, _) => return PyKeyboardInterrupt::new_err(()),
    };
    error.unwrap_or_else(|error| error)
}

/// Python picks the kind, such as `FileNotFoundError`, by the code.
fn os_error(py: Python, what: &str, error: &io::Error, path: &Path) -> PyResult<PyErr> {
    let code = error.raw_os_error();
    let message = match code {
        Some(code) => py
            .import("os")?
            .call_method1("strerror", (code,))?
            .extract()?,
        None => error.to_string(),
    };
    let error =
        py.get_type::<PyOSError>()
            .call1((code, format!("{what}{message}"), path.as_os_str()))?;
    Ok(PyErr::from_value(error))
}
