//! The histories in `docs/elle.md` are what it says.

use crate::tool::Folder;
use std::fs;

/// The EDN blocks of the page.
fn blocks(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while lines.any(|it| it == "```edn") {
        let block = lines.by_ref().take_while(|it| *it != "```");
        found.push(block.flat_map(|it| [it, "\n"]).collect());
    }
    found
}

/// What a comment of a block says after a word.
fn said<'b>(block: &'b str, word: &str) -> Option<&'b str> {
    block.lines().find_map(|it| it.strip_prefix(word)).map(str::trim)
}

#[test]
fn every_elle_history_in_the_documentation_is_what_it_says() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/elle.md")).unwrap();
    let folder = Folder::new();
    let blocks = blocks(&page);
    assert!(blocks.len() >= 3, "{}", blocks.len());
    for block in blocks {
        folder.write("example.edn", &block);
        let expected = said(&block, "; expect:").unwrap_or_else(|| panic!("nothing is expected of\n{block}"));
        let (holds, fails) = expected.split_once("; not ").unwrap_or((expected, ""));
        let levels = holds.split_whitespace().map(|it| (it, 0)).chain(fails.split_whitespace().map(|it| (it, 1)));
        for (level, code) in levels {
            let options = said(&block, "; options:").unwrap_or_default().split_whitespace();
            let arguments = ["check", "example.edn", "--level", level].into_iter().chain(options);
            folder.run(&arguments.collect::<Vec<_>>()).ends(code);
        }
    }
}
