//! What Python sees of it.

// Counts of documents, which memory bounds.
#![allow(clippy::cast_possible_wrap)]
// PyO3 hands arguments over by value.
#![allow(clippy::needless_pass_by_value)]

use std::fmt;
use std::path::{Path, PathBuf};
use std::thread;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString};

use super::columns::{Columns, Strings};
use super::judgments::{self, out_of_range};
use super::lines::Fault;
use super::problems::{Failure, shown};
use super::run::{self, Options, Run};
use super::source::Provenance;

/// Bytes of text that a thread takes at a time.
const BLOCK: usize = 1 << 22;

/// Rows of columns that a thread takes at a time.
const ROWS: usize = 1 << 16;

/// Reading and digesting a file is one thread's work at a time; more threads would only wait.
const MOST_THREADS: usize = 8;

/// How many topics without judgments are named.
const NAMED: usize = 10;

type Ints = Py<PyArray1<i64>>;

/// A column of byte strings: offsets and data, as in Arrow's `large_binary`.
type StringArrays<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u8>);

/// The judgments of a collection: which document has which grade for which topic.
#[pyclass(frozen, module = "calipers._core")]
pub struct Judgments(judgments::Judgments);

#[pymethods]
impl Judgments {
    /// Read a qrels file: topic, iteration, document, grade.
    #[staticmethod]
    fn from_file(py: Python, path: PathBuf) -> PyResult<Self> {
        py.detach(|| judgments::Judgments::from_file(&path, BLOCK))
            .map(Self)
            .map_err(|failure| raised(py, failure, &path))
    }

    /// Take grades by topic and document.
    #[staticmethod]
    fn from_dict(py: Python, d: &Bound<PyDict>) -> PyResult<Self> {
        let table = Table::from_dict(d, grade_of)?;
        py.detach(|| judgments::Judgments::from_columns(table.columns()))
            .map(Self)
            .map_err(raised_input)
    }

    /// Take one row a judgment; topics and documents are pairs of offsets and data.
    #[staticmethod]
    fn from_columns(
        py: Python,
        topics: StringArrays,
        docs: StringArrays,
        grades: PyReadonlyArray1<i64>,
    ) -> PyResult<Self> {
        let columns = columns(&topics, &docs, grades.as_slice()?)?;
        py.detach(|| judgments::Judgments::from_columns(columns))
            .map(Self)
            .map_err(raised_input)
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

    /// Size and digest of what was read.
    #[getter]
    fn source<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        source(py, &self.0.provenance)
    }

    /// Read a run file, topic Q0 document rank score tag, and reduce it to its judged documents.
    #[pyo3(signature = (path, float32 = false))]
    fn read_run(&self, py: Python, path: PathBuf, float32: bool) -> PyResult<JudgedRun> {
        py.detach(|| run::read_file(&path, &self.0, options(float32, BLOCK)))
            .map_err(|failure| raised(py, failure, &path))
            .and_then(|run| JudgedRun::new(py, run))
    }

    /// Rank documents by their scores, given by topic and document.
    #[pyo3(signature = (d, float32 = false))]
    fn rank_dict(&self, py: Python, d: &Bound<PyDict>, float32: bool) -> PyResult<JudgedRun> {
        let table = Table::from_dict(d, score_of)?;
        self.rank(py, table.columns(), float32)
    }

    /// Rank documents, one row each; topics and documents are pairs of offsets and data.
    #[pyo3(signature = (topics, docs, scores, float32 = false))]
    fn rank_columns(
        &self,
        py: Python,
        topics: StringArrays,
        docs: StringArrays,
        scores: PyReadonlyArray1<f64>,
        float32: bool,
    ) -> PyResult<JudgedRun> {
        self.rank(py, columns(&topics, &docs, scores.as_slice()?)?, float32)
    }
}

impl Judgments {
    fn rank(&self, py: Python, columns: Columns<f64>, float32: bool) -> PyResult<JudgedRun> {
        py.detach(|| run::read_columns(columns, &self.0, options(float32, ROWS)))
            .map_err(raised_input)
            .and_then(|run| JudgedRun::new(py, run))
    }
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
    /// How many topics of the run nobody judged.
    unjudged_topics: usize,
    /// The first of them.
    unjudged_topic_names: Vec<Py<PyBytes>>,
    tag: Option<Py<PyBytes>>,
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
            unjudged_topics: run.unjudged.len(),
            unjudged_topic_names: run
                .unjudged
                .iter()
                .take(NAMED)
                .map(|name| bytes(name))
                .collect(),
            tag: run.tag.as_deref().map(bytes),
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

struct StringBuffers {
    offsets: Vec<i64>,
    data: Vec<u8>,
}

impl StringBuffers {
    fn push(&mut self, text: &[u8]) {
        self.data.extend_from_slice(text);
        self.offsets.push(self.data.len() as i64);
    }

    fn strings(&self) -> Strings<'_> {
        Strings::new(&self.offsets, &self.data).expect("offsets are made to fit")
    }
}

impl Default for StringBuffers {
    fn default() -> Self {
        Self {
            offsets: vec![0],
            data: Vec::new(),
        }
    }
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
    if is_bool || !value.hasattr("__index__")? {
        let what = format!("{entry}: grade {value}");
        return Err(bad_type(&what, value, "an integer"));
    }
    let grade = value
        .extract::<i32>()
        .map_err(|_| PyValueError::new_err(format!("{entry}: {}", out_of_range(value))))?;
    Ok(i64::from(grade))
}

fn score_of(value: &Bound<PyAny>, entry: Entry) -> PyResult<f64> {
    let Ok(score) = value.extract::<f64>() else {
        let what = format!("{entry}: score {value}");
        return Err(bad_type(&what, value, "a number"));
    };
    if score.is_finite() {
        Ok(score)
    } else {
        Err(PyValueError::new_err(format!(
            "{entry}: {}",
            Fault::NotFinite(score)
        )))
    }
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

fn options(float32: bool, block: usize) -> Options {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Options {
        float32,
        threads: cores.min(MOST_THREADS),
        block,
    }
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

/// The exception for a file: an ordinary `OSError` with its file name, or what is wrong inside.
fn raised(py: Python, failure: Failure, path: &Path) -> PyErr {
    match failure {
        Failure::Input(report) => PyValueError::new_err(report),
        Failure::Io(error) => {
            os_error(py, error.raw_os_error(), path).unwrap_or_else(|error| error)
        }
    }
}

/// Python picks the kind, such as `FileNotFoundError`, by the code.
fn os_error(py: Python, code: Option<i32>, path: &Path) -> PyResult<PyErr> {
    let message = py.import("os")?.call_method1("strerror", (code,))?;
    let error = py
        .get_type::<PyOSError>()
        .call1((code, message, path.as_os_str()))?;
    Ok(PyErr::from_value(error))
}

/// The exception for what is in memory.
fn raised_input(failure: Failure) -> PyErr {
    match failure {
        Failure::Input(report) => PyValueError::new_err(report),
        Failure::Io(error) => error.into(),
    }
}
