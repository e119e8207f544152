//! Predictions for Graphviz: a graph of the observed run, and one of each predicted run.

use super::{Extras, graph, quoted};
use crate::predict::PredictReport;
use crate::predict_phrases::{change_words, headline, names, read_name, title};

/// The shown predictions; an empty graph with the answer if there is none.
pub(crate) fn predict_dot(report: &PredictReport) -> String {
    let mut graphs: Vec<String> = Vec::new();
    for level in report.shown() {
        let runs = level.verdict.runs();
        for (idx, run) in runs.iter().enumerate() {
            let title = title(&level.level, run, (runs.len() > 1).then_some(idx + 1));
            let changes = run.changed.iter().map(|it| format!("{}: {}", read_name(it), change_words(it)));
            let claim = format!("{} allows it, {} forbids it{}", level.level.short, report.target.short, names(run));
            let lines: Vec<String> = [title.clone(), claim].into_iter().chain(changes).collect();
            if !run.changed.is_empty() {
                let extras = Extras { marks: &run.observed_marks(), ..Extras::default() };
                graphs.push(graph("Observed", "Observed", &run.observed, &extras));
            }
            let extras = Extras { marks: &run.predicted_marks(), ..Extras::default() };
            graphs.push(graph(&title, &lines.join("\n"), run.predicted(), &extras));
        }
    }
    if graphs.is_empty() { format!("digraph {} {{\n}}\n", quoted(&headline(report))) } else { graphs.join("\n") }
}
