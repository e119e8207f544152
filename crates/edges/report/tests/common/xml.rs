//! A small XML reader, which accepts what any reader would.

/// Nested tags, quoted attributes that occur once, known entities, allowed characters.
pub fn assert_well_formed(name: &str, xml: &str) {
    let allowed = |it: char| it == '\n' || (it >= ' ' && it != '\u{fffe}' && it != '\u{ffff}');
    assert!(xml.chars().all(allowed), "{name}: a character that XML has no room for");
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some((before, after)) = rest.split_once('<') {
        assert_text(name, before);
        let end = after.find('>').unwrap_or_else(|| panic!("{name}: a tag has no end"));
        let tag = &after[..end];
        rest = &after[end + 1..];
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "{name}");
        } else {
            let (element, attributes) = tag.trim_end_matches('/').split_once(' ').unwrap_or((tag, ""));
            assert_attributes(name, attributes);
            if !tag.ends_with('/') {
                open.push(element);
            }
        }
    }
    assert_text(name, rest);
    assert!(open.is_empty(), "{name}: {open:?} is not closed");
}

fn assert_text(name: &str, text: &str) {
    assert!(!text.contains('>'), "{name}: {text}");
    for after in text.split('&').skip(1) {
        let entity = after.split(';').next().unwrap();
        assert!(["amp", "lt", "gt", "quot", "#39", "#10"].contains(&entity), "{name}: &{entity}");
    }
}

fn assert_attributes(name: &str, attributes: &str) {
    let mut seen: Vec<&str> = Vec::new();
    let mut rest = attributes.trim();
    while !rest.is_empty() {
        let (attribute, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{name}: {rest}"));
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("{name}: {rest}"));
        assert!(!seen.contains(&attribute), "{name}: {attribute} stands twice");
        assert_text(name, value);
        seen.push(attribute);
        rest = after.trim_start();
    }
}
