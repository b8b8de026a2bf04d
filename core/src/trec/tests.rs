//! Random files in tiny blocks and on several threads against a plain statement of the rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::columns::{Columns, Strings};
use super::contradictions::{Contradiction, Contradictions};
use super::input::Given;
use super::judgments::Judgments;
use super::lines::{Fault, Format, Kind, LONGEST, low_bytes, low_of_word};
use super::numbers::short_decimal;
use super::partitions::{PARTITIONS, Partitions, Row, Scattered, rows};
use super::problems::{Failure, Problems, shown};
use super::rank::{Hit, Ranked};
use super::run::{Context, Options, Run, read_columns, read_file};
use super::stop::Stop;

const BLOCKS: [usize; 4] = [1, 64, 500, 1 << 20];

const OPTIONS: Options = Options {
    float32: false,
    lenient: false,
    depth: usize::MAX,
    ascending: false,
    threads: 1,
    block: 1 << 20,
    budget: 1 << 26,
};

/// A file that goes with the test.
struct TestFile(PathBuf);

impl TestFile {
    fn new(content: impl AsRef<[u8]>) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("calipers-{}-{count}.txt", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, content).expect("the folder for temporary files takes one");
        Self(path)
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A small generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % end
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

type Grades = HashMap<(String, String), i32>;

fn random_grades(random: &mut Random) -> Grades {
    let judged = |random: &mut Random| {
        let topic = format!("t{}", random.below(8));
        let grade = i32::try_from(random.below(5)).expect("small") - 1;
        ((topic, format!("d{}", random.below(40))), grade)
    };
    (0..60).map(|_| judged(random)).collect()
}

fn judgments_of(grades: &Grades) -> Judgments {
    let text = grades
        .iter()
        .fold(String::new(), |mut text, ((topic, doc), grade)| {
            let _ = writeln!(text, "{topic} 0 {doc} {grade}");
            text
        });
    Judgments::from_file(
        &Given::from(TestFile::new(text).0.as_path()),
        false,
        64,
        &Stop::default(),
    )
    .expect("the judgments are good")
}

/// What else stands in a run.
#[derive(Clone, Copy, PartialEq)]
enum Among {
    Good,
    /// Lines that are wrong.
    Bad,
    /// Numbers and documents that only lenient reading accepts.
    Odd,
}

/// Lines of a run, in order of their topics, mostly.
fn random_run(random: &mut Random, among: Among) -> String {
    let bad = among == Among::Bad;
    let odd = among == Among::Odd;
    let interleaved = random.once_in(2);
    let sorted = random.once_in(2);
    let mut rows = BTreeSet::new();
    for _ in 0..=random.below(200) {
        rows.insert((random.below(12), random.below(50)));
    }
    let mut lines = Vec::new();
    let places = if interleaved { 1000 } else { 1 };
    let mut rows: Vec<_> = rows
        .into_iter()
        .map(|row| (random.below(places), row))
        .collect();
    rows.sort_unstable();
    for (rank, (_, (topic, doc))) in rows.into_iter().enumerate() {
        let score = if sorted {
            900 - rank as u64 / 3
        } else {
            random.below(6)
        };
        let blank = ["\t", " ", "  \t"][random.below(3) as usize];
        let sign = if score == 0 && random.once_in(2) {
            "-"
        } else {
            ""
        };
        lines.push(format!(
            "t{topic}{blank}Q0 d{doc} {rank} {sign}{score}.25{blank}tag{rank}"
        ));
        match random.below(60) {
            0 => lines.push("   # a comment, which is skipped".to_owned()),
            1 => lines.push(" \t ".to_owned()),
            2 if bad => lines.push(format!("t{topic} Q0 d{doc} 1 1.5 twice")),
            3 if bad => lines.push(format!("t{topic} Q0 d{doc} 1 1,5 tag")),
            4 if bad => lines.push(format!("t{topic} Q0 d{doc} 1")),
            5 if bad => lines.push("t1 Q0 d1\0 1 2 tag".to_owned()),
            6..15 if odd => {
                let score = ODD[random.below(ODD.len() as u64) as usize];
                lines.push(format!("t{topic}\u{b}Q0 x{rank}\u{c}1  {score}\r tag more"));
            }
            15 | 16 if odd => lines.push(format!("t9 Q0 d{doc} 1 1.5 nobody-judged-t9")),
            17 | 18 if odd => lines.push(format!("t{topic} Q0 d{doc} 1 {}.25 again", score + 1)),
            19 if odd => lines.push(format!("t{topic} Q0 d{doc} 1 -1 again")),
            _ => {}
        }
    }
    let end = if random.once_in(2) { "\r\n" } else { "\n" };
    let last = if random.once_in(2) { end } else { "" };
    lines.join(end) + last
}

const ODD: [&str; 12] = [
    "nan",
    "-NaN",
    "inf",
    "-Infinity",
    "1e999",
    "x",
    "3,5",
    "2.5e+",
    "+.5.5",
    "-",
    "1e-999",
    "--1",
];

/// The number that the longest beginning says, which is one for Rust.
fn leading(text: &str) -> f64 {
    let beginnings = (0..=text.len()).rev().map(|end| text[..end].parse());
    beginnings.flatten().next().unwrap_or(0.0)
}

/// Whether the first score is higher; NaN is above all numbers.
fn above(a: f64, b: f64) -> bool {
    a > b || (a.is_nan() && !b.is_nan())
}

/// What is wrong with topics.
type Wrong = Vec<(usize, String)>;

/// Document, score and line.
type Rows<'t> = Vec<(&'t str, f64, usize)>;

