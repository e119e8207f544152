//! Documents as XML in the form of `JUnit`, which services that run tests show beside the tests of an application.
//!
//! What is violated is a failure, what is not known or could not be asked is an error: neither passes.

use crate::claims::{Claim, ClaimVerdict, claims};
use crate::document::Place;
use crate::report::Report;
use crate::words::xml;

/// The documents as one file.
pub fn junit(reports: &[&Report]) -> String {
    let suites: String = reports.iter().map(|it| suite(it)).collect();
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"isoscope\">\n{suites}</testsuites>\n")
}

fn suite(report: &Report) -> String {
    let claims = claims(report);
    let n_failures = claims.iter().filter(|it| matches!(it.verdict, ClaimVerdict::Broken(_))).count();
    let is_error = |it: &&Claim| matches!(it.verdict, ClaimVerdict::Open(_) | ClaimVerdict::Unasked { .. });
    let n_errors = claims.iter().filter(is_error).count();
    let cases: String = claims.iter().map(case).collect();
    format!(
        "  <testsuite name=\"isoscope {}\" tests=\"{}\" failures=\"{n_failures}\" errors=\"{n_errors}\" \
         skipped=\"0\">\n{cases}  </testsuite>\n",
        report.verb(),
        claims.len()
    )
}

fn case(claim: &Claim) -> String {
    let (subject, name) = (xml(&claim.subject), xml(&claim.name));
    let (place, inside) = match &claim.verdict {
        ClaimVerdict::Held => return format!("    <testcase classname=\"{subject}\" name=\"{name}\"/>\n"),
        ClaimVerdict::Broken(breach) => {
            let (message, rule) = (xml(&breach.message), xml(breach.rule()));
            let text = xml(&breach.text);
            let inside = format!("      <failure message=\"{message}\" type=\"{rule}\">{text}</failure>\n");
            (breach.places.first().cloned().unwrap_or_default(), inside)
        }
        ClaimVerdict::Open(reason) => {
            let reason = xml(reason);
            (Place::default(), format!("      <error message=\"not known: {reason}\" type=\"unknown\"/>\n"))
        }
        ClaimVerdict::Unasked { message, place } => {
            (place.clone(), format!("      <error message=\"{}\" type=\"input\"/>\n", xml(message)))
        }
    };
    let file = place.file.map(|it| format!(" file=\"{}\"", xml(&it))).unwrap_or_default();
    let line = place.line.map(|it| format!(" line=\"{it}\"")).unwrap_or_default();
    format!("    <testcase classname=\"{subject}\" name=\"{name}\"{file}{line}>\n{inside}    </testcase>\n")
}
