//! Which of some things is drawn how often: all alike, few most of the time, or by Zipf's law.

use crate::Random;

/// Zipf's exponent, as usual in benchmarks (Gray et al. 1994, YCSB).
const EXPONENT: f64 = 0.99;
/// Of 100 draws from a hot set, so many are of hot things.
const HOT_DRAWS: usize = 80;
/// Of 100 things, so many are hot.
const HOT_THINGS: usize = 20;

/// How keys are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Likeliness {
    /// Each as often as any other.
    #[default]
    Uniform,
    /// The first ones most often, the others ever more rarely.
    Zipf,
    /// Four of five draws are of the first fifth.
    HotSet,
}

impl Likeliness {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Uniform, Self::Zipf, Self::HotSet];

    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Zipf => "zipf",
            Self::HotSet => "hotset",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// Draws one of so many things.
#[derive(Clone, Debug)]
pub(crate) enum Distribution {
    Uniform {
        n: usize,
    },
    /// By thing, how likely it or one before it is drawn.
    Zipf {
        cumulative: Vec<f64>,
    },
    HotSet {
        n: usize,
        n_hot: usize,
    },
}

impl Distribution {
    /// Of things 0 to `n - 1`; there is at least one.
    pub(crate) fn new(likeliness: Likeliness, n: usize) -> Self {
        assert!(n > 0, "something can be drawn");
        match likeliness {
            Likeliness::Uniform => Self::Uniform { n },
            Likeliness::Zipf => Self::Zipf { cumulative: cumulative(n) },
            Likeliness::HotSet => Self::HotSet { n, n_hot: (n * HOT_THINGS / 100).max(1) },
        }
    }

    /// The next one.
    pub(crate) fn draw(&self, random: &mut Random) -> usize {
        match self {
            Self::Uniform { n } => random.below(*n),
            Self::Zipf { cumulative } => {
                let at = random.fraction();
                cumulative.partition_point(|it| *it <= at).min(cumulative.len() - 1)
            }
            Self::HotSet { n, n_hot } if n == n_hot || random.below(100) < HOT_DRAWS => random.below(*n_hot),
            Self::HotSet { n, n_hot } => n_hot + random.below(n - n_hot),
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "there are far fewer things than a fraction has digits")]
fn cumulative(n: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=n)
        .map(|rank| {
            sum += (rank as f64).powf(-EXPONENT);
            sum
        })
        .collect();
    sums.into_iter().map(|it| it / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(likeliness: Likeliness, n: usize) -> Vec<usize> {
        let (distribution, mut random) = (Distribution::new(likeliness, n), Random::new(3));
        let mut n_drawn = vec![0; n];
        for _ in 0..10_000 {
            n_drawn[distribution.draw(&mut random)] += 1;
        }
        n_drawn
    }

    #[test]
    fn everything_is_drawn_as_often_as_it_should() {
        let uniform = drawn(Likeliness::Uniform, 10);
        assert!(uniform.iter().all(|it| (900..1100).contains(it)), "{uniform:?}");
        let zipf = drawn(Likeliness::Zipf, 10);
        assert!(zipf[0] > 3000 && zipf[9] > 200 && zipf.is_sorted_by(|left, right| left + 100 > *right), "{zipf:?}");
        let hot = drawn(Likeliness::HotSet, 10);
        assert!((7700..8300).contains(&(hot[0] + hot[1])) && hot[2..].iter().all(|it| *it > 150), "{hot:?}");
    }

    #[test]
    fn the_only_thing_is_always_drawn() {
        for likeliness in Likeliness::ALL {
            assert_eq!(drawn(likeliness, 1), [10_000]);
        }
    }
}
