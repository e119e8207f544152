//! The text of a program with everything left open, so that runs of its transactions can be added to it.

use super::Templates;
use crate::parser::parse_items;
use crate::syntax::ItemKind;

impl Templates {
    /// The text without `run`, `init`, assumptions and claims, and with variables that begin with any value. Lines stay where
    /// they are.
    pub fn open_text(&self) -> String {
        let mut text = String::new();
        let mut done = 0;
        for item in parse_items(&self.text).items {
            let instead = match &item.kind {
                ItemKind::Run(_) | ItemKind::Init(_) | ItemKind::Assume(_) | ItemKind::Claim { .. } => String::new(),
                ItemKind::Var { name, ty, .. } => format!("var {}: {} = any {}", name.text, ty.text, ty.text),
                _ => continue,
            };
            let (start, end) = (item.span.start as usize, item.span.end as usize);
            text += &self.text[done..start];
            text += &instead;
            text.extend(self.text[start..end].chars().filter(|it| *it == '\n'));
            done = end;
        }
        text + &self.text[done..]
    }
}
