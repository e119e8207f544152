//! Reports of a question that could not be asked: what services that show tests read must not be missing then.

use crate::args::AnswerArgs;
use crate::output::{self, Rendering};
use crate::text_file::Mistakes;
use iso_report::{Claim, ClaimVerdict, Place};
use std::path::Path;

/// Leaves the reports that can say it. What is wrong with these files themselves is not the error to tell.
pub(crate) fn leave(answer: &AnswerArgs, verb: &str, input: &Path, error: &anyhow::Error) {
    let claims = claims(input, error);
    if let Some(text) = answer.voice.form().rendering().render_unasked(verb, &claims) {
        // Who does not listen any more has the exit code.
        output::print(&text).ok();
    }
    let Ok(reports) = Rendering::to_each(answer.reports.clone()) else { return };
    for (path, rendering) in reports {
        let Some(text) = rendering.render_unasked(verb, &claims) else { continue };
        if let Err(error) = output::write_file(&path, text.as_bytes()) {
            output::complain(&format!("{error:#}"));
        }
    }
}

/// Each mistake of a text is a claim; without any, there is one for all.
fn claims(input: &Path, error: &anyhow::Error) -> Vec<Claim> {
    let claim = |message: String, place: Place| Claim {
        subject: input.display().to_string(),
        name: "the program can be read".to_owned(),
        verdict: ClaimVerdict::Unasked { message, place },
    };
    let file = |name: String| Place { file: Some(name), ..Place::default() };
    match error.downcast_ref::<Mistakes>() {
        Some(mistakes) => mistakes
            .places
            .iter()
            .map(|it| {
                let column = it.column.map(|it| format!("column {it}: ")).unwrap_or_default();
                let hint = if it.hint.is_empty() { String::new() } else { format!("\nhint: {}", it.hint) };
                let place = Place { line: Some(it.line), ..file(it.file.clone()) };
                claim(format!("{column}{}{hint}", it.message), place)
            })
            .collect(),
        None => vec![claim(format!("{error:#}"), file(input.display().to_string()))],
    }
}
