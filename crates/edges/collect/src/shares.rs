//! Which session runs at which isolation level, where they differ.

/// Gives each of so many sessions one of the names, as often as their weights say and mixed as evenly as can be.
///
/// ```
/// use iso_collect::shares;
/// let mix = [("rc".to_owned(), 0.75), ("ser".to_owned(), 0.25)];
/// assert_eq!(shares(&mix, 4), ["rc", "rc", "ser", "rc"]);
/// ```
#[allow(clippy::cast_precision_loss, reason = "sessions are few")]
pub fn shares(mix: &[(String, f64)], n_sessions: usize) -> Vec<String> {
    let sum: f64 = mix.iter().map(|it| it.1).sum();
    let mut n_given = vec![0usize; mix.len()];
    let mut names = Vec::with_capacity(n_sessions);
    for session in 0..n_sessions {
        let lack = |it: usize| mix[it].1 / sum * (session + 1) as f64 - n_given[it] as f64;
        let Some(most) = (0..mix.len()).rev().max_by(|left, right| lack(*left).total_cmp(&lack(*right))) else { break };
        n_given[most] += 1;
        names.push(mix[most].0.clone());
    }
    names
}
