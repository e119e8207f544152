//! What happened during a run, interval by interval.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of a run and its seconds are far below the limits of a float"
)]

use serde::{Deserialize, Serialize};

/// A run has at most about so many intervals.
const MAX_SAMPLES: f64 = 240.0;
/// Whoever watches a run looks no more often than this, in milliseconds.
const SHORTEST_STEP: f64 = 20.0;

/// Counts in intervals of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Columns", into = "Columns")]
pub struct Series {
    /// The length of an interval in seconds; the last one may be half of it shorter or longer.
    pub step: f64,
    /// What happened in each.
    pub samples: Vec<Sample>,
}

/// How many transactions ended in which way: in an interval, or so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Committed.
    pub committed: u64,
    /// Aborted by the workload, or never asked to commit.
    pub aborted: u64,
    /// Aborted by the database.
    pub conflicts: u64,
    /// Nobody knows.
    pub unknown: u64,
    /// Connections that were lost and replaced.
    pub reconnects: u64,
}

/// A series in JSON: a column for each count, since there are many samples.
#[derive(Serialize, Deserialize)]
struct Columns {
    step: f64,
    committed: Vec<u64>,
    aborted: Vec<u64>,
    conflicts: Vec<u64>,
    unknown: Vec<u64>,
    reconnects: Vec<u64>,
}

impl From<Series> for Columns {
    fn from(Series { step, samples }: Series) -> Self {
        let column = |count: fn(&Sample) -> u64| samples.iter().map(count).collect();
        Self {
            step,
            committed: column(|it| it.committed),
            aborted: column(|it| it.aborted),
            conflicts: column(|it| it.conflicts),
            unknown: column(|it| it.unknown),
            reconnects: column(|it| it.reconnects),
        }
    }
}

impl TryFrom<Columns> for Series {
    type Error = &'static str;

    fn try_from(of: Columns) -> Result<Self, Self::Error> {
        let columns = [&of.committed, &of.aborted, &of.conflicts, &of.unknown, &of.reconnects];
        let n_samples = of.committed.len();
        if columns.iter().any(|it| it.len() != n_samples) {
            return Err("the columns of a series have different lengths");
        }
        if of.step <= 0.0 && n_samples > 0 {
            return Err("the step of a series must be more than zero");
        }
        let sample = |idx: usize| Sample::of_array(columns.map(|it| it[idx]));
        Ok(Self { step: of.step, samples: (0..n_samples).map(sample).collect() })
    }
}

impl Sample {
    const MEMBERS: usize = 5;

    /// All that did not commit although it ended.
    pub(crate) fn all_aborted(&self) -> u64 {
        self.aborted + self.conflicts
    }

    fn to_array(self) -> [u64; Self::MEMBERS] {
        [self.committed, self.aborted, self.conflicts, self.unknown, self.reconnects]
    }

    fn of_array([committed, aborted, conflicts, unknown, reconnects]: [u64; Self::MEMBERS]) -> Self {
        Self { committed, aborted, conflicts, unknown, reconnects }
    }

    fn with(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        let (one, two) = (self.to_array(), other.to_array());
        Self::of_array(std::array::from_fn(|it| join(one[it], two[it])))
    }
}

impl Series {
    /// The series of a run of so many seconds, from what had happened by some moments of it, the earliest first.
    ///
    /// Between two moments things happen evenly, so that it does not matter when exactly somebody looked.
    pub fn new(moments: &[(f64, Sample)], seconds: f64) -> Self {
        let step = step(seconds);
        let n_samples = ((seconds / step).round() as usize).max(1);
        let mut samples = Vec::with_capacity(n_samples);
        let mut before = Sample::default();
        for nth in 1..=n_samples {
            let end = if nth == n_samples { f64::INFINITY } else { nth as f64 * step };
            let by_then = at(moments, end);
            samples.push(by_then.with(before, u64::saturating_sub));
            before = by_then;
        }
        Self { step, samples }
    }

    /// When an interval begins and ends, in a run of so many seconds.
    pub(crate) fn interval(&self, nth: usize, seconds: f64) -> (f64, f64) {
        let begin = nth as f64 * self.step;
        (begin, if nth + 1 == self.samples.len() { seconds.max(begin) } else { begin + self.step })
    }

    /// Neighbours joined, so that there are at most so many intervals: from which to which, and what happened there.
    pub(crate) fn joined(&self, at_most: usize, seconds: f64) -> Vec<(f64, f64, Sample)> {
        let size = self.samples.len().div_ceil(at_most.max(1)).max(1);
        let join = |(chunk, samples): (usize, &[Sample])| {
            let (first, last) = (chunk * size, chunk * size + samples.len() - 1);
            let sum = samples.iter().fold(Sample::default(), |sum, it| sum.with(*it, u64::saturating_add));
            (self.interval(first, seconds).0, self.interval(last, seconds).1, sum)
        };
        self.samples.chunks(size).enumerate().map(join).collect()
    }
}

/// One, two or five, and zeros.
fn step(seconds: f64) -> f64 {
    let at_least = (seconds * 1000.0 / MAX_SAMPLES).max(SHORTEST_STEP);
    let mut decade = 10.0;
    loop {
        for digit in [1.0, 2.0, 5.0] {
            if digit * decade >= at_least {
                return digit * decade / 1000.0;
            }
        }
        // Endless runs have one interval.
        if decade > 1e15 {
            return seconds / 1000.0;
        }
        decade *= 10.0;
    }
}

/// What had happened by a moment.
fn at(moments: &[(f64, Sample)], when: f64) -> Sample {
    let next = moments.partition_point(|it| it.0 <= when);
    let (since, before) = if next == 0 { (0.0, Sample::default()) } else { moments[next - 1] };
    match moments.get(next) {
        Some((until, after)) => {
            let excerpt = ((when - since) / (until - since)).clamp(0.0, 1.0);
            before.with(*after, |one, two| one + (two.saturating_sub(one) as f64 * excerpt).round() as u64)
        }
        None => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn committed(committed: u64) -> Sample {
        Sample { committed, ..Sample::default() }
    }

    #[test]
    fn an_even_run_is_even_whenever_somebody_looks() {
        let moments: Vec<(f64, Sample)> =
            (1u32..=41).map(|it| (f64::from(it) * 0.0243, committed(u64::from(it) * 243))).collect();
        let series = Series::new(&moments, 0.9963);
        assert_eq!((series.step, series.samples.len()), (0.02, 50));
        assert!(series.samples[..49].iter().all(|it| (199..=201).contains(&it.committed)), "{series:?}");
        assert_eq!(series.samples.iter().map(|it| it.committed).sum::<u64>(), 41 * 243);
    }

    #[test]
    fn long_runs_have_longer_intervals_and_short_runs_have_one() {
        let n_samples = |seconds: f64| {
            let series = Series::new(&[(seconds, committed(7))], seconds);
            assert_eq!(series.samples.iter().map(|it| it.committed).sum::<u64>(), 7, "{seconds}");
            (series.step, series.samples.len())
        };
        assert_eq!(n_samples(0.0), (0.02, 1));
        assert_eq!(n_samples(0.01), (0.02, 1));
        assert_eq!(n_samples(10.0), (0.05, 200));
        assert_eq!(n_samples(3600.0), (20.0, 180));
    }

    #[test]
    fn neighbours_are_joined() {
        let samples = (1..=5).map(committed).collect();
        let series = Series { step: 1.0, samples };
        assert_eq!(
            series.joined(3, 4.5),
            [(0.0, 2.0, committed(3)), (2.0, 4.0, committed(7)), (4.0, 4.5, committed(5))]
        );
    }
}
