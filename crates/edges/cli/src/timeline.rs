//! What a run had done by which point in time, noted while it runs.

use iso_collect::Tally;
use iso_report::{Sample, Series};
use std::time::{Duration, Instant};

/// However long a run is, no more points are kept.
const MAX_POINTS: usize = 8192;

/// A time of a document: microseconds are enough, and numbers of few digits read back as they were written.
pub(crate) fn in_seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

/// Points of a run, the earliest first.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    points: Vec<(Instant, Sample)>,
    /// Of so many points, beyond the first, one is kept.
    stride: usize,
    n_since: usize,
    /// The last one, kept or not.
    last: Option<(Instant, Sample)>,
}

impl Timeline {
    /// Notes what was done by now.
    pub(crate) fn note(&mut self, tally: &Tally) {
        self.note_at(Instant::now(), sample(tally));
    }

    fn note_at(&mut self, now: Instant, sample: Sample) {
        self.last = Some((now, sample));
        self.n_since += 1;
        if self.n_since <= self.stride {
            return;
        }
        self.n_since = 0;
        self.points.push((now, sample));
        if self.points.len() >= MAX_POINTS {
            let mut nth = 0;
            self.points.retain(|_| {
                nth += 1;
                nth % 2 == 0
            });
            self.stride = 2 * self.stride + 1;
        }
    }

    /// The series of a run that took so long. It ended when somebody looked for the last time; what was still open then
    /// ended with it.
    pub(crate) fn series(&self, elapsed: Duration, counts: &Tally) -> Series {
        let Some((end, last)) = self.last else { return Series::default() };
        let seconds = in_seconds(elapsed);
        let since_start = |when: Instant| seconds - end.saturating_duration_since(when).as_secs_f64();
        let kept = self.points.iter().filter(|it| it.0 < end);
        let mut points: Vec<(f64, Sample)> = kept.map(|it| (since_start(it.0), it.1)).filter(|it| it.0 > 0.0).collect();
        points.push((seconds, Sample { aborted: counts.aborted, unknown: counts.unknown, ..last }));
        Series::new(&points, seconds)
    }
}

fn sample(tally: &Tally) -> Sample {
    Sample {
        committed: tally.committed,
        aborted: tally.aborted,
        conflicts: tally.conflicts,
        unknown: tally.unknown,
        reconnects: tally.reconnects,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_few_moments_and_every_transaction() {
        let (mut timeline, start) = (Timeline::default(), Instant::now());
        for nth in 1..=100_000u32 {
            let committed = u64::from(nth) * 10;
            timeline.note_at(start + nth * Duration::from_millis(20), Sample { committed, ..Sample::default() });
        }
        assert!(timeline.points.len() < MAX_POINTS);
        let counts = Tally { committed: 1_000_001, unknown: 3, ..Tally::default() };
        let series = timeline.series(Duration::from_secs(2000), &counts);
        assert_eq!(series.samples.len(), 200);
        assert!(series.samples.iter().all(|it| it.committed == 5000), "{series:?}");
        assert_eq!(series.samples[199].unknown, 3);
    }

    #[test]
    fn a_run_at_which_nobody_looked_has_no_series() {
        assert_eq!(Timeline::default().series(Duration::from_secs(1), &Tally::default()), Series::default());
    }
}
