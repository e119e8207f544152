//! `isoscope levels`.

use crate::tool::Folder;

#[test]
fn the_catalogue_marks_what_bare_names_mean() {
    let said = Folder::new().run(&["levels"]).ends(0);
    let line = said.out.lines().find(|it| it.contains("biswas.si ")).unwrap();
    assert!(line.contains(" si            Snapshot isolation"), "{line}");
    said.says("cerone.si ").says("crooks.si ").says("adya.pl3 ");
}

#[test]
fn a_definition_is_shown_with_its_source() {
    let folder = Folder::new();
    folder.run(&["levels", "--show", "rc"]).ends(0).says("biswas.rc").says("source: Biswas & Enea").says("choices: ");
    folder.run(&["levels", "--show", "cerone.psi"]).ends(0).says("framework cerone");
    folder.run(&["levels", "--show", "cerone.ps"]).ends(2).complains("`cerone.psi`?");
}

#[test]
fn a_wrong_spec_is_shown_with_a_caret_and_a_hint() {
    let folder = Folder::with_histories();
    folder.write("bad.spec", "import cerone\n\nlevel mine in cerone = cerone.ra and transitive(viz)\n");
    let words = "isoscope: bad.spec: line 3, column 49: `viz` is not defined\n    level mine in cerone = cerone.ra and \
                 transitive(viz)\n                                                    ^\n    hint: did you mean `vis`?\n";
    assert_eq!(folder.run(&["levels", "--check", "bad.spec"]).ends(2).err, words);
    assert_eq!(folder.run(&["check", "skew.history", "--spec", "bad.spec"]).ends(2).err, words);
    folder.write("sorts.spec", "import cerone\nlevel mine in cerone = vis\n");
    folder.run(&["levels", "--check", "sorts.spec"]).ends(2).complains("sorts.spec: line 2, column 24");
}

#[test]
fn spec_files_import_files_beside_them() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("specs")).unwrap();
    folder.write("specs/base.spec", "import cerone\nlevel base in cerone = cerone.ra\n");
    folder.write("specs/mine.spec", "import cerone\nimport \"base.spec\"\nlevel mine in cerone = base.base\n");
    folder.run(&["levels", "--check", "specs/mine.spec"]).ends(0).says("mine.mine");
    folder.write("specs/lost.spec", "import \"gone.spec\"\n");
    folder.run(&["levels", "--check", "specs/lost.spec"]).ends(2).complains("gone.spec");
    folder.write("none.spec", "import cerone\n");
    folder.run(&["levels", "--check", "none.spec"]).ends(2).complains("defines no level");
    folder.run(&["levels", "--check", "missing.spec"]).ends(2).complains("cannot open missing.spec");
    folder.write("binary.spec", [0xff, 0xfe, 0x00]);
    folder.run(&["levels", "--check", "binary.spec"]).ends(2).complains("binary.spec is no text");
}

#[test]
fn the_json_has_every_definition() {
    let document = Folder::new().run(&["levels", "--json"]).ends(0).json().remove(0);
    assert_eq!(document["verb"], "levels");
    let levels = document["levels"].as_array().unwrap();
    let si = levels.iter().find(|it| it["name"] == "biswas.si").unwrap();
    assert_eq!(si["bare"], "si");
    assert_eq!(si["framework"], "biswas");
    assert!(levels.iter().any(|it| it["bare"].is_null()));
}
