//! Documents as XML in the form of `JUnit`, which services that run tests show beside the tests of an application.
//!
//! What is violated is a failure, what is not known or could not be asked is an error: neither passes.

use crate::claims::{Claim, ClaimVerdict, claims};
use crate::document::Place;
use crate::report::Report;
use crate::words::{xml_attribute, xml_lines};

/// The documents as one file.
pub fn junit(reports: &[&Report]) -> String {
    document(&reports.iter().map(|it| suite(it.verb(), &claims(it))).collect::<String>())
}

/// Claims of a question that has no document: it could not be asked.
pub fn junit_of_claims(verb: &str, claims: &[Claim]) -> String {
    document(&suite(verb, claims))
}

fn document(suites: &str) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"isoscope\">\n{suites}</testsuites>\n")
}

fn suite(verb: &str, claims: &[Claim]) -> String {
    let n_failures = claims.iter().filter(|it| matches!(it.verdict, ClaimVerdict::Broken(_))).count();
    let is_error = |it: &&Claim| matches!(it.verdict, ClaimVerdict::Open(_) | ClaimVerdict::Unasked { .. });
    let n_errors = claims.iter().filter(is_error).count();
    let cases: String = claims.iter().map(case).collect();
    format!(
        "  <testsuite name=\"isoscope {verb}\" tests=\"{}\" failures=\"{n_failures}\" errors=\"{n_errors}\" \
         skipped=\"0\">\n{cases}  </testsuite>\n",
        claims.len()
    )
}

fn case(claim: &Claim) -> String {
    let (subject, name) = (xml_attribute(&claim.subject), xml_attribute(&claim.name));
    let (place, inside) = match &claim.verdict {
        ClaimVerdict::Held => return format!("    <testcase classname=\"{subject}\" name=\"{name}\"/>\n"),
        ClaimVerdict::Broken(breach) => {
            let (message, rule) = (xml_attribute(&breach.message), xml_attribute(breach.rule()));
            let text = xml_lines(&breach.text);
            let inside = format!("      <failure message=\"{message}\" type=\"{rule}\">{text}</failure>\n");
            (breach.places.first().cloned().unwrap_or_default(), inside)
        }
        ClaimVerdict::Open(reason) => {
            let reason = xml_attribute(reason);
            (Place::default(), format!("      <error message=\"not known: {reason}\" type=\"unknown\"/>\n"))
        }
        ClaimVerdict::Unasked { message, place } => {
            (place.clone(), format!("      <error message=\"{}\" type=\"input\"/>\n", xml_attribute(message)))
        }
    };
    let file = place.file.map(|it| format!(" file=\"{}\"", xml_attribute(&it))).unwrap_or_default();
    let line = place.line.map(|it| format!(" line=\"{it}\"")).unwrap_or_default();
    format!("    <testcase classname=\"{subject}\" name=\"{name}\"{file}{line}>\n{inside}    </testcase>\n")
}