/// The first ten problems, and how many more there are.
fn told(path: &Path, mut problems: Wrong) -> String {
    let more = problems.len().saturating_sub(10);
    problems.truncate(10);
    let mut told: Vec<_> = problems
        .iter()
        .map(|(line, what)| format!("{}:{line}: {what}", path.display()))
        .collect();
    if more > 0 {
        told.push(format!("… and {more} more"));
    }
    told.join("\n")
}

/// What the format's rules say, without any regard to speed.
fn plain(
    path: &Path,
    text: &str,
    grades: &Grades,
    options: Options,
) -> Result<(Vec<Ranked>, Wrong), String> {
    if let Some(place) = text.find('\0') {
        let line = 1 + text[..place].matches('\n').count();
        return Err(format!(
            "{}:{line}: not a TREC file (binary data)",
            path.display()
        ));
    }
    let twice = |topic: &str, doc: &str, first: usize| {
        format!("document {doc} retrieved twice for topic {topic} (first at line {first})")
    };
    let judged: BTreeSet<_> = grades.keys().map(|(topic, _)| topic.as_str()).collect();
    let mut problems = Vec::new();
    let mut topics: BTreeMap<&str, Rows> = BTreeMap::new();
    for (line, number) in text.lines().zip(1..) {
        let fields: Vec<_> = line
            .split(|c| c == ' ' || c == '\t' || options.lenient && ('\t'..='\r').contains(&c))
            .filter(|field| !field.is_empty())
            .collect();
        if fields.first().is_none_or(|first| first.starts_with('#')) {
        } else if fields.len() < 6 {
            let n = fields.len();
            let what = format!("{n} fields, expected 6: topic Q0 document rank score tag");
            problems.push((number, what));
        } else if options.lenient || fields[4].parse::<f64>().is_ok() {
            let score = leading(fields[4]);
            let score = if options.float32 {
                f64::from(score as f32)
            } else {
                score
            };
            let rows = topics.entry(fields[0]).or_default();
            let first = rows.iter().find(|row| row.0 == fields[2]);
            if let (Some(first), false) = (first, options.lenient) {
                problems.push((number, twice(fields[0], fields[2], first.2)));
            } else {
                rows.push((fields[2], score, number));
            }
        } else {
            problems.push((number, format!("score \"{}\" is not a number", fields[4])));
        }
    }
    if !problems.is_empty() {
        return Err(told(path, problems));
    }
    let mut wrong = Vec::new();
    let ranked = |(place, topic): (usize, &str)| {
        let mut rows = topics.get(topic).cloned().unwrap_or_default();
        rows.sort_by(|a, b| {
            let by_score = above(b.1, a.1).cmp(&above(a.1, b.1));
            let by_doc = a.0.cmp(b.0);
            by_score.then(if options.ascending {
                by_doc
            } else {
                by_doc.reverse()
            })
        });
        let mut highest = rows[..rows.len().min(options.depth)].to_vec();
        highest.sort_by_key(|row| row.2);
        let again: Vec<_> = (0..highest.len())
            .filter_map(|at| {
                let (doc, _, line) = highest[at];
                let first = highest[..at].iter().find(|row| row.0 == doc)?.2;
                Some((line, twice(topic, doc, first)))
            })
            .collect();
        if !again.is_empty() {
            wrong.push((place, told(path, again)));
        }
        let mut seen = BTreeSet::new();
        rows.retain(|row| seen.insert(row.0));
        let hit = |(place, row): (usize, &(&str, f64, usize))| {
            let grade = *grades.get(&(topic.to_owned(), row.0.to_owned()))?;
            let higher = rows.iter().filter(|other| above(other.1, row.1)).count();
            let not_lower = rows.iter().filter(|other| !above(row.1, other.1)).count();
            Some(Hit {
                rank: place + 1,
                grade,
                tied: (higher + 1, not_lower),
            })
        };
        Ranked {
            retrieved: rows.len(),
            hits: rows.iter().enumerate().filter_map(hit).collect(),
            ..Ranked::default()
        }
    };
    let ranked = judged.into_iter().enumerate().map(ranked).collect();
    Ok((ranked, wrong))
}

