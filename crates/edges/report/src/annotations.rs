//! Documents as workflow commands of GitHub, which become annotations of a run.

use crate::claims::{ClaimVerdict, claims};
use crate::document::Place;
use crate::report::Report;

/// A line for each claim that does not hold or is not known.
pub fn annotations(reports: &[&Report]) -> String {
    let mut lines = String::new();
    for claim in reports.iter().flat_map(|it| claims(it)) {
        let title = format!("{}: {}", claim.subject, claim.name);
        let (kind, place, message) = match claim.verdict {
            ClaimVerdict::Held => continue,
            ClaimVerdict::Broken(breach) => {
                let message = format!("{}\n\n{}", breach.message, breach.text);
                ("error", breach.places.first().cloned().unwrap_or_default(), message)
            }
            ClaimVerdict::Open(reason) => ("warning", Place::default(), format!("not known: {reason}")),
            ClaimVerdict::Unasked { message, place } => ("error", place, message),
        };
        let file = place.file.map(|it| format!("file={},", property(&it))).unwrap_or_default();
        let line = place.line.map(|it| format!("line={it},")).unwrap_or_default();
        lines.push_str(&format!("::{kind} {file}{line}title={}::{}\n", property(&title), data(message.trim_end())));
    }
    lines
}

/// A message in one line, as the service unpacks it.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
