//! Documents as pages that need nothing else: no scripts to load, no fonts, no styles.

mod check;
mod lattice;
mod predict;
mod search;
mod verify;

pub use check::html;
pub(crate) use lattice::lattice_html;
pub(crate) use predict::predict_html;
pub(crate) use search::{compare_html, separate_html};
pub(crate) use verify::verify_html;

use crate::document::Link;
use crate::words::xml;

const STYLE: &str = include_str!("page.css");

/// A page around its body. The JSON of the document is inside, in the element `report`.
fn page(title: &str, body: &str, json: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Isoscope: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <script type=\"application/json\" id=\"report\">\n{}\n</script>\n</body>\n</html>\n",
        xml(title),
        // A script element ends at the first `</`, wherever that stands, so no `<` may be in the JSON.
        json.replace('<', "\\u003c")
    )
}

/// The links of a circle as a list; nothing if there is none.
fn cycle(links: &[Link]) -> String {
    if links.is_empty() {
        return String::new();
    }
    let mut out = "<ol class=\"cycle\">\n".to_owned();
    for link in links {
        let key = link.key.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
        out += &format!(
            "<li><code class=\"{0}\">{0}{1}</code> {2}</li>\n",
            xml(&link.kind),
            xml(&key),
            xml(&link.because)
        );
    }
    out + "</ol>\n"
}