/// Every row against the row before, of lines that are all good.
fn plain_contradictions(text: &str) -> Contradictions {
    let mut contradictions = Contradictions::default();
    let mut before: Option<(&str, u64, f64)> = None;
    for (line, at) in text.lines().zip(1..) {
        let fields: Vec<_> = line.split_whitespace().collect();
        if fields.first().is_none_or(|first| first.starts_with('#')) {
            continue;
        }
        let rank: u64 = fields[3].parse().expect("a rank");
        let score: f64 = fields[4].parse().expect("a score");
        if let Some((topic, other, other_score)) = before {
            let higher = score > other_score && rank > other;
            let lower = score < other_score && rank < other;
            if topic == fields[0] && (higher || lower) {
                contradictions.total += 1;
                contradictions.first.get_or_insert(Contradiction {
                    at,
                    rank: rank.max(other),
                    other: rank.min(other),
                });
            }
        }
        before = Some((fields[0], rank, score));
    }
    contradictions
}

fn report(failure: Failure) -> String {
    match failure {
        Failure::Input(report) => report,
        failure => panic!("{failure:?}"),
    }
}

fn read(path: &Path, judgments: &Judgments, options: Options) -> Result<Run, String> {
    let stop = &Stop::default();
    let context = Context {
        judgments,
        options,
        stop,
    };
    read_file(&Given::from(path), context).map_err(report)
}

/// Problems are compared as they are told.
fn without_problems(mut topics: Vec<Ranked>) -> Vec<Ranked> {
    for topic in &mut topics {
        topic.repeated = Problems::default();
    }
    topics
}

/// Threads, and bytes that may wait in memory.
const WAYS: [(usize, usize); 4] = [(1, 1 << 26), (3, 1 << 26), (1, 700), (3, 0)];

fn check_random_runs(among: Among) {
    let (mut wrong, mut contradictions) = (0, 0);
    for seed in 0..60 {
        let mut random = Random(seed);
        let grades = random_grades(&mut random);
        let judgments = judgments_of(&grades);
        let text = random_run(&mut random, among);
        let file = TestFile::new(&text);
        let options = Options {
            float32: random.once_in(2),
            lenient: among == Among::Odd,
            ascending: random.once_in(2),
            depth: [1, 5, usize::MAX][random.below(3) as usize],
            ..OPTIONS
        };
        let expected = plain(&file.0, &text, &grades, options);
        let whole = read(&file.0, &judgments, options);
        let plainly = whole
            .clone()
            .map(|run| (without_problems(run.topics), run.wrong));
        assert_eq!(plainly, expected, "seed {seed}");
        wrong += whole.as_ref().map_or(1, |run| run.wrong.len());
        if let (Among::Good, Ok(run)) = (among, &whole) {
            assert_eq!(run.contradictions, plain_contradictions(&text));
            contradictions += run.contradictions.total;
        }
        for block in BLOCKS {
            for (threads, budget) in WAYS {
                let options = Options {
                    threads,
                    block,
                    budget,
                    ..options
                };
                let run = read(&file.0, &judgments, options);
                assert_eq!(
                    run, whole,
                    "seed {seed}, {threads} threads, blocks of {block}, {budget} bytes"
                );
            }
        }
    }
    assert_eq!(wrong > 0, among != Among::Good);
    assert_eq!(contradictions > 0, among == Among::Good);
}

#[test]
fn good_runs_are_ranked_by_the_rules() {
    check_random_runs(Among::Good);
}

