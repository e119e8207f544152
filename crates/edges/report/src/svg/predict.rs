//! Predictions as pictures: the observed run beside the predicted one, with each transaction at the same place.

use super::Frame;
use super::figure::{FAINT, Figure, GREEN, INK, Overlay, RED};
use crate::document::{Excerpt, LevelName, Transaction};
use crate::mark::Mark;
use crate::phrases::not_certified;
use crate::picture::Layout;
use crate::predict::{PredictReport, PredictedRun};
use crate::predict_phrases::{
    change_words, commit_order, headline, names, question, read_name, risk, strongest_line, title,
};
use crate::words::width;

/// The shown predictions, below each other.
pub(crate) fn predict_svg(report: &PredictReport) -> String {
    let mut bodies: Vec<Figure> = Vec::new();
    for level in report.shown() {
        let runs = level.verdict.runs();
        for (idx, run) in runs.iter().enumerate() {
            bodies.push(of_run(report, &level.level, run, (runs.len() > 1).then_some(idx + 1)));
        }
    }
    let mut head = Figure::empty(bodies.iter().map(|it| it.width).fold(0.0, f64::max));
    head.paragraph(&headline(report), 16.0, INK, "bold");
    if let Some(line) = strongest_line(report) {
        head.paragraph(&line, 13.0, INK, "normal");
    }
    head.paragraph(&question(report), 12.0, FAINT, "normal");
    if let Some(line) = not_certified(report.not_certified.as_ref()) {
        head.paragraph(&line, 12.0, FAINT, "normal");
    }
    head.height += 8.0;
    let figures: Vec<Figure> = [head].into_iter().chain(bodies).collect();
    Figure::stacked(&figures).alone()
}

/// The runs of a prediction, each as an SVG of its own.
pub(crate) struct RunPictures {
    /// None if the observed run is the predicted one.
    pub(crate) observed: Option<String>,
    pub(crate) predicted: String,
    /// How wide each is.
    pub(crate) width: f64,
}

/// The pictures of a prediction.
pub(crate) fn run_pictures(report: &PredictReport, level: &LevelName, run: &PredictedRun) -> RunPictures {
    let (observed, predicted) = sides(report, level, run, Frame::Bare);
    RunPictures { width: predicted.width, observed: observed.map(|it| it.alone()), predicted: predicted.alone() }
}

fn of_run(report: &PredictReport, level: &LevelName, run: &PredictedRun, number: Option<usize>) -> Figure {
    let (observed, predicted) = sides(report, level, run, Frame::Titled);
    let both: Vec<Figure> = observed.into_iter().chain([predicted]).collect();
    let pictures = Figure::flowing(&both);
    let mut head = Figure::empty(pictures.width);
    head.paragraph(&title(level, run, number), 15.0, RED, "bold");
    let mut foot = Figure::empty(pictures.width);
    foot.height = 0.0;
    for read in &run.changed {
        foot.paragraph(&format!("{}: {}", read_name(read), change_words(read)), 13.0, INK, "normal");
    }
    foot.paragraph(&run.predicted().summary, 13.0, INK, "normal");
    if let Some(words) = risk(run, report.boundary_of(level)) {
        foot.paragraph(&words, 12.0, FAINT, "normal");
    }
    foot.height += 12.0;
    Figure::stacked(&[head, pictures, foot])
}

/// Both runs, in one layout.
fn sides(report: &PredictReport, level: &LevelName, run: &PredictedRun, frame: Frame) -> (Option<Figure>, Figure) {
    let observed = renamed(run);
    let layout = Layout::new(&base(run, &observed));
    let (short, target) = (&level.short, &report.target.short);
    let heading = if run.changed.is_empty() { "Observed" } else { "Predicted" };
    let predicted = format!("{heading}: {short} allows it, {target} forbids it{}", names(run));
    let order = commit_order(run);
    let number =
        (!run.predicted().cycle.is_empty() && order.len() <= run.predicted().transactions.len()).then_some(order);
    let order_name = format!("the commit order of {short}");
    let overlay = Overlay {
        numbers: number.as_ref().map(|it| (order_name.as_str(), it.as_slice())),
        marks: &run.predicted_marks(),
        ..Overlay::default()
    };
    let predicted = side(&layout.showing(run.predicted()), run.predicted(), overlay, (&predicted, RED), frame);
    let is_other = !run.changed.is_empty();
    let observed = is_other.then(|| {
        let marks: Vec<Mark> = run.observed_marks().into_iter().map(|it| in_predicted(run, it)).collect();
        let overlay = Overlay { marks: &marks, ..Overlay::default() };
        side(&layout.showing(&observed), &observed, overlay, ("Observed", GREEN), frame)
    });
    (observed, predicted)
}

fn side(layout: &Layout, excerpt: &Excerpt, overlay: Overlay<'_>, title: (&str, &str), frame: Frame) -> Figure {
    let mut figure = Figure::framed(layout.width, frame);
    if frame == Frame::Titled {
        figure.paragraph(title.0, 14.0, title.1, "bold");
        figure.height += 8.0;
    }
    let routes = figure.history(layout, excerpt, overlay);
    figure.legend(&routes, overlay.numbers);
    figure.height += 6.0;
    figure.mark_legend(overlay.marks);
    figure
}

/// The observed excerpt with the names that its transactions have in the predicted one.
fn renamed(run: &PredictedRun) -> Excerpt {
    let mut excerpt = run.observed.clone();
    for txn in &mut excerpt.transactions {
        txn.id = in_both(run, &txn.id);
    }
    excerpt
}

fn in_predicted(run: &PredictedRun, mark: Mark) -> Mark {
    Mark { transaction: in_both(run, &mark.transaction), ..mark }
}

/// One name for a transaction of the observed run in both pictures.
fn in_both(run: &PredictedRun, observed: &str) -> String {
    match run.renamed.iter().find(|it| it.1 == observed) {
        Some((predicted, _)) => predicted.clone(),
        None if run.renamed.iter().any(|it| it.0 == observed) => format!("{observed} (left out)"),
        None => observed.to_owned(),
    }
}

/// What has room for both: the operations of both runs, each in its longer form.
fn base(run: &PredictedRun, observed: &Excerpt) -> Excerpt {
    let mut base = run.predicted().clone();
    for txn in &mut base.transactions {
        if let Some(twin) = observed.transactions.iter().find(|it| it.id == txn.id) {
            extend(txn, twin);
        }
    }
    let is_missing = |txn: &&Transaction| !base.transactions.iter().any(|it| it.id == txn.id);
    let missing: Vec<Transaction> = observed.transactions.iter().filter(is_missing).cloned().collect();
    base.transactions.extend(missing);
    base
}

fn extend(txn: &mut Transaction, twin: &Transaction) {
    for (idx, op) in twin.ops.iter().enumerate() {
        match txn.ops.get_mut(idx) {
            Some(own) if width(&own.to_string()) < width(&op.to_string()) => own.clone_from(op),
            Some(_) => {}
            None => txn.ops.push(op.clone()),
        }
    }
}
