//! `isoscope demo`.

use crate::tool::Folder;

#[test]
fn the_demo_tells_three_stories_and_writes_their_pictures() {
    let folder = Folder::new();
    let mut said = folder.run(&["demo", "--out", "tour"]).ends(0);
    for anomaly in ["lost-update", "fractured-read", "write-skew"] {
        said = said.says(&format!("{anomaly}, forbidden by")).says(&format!("tour/isoscope-demo-{anomaly}.svg"));
        assert!(folder.read(&format!("tour/isoscope-demo-{anomaly}.svg")).contains("<svg"), "{anomaly}");
    }
    let page = folder.read("tour/isoscope-demo.html");
    assert_eq!(page.matches("<svg").count(), 3);
    said.says("tour/isoscope-demo.html").says("evidence certified");
}