#[test]
fn ranks_that_fall_with_the_scores_contradict_them() {
    let judgments = judgments_of(&[(("t".to_owned(), "d1".to_owned()), 1)].into());
    let rows = "t 0 d1 7 3.0 r\nt 0 d2 - 2.5 r\nt 0 d3 6 2.0 r\nt 0 d4 6 1.0 r\nt 0 d5 9 1.0 r\n";
    let file = TestFile::new(rows);
    let run = read(&file.0, &judgments, OPTIONS).expect("the run is good");
    let first = Some(Contradiction {
        at: 3,
        rank: 7,
        other: 6,
    });
    assert_eq!(run.contradictions, Contradictions { first, total: 1 });
}

#[test]
fn the_description_of_a_system_is_no_row() {
    let judgments = judgments_of(&[(("1".to_owned(), "d1".to_owned()), 1)].into());
    let rows = "0001 0 d1 1 2.5 run\n1 0 d1 1 2.5 run\n";
    for description in ["BM25 of titles", "BM25, b 0.5, k 2, of titles", ""] {
        let text = format!("<SYSDESC>{description}</SYSDESC>\n{rows}");
        let file = TestFile::new(&text);
        let run = read(&file.0, &judgments, OPTIONS).expect("the run is good");
        assert_eq!((run.topics[0].retrieved, run.unjudged.len()), (1, 1));
    }
    // A topic may begin with the same character.
    let file = TestFile::new("<t> 0 d1 1 2.5 run\n");
    let run = read(&file.0, &judgments, OPTIONS).expect("the run is good");
    assert_eq!(run.unjudged.len(), 1);
}

#[test]
fn bad_runs_are_reported_in_order() {
    check_random_runs(Among::Bad);
}

#[test]
fn odd_runs_are_read_leniently() {
    check_random_runs(Among::Odd);
}

#[cfg(unix)]
#[test]
fn a_pipe_equals_the_file() {
    use std::io::{Write as _, pipe};
    use std::os::fd::AsRawFd;

    for seed in 0..20 {
        let mut random = Random(seed);
        let judgments = judgments_of(&random_grades(&mut random));
        let text = random_run(&mut random, Among::Good);
        let file = TestFile::new(&text);
        let expected = read(&file.0, &judgments, OPTIONS);
        for block in BLOCKS {
            for (threads, budget) in WAYS {
                let (end, mut start) = pipe().expect("the system has pipes");
                let path = PathBuf::from(format!("/dev/fd/{}", end.as_raw_fd()));
                let options = Options {
                    threads,
                    block,
                    budget,
                    ..OPTIONS
                };
                let run = thread::scope(|scope| {
                    let text = &text;
                    scope.spawn(move || start.write_all(text.as_bytes()).expect("it is read"));
                    read(&path, &judgments, options)
                });
                assert_eq!(run, expected, "seed {seed}, blocks of {block}");
            }
        }
    }
}

/// A line that no end comes to, in all the ways to read it.
#[test]
fn a_line_has_an_end() {
    let judgments = judgments_of(&random_grades(&mut Random(0)));
    let line = |length: usize| format!("t1 Q0 d1 1 2 {}", "x".repeat(length - 13));
    for end in ["", "\r\n", "\nt1 Q0 d2 1 1 tag"] {
        for before in ["\u{feff}", "t1 Q0 d3 1 3 tag\n"] {
            for (length, fits) in [(LONGEST, true), (LONGEST + 1, false), (3 * LONGEST, false)] {
                let file = TestFile::new(before.to_owned() + &line(length) + end);
                for (block, threads, budget) in [(1000, 1, 0), (1 << 22, 3, 1 << 26)] {
                    let options = Options {
                        threads,
                        block,
                        budget,
                        ..OPTIONS
                    };
                    let run = read(&file.0, &judgments, options).map(|run| run.tag.is_some());
                    let number = 1 + usize::from(before.ends_with('\n'));
                    let wrong = "the line is longer than 1 MiB, the most that a line may have";
                    let expected = if fits {
                        Ok(true)
                    } else {
                        Err(format!("{}:{number}: {wrong}", file.0.display()))
                    };
                    assert_eq!(run, expected, "{length} and {end:?} in blocks of {block}");
                }
            }
        }
    }
}

/// What stands between the blanks of a line; None of a line that has no content.
fn plain_fields(line: &[u8], lenient: bool) -> Option<Vec<&[u8]>> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let is_blank = |byte: &u8| {
        let others: &[u8] = if lenient { b"\t\n\x0b\x0c\r" } else { b"\t" };
        *byte == b' ' || others.contains(byte)
    };
    let fields: Vec<_> = line
        .split(is_blank)
        .filter(|field| !field.is_empty())
        .collect();
    fields
        .first()
        .is_some_and(|first| first[0] != b'#')
        .then_some(fields)
}

