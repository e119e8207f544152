//! Files of sections, such as `[client]`, with a setting a line.

/// The settings below `[name]`.
pub(super) fn section(text: &str, name: &str) -> Option<Vec<(String, String)>> {
    let mut lines = text.lines().map(str::trim).skip_while(|it| *it != format!("[{name}]"));
    lines.next()?;
    let lines = lines.take_while(|it| !it.starts_with('['));
    let lines = lines.filter(|it| !it.is_empty() && !it.starts_with('#') && !it.starts_with(';'));
    let pair = |it: &str| {
        let (name, value) = it.split_once('=').unwrap_or((it, ""));
        (name.trim().to_owned(), value.trim().to_owned())
    };
    Some(lines.map(pair).collect())
}
