//! The document of `demo` as JSON, and back.

use super::members::{Members, Read, items, list, text};
use super::{JsonLayout, document, laid_out};
use crate::demo::{DemoAct, DemoReport};
use crate::document::CheckReport;
use serde_json::Value;

impl DemoReport {
    /// The document as JSON; equal documents give equal bytes.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        let mut members = document("demo");
        members.put("title", self.title.as_str());
        members.put("lead", self.lead.as_str());
        members.put("acts", list(&self.acts, act));
        laid_out(&members.done(), layout)
    }

    pub(crate) fn from_value(of: &Value) -> Read<Self> {
        Ok(Self { title: text(of, "title")?, lead: text(of, "lead")?, acts: items(of, "acts", read_act)? })
    }
}

fn act(of: &DemoAct) -> Value {
    let mut members = Members::default();
    members.put("title", of.title.as_str());
    members.put("before", of.before.as_str());
    members.put("ran", of.ran.as_str());
    members.put("after", of.after.as_str());
    members.put("check", of.check.to_value());
    members.done()
}

fn read_act(of: &Value) -> Read<DemoAct> {
    Ok(DemoAct {
        title: text(of, "title")?,
        before: text(of, "before")?,
        ran: text(of, "ran")?,
        after: text(of, "after")?,
        check: CheckReport::from_value(&of["check"])?,
    })
}
