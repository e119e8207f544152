//! How answers are said on standard output: to people, or in one of the forms that programs read.

use crate::output::{Rendering, terminal};
use iso_formats::Format;
use iso_report::{JsonLayout, LevelReport, Report, TextOptions, junit, sarif, text_so_far};

/// The form of an answer on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
    JUnit,
    Sarif,
}

impl Form {
    /// The same in a file.
    pub(crate) fn rendering(self) -> Rendering {
        match self {
            Self::Text => Rendering::Text,
            Self::Json => Rendering::Json,
            Self::JUnit => Rendering::JUnit,
            Self::Sarif => Rendering::Sarif,
        }
    }
}

/// By its name, or a message with the cure.
pub(crate) fn parse_form(name: &str) -> Result<Form, String> {
    Ok(match name.trim().to_ascii_lowercase().as_str() {
        "text" | "txt" => Form::Text,
        "json" => Form::Json,
        "junit" | "xml" => Form::JUnit,
        "sarif" => Form::Sarif,
        "edn" => return Err("EDN is the form of check --edn; here choose text, json, junit or sarif".to_owned()),
        name if Format::from_name(name).is_some() => {
            return Err(format!(
                "`{name}` is a format of histories: say --from {name} if the input is written in it; an answer is text, \
                 json, junit or sarif"
            ));
        }
        _ => return Err("an answer is text, json, junit or sarif".to_owned()),
    })
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct VoiceArgs {
    /// Print JSON: one document for each answer, on one line
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Print the answer in this form: text, json, junit (the XML that CI services show) or sarif
    #[arg(long, value_name = "FORM", value_parser = parse_form)]
    format: Option<Form>,
}

impl VoiceArgs {
    /// What was asked for.
    pub(crate) fn form(self) -> Form {
        if self.json { Form::Json } else { self.format.unwrap_or(Form::Text) }
    }

    /// For this standard output.
    pub(crate) fn voice(self) -> Voice {
        Voice::of(self.form())
    }

    /// Does a program read it?
    pub(crate) fn is_for_machines(self) -> bool {
        self.form() != Form::Text
    }
}

/// How results are said on standard output.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Voice {
    /// For people.
    Text(TextOptions),
    /// For machines, one document a line.
    Json,
    /// For checkers in Clojure, one map a line.
    Edn,
    /// For services that show tests, one document for all.
    JUnit,
    /// For services that show findings in the code, one document for all.
    Sarif,
}

impl Voice {
    /// For this standard output.
    pub(crate) fn new(is_json: bool) -> Self {
        Self::of(if is_json { Form::Json } else { Form::Text })
    }

    /// Of a form, for this standard output.
    pub(crate) fn of(form: Form) -> Self {
        match form {
            Form::Text => Self::Text(terminal()),
            Form::Json => Self::Json,
            Form::JUnit => Self::JUnit,
            Form::Sarif => Self::Sarif,
        }
    }

    /// Is there one document for all answers?
    pub(crate) fn is_one_document(self) -> bool {
        matches!(self, Self::JUnit | Self::Sarif)
    }

    /// The words of several answers.
    pub(crate) fn words_of_all(self, reports: &[Report]) -> String {
        let all: Vec<&Report> = reports.iter().collect();
        match self {
            Self::JUnit => junit(&all),
            Self::Sarif => sarif(&all),
            Self::Json | Self::Edn => reports.iter().map(|it| self.words(it)).collect(),
            Self::Text(_) => reports.iter().map(|it| self.words(it)).collect::<Vec<_>>().join("\n"),
        }
    }

    /// The words.
    pub(crate) fn words(self, report: &Report) -> String {
        match self {
            Self::Text(options) => report.text(options),
            Self::Json => report.to_json(JsonLayout::Compact) + "\n",
            Self::Edn => report.edn().unwrap_or_default(),
            Self::JUnit => junit(&[report]),
            Self::Sarif => sarif(&[report]),
        }
    }

    /// Does a person read it?
    pub(crate) fn is_for_people(self) -> bool {
        matches!(self, Self::Text(_))
    }

    /// The words of `check` that stay as they are while further levels are decided. A document for machines has none.
    pub(crate) fn words_so_far(self, report: &Report, is_decided: impl Fn(&LevelReport) -> bool) -> String {
        match (self, report) {
            (Self::Text(options), Report::Check(report)) => text_so_far(report, is_decided, options),
            _ => String::new(),
        }
    }
}