#[test]
fn fields_stand_between_blanks() {
    let mut random = Random(5);
    for case in 0..5000 {
        let lenient = case % 2 == 1;
        let bytes = b"  \t\n\r\x0b\x01!#az09\x7f\x80\xa0\xff";
        // Of some, hardly a line is unusual.
        let wrong_once_in = [3, 50, 2000][case % 3];
        let mut text = Vec::new();
        for _ in 0..random.below(200) {
            if random.once_in(wrong_once_in) {
                let at = random.below(bytes.len() as u64) as usize;
                text.push(bytes[at]);
            } else if wrong_once_in == 3 {
                text.push(b'b');
            } else {
                let place = random.below(4);
                text.extend(std::iter::repeat_n(
                    b'b',
                    1 + random.below(30 + place) as usize,
                ));
                text.push(b" \t \n"[place as usize]);
            }
        }
        let ended = text.strip_suffix(b"\n").unwrap_or(&text);
        let lines: Vec<_> = ended.split(|&byte| byte == b'\n').collect();
        // Of a run, further fields do not matter; too few are counted.
        let expected: Vec<_> = lines
            .iter()
            .zip(1_u64..)
            .filter_map(|(line, number)| Some((number, plain_fields(line, lenient)?)))
            .map(|(number, fields)| match fields[..] {
                [first, second, ..] => (number, Ok([first, second])),
                _ => (number, Err(fields.len())),
            })
            .collect();
        let format = Format {
            kind: Kind::Run,
            lenient,
        };
        let mut read = Vec::new();
        let count = format.for_each_row(&text, |number, row| {
            read.push((
                number,
                row.copied().map_err(|fault| match fault {
                    Fault::Fields { found, .. } => found,
                    fault => panic!("{fault}"),
                }),
            ));
        });
        assert_eq!(read, expected, "{text:?}");
        let lines = if text.is_empty() { 0 } else { lines.len() };
        assert_eq!(count as usize, lines);
    }
}

#[test]
fn low_bytes_are_a_space_or_less() {
    let mut random = Random(7);
    for _ in 0..2000 {
        let text: Vec<_> = (0..random.below(80) as usize)
            .map(|at| random.below([256, 40][at % 2]) as u8)
            .collect();
        let expected = (0..64).zip(&text).filter(|(_, byte)| **byte <= b' ');
        let expected = expected.fold(0, |low, (at, _)| low | 1_u64 << at);
        assert_eq!(low_bytes(&text), expected, "{text:?}");
        if let Some(&word) = text.first_chunk() {
            assert_eq!(low_of_word(word), expected & 0xff, "{text:?}");
        }
    }
}

#[test]
fn short_decimals_are_the_nearest_numbers() {
    let mut random = Random(6);
    for _ in 0..20_000 {
        let digits = 1 + random.below(15) as usize;
        let mut text: String = (0..digits)
            .map(|_| char::from(b'0' + random.below(10) as u8))
            .collect();
        if random.below(5) > 0 {
            text.insert(random.below(1 + digits as u64) as usize, '.');
        }
        text.insert_str(0, ["", "-", "+"][random.below(3) as usize]);
        let value = short_decimal(text.as_bytes()).expect("digits");
        let expected: f64 = text.parse().expect("a number");
        assert_eq!(value.to_bits(), expected.to_bits(), "{text}");
    }
    for text in [
        "", ".", "-", "-.", "1.2.3", "1e5", "--1", "1 ", "inf", "nan", "0x1",
    ] {
        assert_eq!(short_decimal(text.as_bytes()), None, "{text}");
    }
    for text in [
        "1234567890123456",
        "0.1234567890123456",
        "12345678901234567890",
    ] {
        assert_eq!(short_decimal(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn a_read_stops_when_asked() {
    let file = TestFile::new("t Q0 d 1 1 tag\n");
    let judgments = judgments_of(&random_grades(&mut Random(0)));
    let stop = Stop::default();
    stop.set();
    let context = Context {
        judgments: &judgments,
        options: OPTIONS,
        stop: &stop,
    };
    assert!(matches!(
        read_file(&Given::from(file.0.as_path()), context),
        Err(Failure::Stopped)
    ));
    let read = Judgments::from_file(&Given::from(file.0.as_path()), false, 64, &stop);
    assert!(matches!(read, Err(Failure::Stopped)));
}

#[test]
fn partitions_give_back_their_rows() {
    let row = |at, score| Row {
        topic: b"a topic",
        doc: if at == 1 { b"" } else { b"some document" },
        at,
        score,
    };
    for budget in [0, 100, 1000] {
        let mut partitions = Partitions::new(budget);
        let mut expected = Vec::new();
        for block in 0..10 {
            let mut scattered = Scattered::default();
            for (at, score) in [
                (1, 0.1),
                (127, -1e300),
                (128, f64::INFINITY),
                (1 << 40, 0.0),
            ] {
                scattered.push(row(at, score));
                expected.push(Row {
                    at: at + (block << 33),
                    ..row(at, score)
                });
            }
            partitions
                .append(&scattered, block << 33)
                .expect("there is room for temporary files");
        }
        let mut found = Vec::new();
        for number in 0..PARTITIONS {
            let partition = partitions.take(number).expect("it can be read");
            found.extend(rows(&partition).map(|row| (row.at, row.score)));
        }
        let expected: Vec<_> = expected.iter().map(|row| (row.at, row.score)).collect();
        assert_eq!(found, expected);
    }
}

fn column<'t>(texts: impl Iterator<Item = &'t str>) -> (Vec<i64>, Vec<u8>) {
    let (mut offsets, mut data) = (vec![0], Vec::new());
    for text in texts {
        data.extend_from_slice(text.as_bytes());
        offsets.push(i64::try_from(data.len()).expect("small"));
    }
    (offsets, data)
}

#[test]
fn columns_equal_the_file() {
    for seed in 0..50 {
        let mut random = Random(seed);
        let judgments = judgments_of(&random_grades(&mut random));
        let text = random_run(&mut random, Among::Good);
        let rows: Vec<Vec<_>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|fields: &Vec<&str>| fields.len() == 6 && fields[0] != "#")
            .collect();
        let (topic_offsets, topics) = column(rows.iter().map(|row| row[0]));
        let (doc_offsets, docs) = column(rows.iter().map(|row| row[2]));
        let scores: Vec<f64> = rows
            .iter()
            .map(|row| row[4].parse().expect("a score"))
            .collect();
        let topics = Strings::new(&topic_offsets, &topics).expect("inside the data");
        let docs = Strings::new(&doc_offsets, &docs).expect("inside the data");
        let columns = Columns::new(topics, docs, &scores).expect("equally long");
        let file = TestFile::new(&text);
        let expected = read(&file.0, &judgments, OPTIONS).expect("a good run");
        for block in [1, 10, 1000] {
            for (threads, budget) in WAYS {
                let options = Options {
                    threads,
                    block,
                    budget,
                    ..OPTIONS
                };
                let context = Context {
                    judgments: &judgments,
                    options,
                    stop: &Stop::default(),
                };
                let run = read_columns(columns, context).expect("a good run");
                assert_eq!(run.topics, expected.topics, "seed {seed}");
                assert_eq!(run.unjudged, expected.unjudged, "seed {seed}");
            }
        }
    }
}

#[test]
fn judgments_do_not_depend_on_blocks() {
    let text = "\u{feff}b 0 x 1\r\na 0 y -2\n# c\n\nb 0 y 0\nb 0 z 1";
    let file = TestFile::new(text);
    for block in BLOCKS {
        let judgments = Judgments::from_file(
            &Given::from(file.0.as_path()),
            false,
            block,
            &Stop::default(),
        )
        .expect("good judgments");
        assert_eq!(judgments.names().collect::<Vec<_>>(), [b"a", b"b"]);
        let grades: Vec<_> = judgments.grades().collect();
        assert_eq!(grades, [vec![(-2, 1)], vec![(1, 2), (0, 1)]]);
        assert_eq!(judgments.provenance.lines, 6);
    }
}

#[test]
fn offsets_outside_the_data_are_refused() {
    for offsets in [
        &[][..],
        &[0, 3],
        &[-1, 2],
        &[0, 2, 1],
        &[i64::MIN, i64::MAX],
    ] {
        assert!(Strings::new(offsets, b"ab").is_err(), "{offsets:?}");
    }
    assert_eq!(
        Strings::new(&[1, 1, 2], b"ab").expect("inside").get(1),
        b"b"
    );
}

#[test]
fn quotes_are_short_and_printable() {
    assert_eq!(shown(b"a\x1b\xff\tb"), "a\\u{1b}\u{fffd}\\tb");
    assert_eq!(shown(&[b'a'; 41]), "a".repeat(40) + "…");
    assert_eq!(
        shown(("a".repeat(39) + "é").as_bytes()),
        "a".repeat(39) + "…"
    );
}
