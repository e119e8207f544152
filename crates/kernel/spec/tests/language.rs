//! The language: what is accepted, what operators mean, and what is said about mistakes.

mod common;

use common::{allows, history};
use iso_history::Facts;
use iso_spec::{Catalogue, Module, SpecError, Steps, evaluate, evaluate_plainly, parse};
use std::fmt::Write as _;

fn read(text: &str) -> Result<Module, Vec<SpecError>> {
    parse(text, "test.spec", &mut |_| Err("there are no files".to_owned()))
}

/// Texts with one mistake each: where it is, and a part of the message and of the hint.
const MISTAKES: &[(&str, u32, u32, &str, &str)] = &[
    ("levl ra = true", 1, 1, "expected `import`, `framework`, `def` or `level`, found `levl`", "a spec is a list"),
    ("level ra = true", 1, 10, "expected `in` and a framework, found `=`", "level ra in biswas"),
    ("level ra in biswas = true", 1, 13, "there is no framework `biswas`", "import its module"),
    ("import biswas\nlevel a in bisvas = true", 2, 12, "there is no framework `bisvas`", "did you mean `biswas`?"),
    ("import biswsa", 1, 8, "the catalogue has no module `biswsa`", "did you mean `biswas`?"),
    ("import \"a.spec\"", 1, 8, "cannot read `a.spec`: there are no files", "without quotes"),
    ("import biswas\nlevel a in biswas = acyclic(cx)", 2, 29, "`cx` is not defined", "did you mean `cc` or `co`?"),
    ("import biswas\nlevel a in biswas = so", 2, 21, "expected a formula, found a relation", "apply it"),
    (
        "import biswas\nlevel a in biswas = acyclic(init)",
        2,
        29,
        "expected a relation from elements to elements, found a set of transactions",
        "`[S]` makes",
    ),
    ("import biswas\nlevel a in biswas = acyclic(writes)", 2, 29, "expected a relation from", "the sorts"),
    ("import biswas\nlevel a in biswas = forall t: true", 2, 28, "nothing says what `t` ranges over", "write `t: txn`"),
    ("import biswas\nlevel a in biswas = forall t: so(t)", 2, 31, "a relation takes two arguments", "R(a, b)"),
    (
        "import biswas\nlevel a in biswas = forall t, x: writes(x, t) and so(x, x) and writes(t, x)",
        2,
        71,
        "expected a transaction, found a key",
        "two sorts",
    ),
    ("import biswas\nlevel a in biswas = axiom", 2, 21, "`axiom` takes 1 argument, found 0", "write `axiom(...)`"),
    ("import biswas\nlevel a in biswas = axiom(so, wr)", 2, 21, "`axiom` takes 1 argument, found 2", "definition"),
    ("import biswas\nlevel a in biswas = axiom(init)", 2, 27, "expected a relation", "`[S]` makes a relation"),
    ("import biswas\nlevel a in biswas = so or wr in co", 2, 21, "expected a formula, found a relation", "apply it"),
    (
        "import biswas\nlevel a in biswas = (true | false)",
        2,
        22,
        "expected a relation or a set, found a formula",
        "use `or`",
    ),
    ("import biswas\nlevel a in biswas = true = false", 2, 21, "found a formula", "use `iff`"),
    ("import biswas\nlevel a in biswas = so in wr in co", 2, 30, "comparisons do not chain", "`and`"),
    ("import biswas\nlevel a in biswas = forall t so(t, t)", 2, 30, "expected `,` or `:`, found `so`", "a colon"),
    ("import biswas\nlevel a in biswas = forall t, t: so(t, t)", 2, 31, "`t` is bound twice", "another name"),
    (
        "import biswas\nlevel a in biswas = acyclic(so",
        2,
        31,
        "expected `,` or `)`, found the end of the text",
        "end here",
    ),
    (
        "import biswas\nlevel a in biswas = so ; in co",
        2,
        26,
        "expected a formula, a relation or a set, found `in`",
        "missing",
    ),
    ("import biswas\nlevel a in biswas = so # wr", 2, 24, "`#` means nothing here", "comments start with"),
    ("import biswas\nlevel a in biswas = co[t0](t0, t0)", 2, 21, "this has no part for each key", "`wr[x]`"),
    (
        "import biswas\nlevel a in biswas = forall t: wr[t](t, t)",
        2,
        37,
        "expected a transaction, found a key",
        "two sorts",
    ),
    (
        "import biswas\nlevel a in biswas = biswas.rx",
        2,
        21,
        "module `biswas` has no `rx`",
        "did you mean `ra` or `rc`?",
    ),
    ("import biswas\nlevel a in biswas = cerone.ra", 2, 21, "there is no imported module `cerone`", "import cerone"),
    (
        "import biswas\nimport cerone\nlevel a in biswas = ra",
        3,
        21,
        "`ra` means several things",
        "`biswas.ra` or `cerone.ra`",
    ),
    (
        "import biswas\nimport cerone\nlevel a in biswas = session",
        3,
        7,
        "uses `vis`, which framework `biswas` does not have",
        "framework",
    ),
    ("import biswas\nlevel a in biswas = b\ndef b = true", 2, 21, "`b` is not defined", "further down"),
    ("def b = b and true", 1, 9, "`b` is not defined", "cannot use itself"),
    ("def so = wr", 1, 5, "`so` is built in", "another name"),
    ("def b = wr\ndef b = so", 2, 5, "`b` is defined twice", "another name"),
    ("def f(p) = true", 1, 7, "nothing says what the parameter `p` is", "`p: relation`"),
    ("def f(p, p) = so(p, p)", 1, 10, "`p` is a parameter twice", "another"),
    ("def f(p: thing) = true", 1, 10, "expected `txn`, `key`, `read`, `relation`, `set` or `formula`", "parameter"),
    ("def f = forall t: thing, s: true", 1, 19, "expected `txn`, `key` or `read`, found `thing`", "sorts"),
    ("def f = { a, b, c | so(a, b) and so(b, c) }", 1, 9, "only sets and relations", "{ t | ... }"),
    ("def f = forall a, b: (a, b)", 1, 22, "a pair stands alone", "(t1, t2) in so"),
    ("def f = forall a: a in so", 1, 24, "expected a set of elements, found a relation", "a pair"),
    ("def f = so;writes;wr", 1, 19, "expected a relation from keys", "`^-1` turns"),
    ("def f = acyclic", 1, 9, "`acyclic` needs a relation", "`acyclic(R)`"),
    (
        "framework f { order co\n require so ix co }",
        2,
        13,
        "expected `order`, `relation`, `versions`, `require` or `}`",
        "framework name",
    ),
    ("framework f { order co, co }", 1, 25, "`co` is defined twice", "another name"),
    (
        "framework f { order co }\nlevel a in f allowing murder = true",
        2,
        23,
        "expected `dirty reads`",
        "all that a level",
    ),
    ("import \"a", 1, 8, "this text does not end", "close it"),
    ("level a in b = true true", 1, 21, "expected the next definition, found `true`", "operator is missing"),
];

#[test]
fn mistakes_are_answered_with_place_and_hint() {
    let mut wrong = Vec::new();
    for (text, line, column, message, hint) in MISTAKES {
        let errors = read(text).expect_err(text);
        let error = &errors[0];
        let is_right = (error.line, error.column) == (*line, *column)
            && error.message.contains(message)
            && error.hint.contains(hint);
        if !is_right {
            wrong.push(format!("{text}\n{error}\n"));
        }
        assert_eq!(error.file, "test.spec");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn several_mistakes_are_told_at_once() {
    let text = "def a = so +\ndef b = ;\nlevel";
    assert_eq!(read(text).unwrap_err().iter().map(|it| it.line).collect::<Vec<_>>(), [2, 3]);
    let text = "import biswas\ndef a = so and wr\nlevel b in biswas = cx(t0, t9)\ndef c = forall t: true";
    let errors = read(text).unwrap_err();
    assert_eq!(errors.iter().map(|it| it.line).collect::<Vec<_>>(), [2, 2, 3, 3, 4]);
}

#[test]
fn what_uses_a_wrong_definition_is_not_blamed() {
    let errors = read("import biswas\ndef a = nothing\nlevel b in biswas = a and a(t0, t0)").unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, close) in [("(", ")"), ("not ", ""), ("{ t | ", " }"), ("[", "]"), ("forall t: ", ""), ("so(", ")")] {
        let text = format!("def a = {}so{}", open.repeat(100_000), close.repeat(100_000));
        let text = &text[..text.len().min(1 << 20)];
        assert!(read(text).unwrap_err()[0].message.contains("nested too deeply"), "{open}");
    }
    for chain in [" | so", "^-1", " ; so", "(t0, t0)", " and true"] {
        let text = format!("def a = so{}", chain.repeat(100_000));
        assert!(read(&text).is_err(), "{chain}");
    }
    assert!(read(&"(".repeat(1_000_000)).is_err());
    assert!(read(&" ".repeat(2_000_000)).unwrap_err()[0].message.contains("longer than"));
}

#[test]
fn definitions_that_double_are_refused_or_shared() {
    let mut shared = "import biswas\ndef d0 = so\n".to_owned();
    let mut copied = "import biswas\ndef d0(R: relation) = R ; R\n".to_owned();
    for idx in 1..40 {
        let before = idx - 1;
        writeln!(shared, "def d{idx} = d{before} ; d{before}").unwrap();
        writeln!(copied, "def d{idx}(R: relation) = d{before}(R ; R) | d{before}(R)").unwrap();
    }
    shared += "level a in biswas = d39 in co";
    copied += "level a in biswas = d39(so) in co";
    assert!(read(&shared).is_ok());
    assert!(read(&copied).unwrap_err()[0].message.contains("too large"));
}

#[test]
fn deep_trees_of_shallow_definitions_are_refused() {
    let chain = " ; so".repeat(60);
    let mut text = format!("import biswas\ndef f(R: relation) = R{chain}\ndef d0 = so\n");
    for idx in 1..60 {
        writeln!(text, "def d{idx} = d{}{chain}", idx - 1).unwrap();
    }
    let used: Vec<String> = (0..60).map(|it| format!("d{it} in co")).collect();
    let parts = [used.join(" and "), format!("{}so{} in co", "f(".repeat(60), ")".repeat(60))];
    for part in parts {
        let errors = read(&format!("{text}level a in biswas = {part}")).unwrap_err();
        assert!(errors[0].message.contains("too large"), "{}", errors[0]);
    }
    let iff = "so in co iff (".repeat(40);
    let errors = read(&format!("import biswas\nlevel a in biswas = {iff}true{}", ")".repeat(40))).unwrap_err();
    assert!(errors[0].message.contains("too large"), "{}", errors[0]);
    // As deep as is allowed, and then everything works.
    let chain = " ; co".repeat(70);
    let text = format!(
        "framework f {{ order co }}\ndef a = co{chain}\ndef b = a{chain}\ndef c = b{chain}\nlevel d in f = c in co"
    );
    assert!(allows(&read(&text).unwrap().levels()[0], &history("a: w(x,1)\n b: r(x,1)")));
}

/// Changes one byte after the other, so that most texts are wrong in some new way.
#[test]
fn no_text_makes_the_parser_panic() {
    let garbage = ["(", "]", "∀", "=", "level", "\"", "}", " in ", "\n", "^", "\u{0}", "t0", ";", "/// x\n"];
    let mut n_good = 0;
    for module in Catalogue::builtin().modules() {
        let text = module.text();
        for (nth, at) in (0..text.len()).step_by(17).enumerate() {
            if !text.is_char_boundary(at) {
                continue;
            }
            let end = (at + nth % 7..text.len()).find(|it| text.is_char_boundary(*it)).unwrap_or(at);
            let changed = [&text[..at], garbage[nth % garbage.len()], &text[end..]].concat();
            n_good += usize::from(read(&changed).is_ok());
            n_good += usize::from(read(&text[at..]).is_ok());
        }
    }
    assert!(n_good > 0);
}

/// Words in any order: most texts are nonsense, many of them only to the checker.
#[test]
fn no_soup_of_words_makes_the_checker_panic() {
    let words =
        "so wr wr [x] (a,b) (R) ( ) [ ] { } co vo vis p x a b R t0 init f g(p) g[x] | & - ; + ^-1 ? = != in and or
        not implies iff forall exists a,b: x: p: a:txn, true empty acyclic total writes key from of biswas.ra ext";
    let words: Vec<&str> = words.split_whitespace().collect();
    let heads = [
        "def f = ",
        "def f(p) = ",
        "def f(R: relation, x) = ",
        "level l in biswas = ",
        "level l in cerone = forall a, b, x: ",
    ];
    let mut random = common::Random::new(3);
    let mut n_good = 0;
    for nth in 0..20_000 {
        let soup: Vec<&str> = (0..=random.below(7)).map(|_| words[random.below(words.len())]).collect();
        let imports = "import biswas\nimport cerone\ndef g(p: key) = wr[p]\n";
        let text = format!("{imports}{}{}", heads[nth % heads.len()], soup.join(" "));
        n_good += usize::from(read(&text).is_ok());
    }
    assert!(n_good > 100, "{n_good}");
}

#[test]
fn signs_and_words_mean_the_same() {
    let words = "import common\nframework f { order co; require so | wr in co }
        level a in f = forall x, t1, t2, t3: t1 != t2 and wr[x](t1, t3) and writes(t2, x)
        and (hb & co^-1^-1)+(t2, t3) implies not not co(t2, t1) or false
        level b in f = acyclic(so;co) iff exists t: t in init and (so - wr)* = (so - wr)+?";
    let signs = "import common\nframework f { order co; require so ∪ wr ⊆ co }
        level a in f = ∀ x, t1, t2, t3: t1 ≠ t2 ∧ wr[x](t1, t3) ∧ writes(t2, x)
        ∧ (hb ∩ co⁻¹⁻¹)⁺(t2, t3) ⇒ ¬¬co(t2, t1) ∨ false
        level b in f = acyclic(so∘co) ⇔ ∃ t: t ∈ init ∧ (so ∖ wr)* = (so \\ wr)⁺?";
    let (words, signs) = (read(words).unwrap(), read(signs).unwrap());
    for (left, right) in words.levels().iter().zip(signs.levels()) {
        assert_eq!(left.formula(), right.formula());
        assert_eq!(left.requirements(), right.requirements());
    }
}

/// Formulas that are true in every history, whatever the witness, and so are forbidden when negated.
const LAWS: &[&str] = &[
    "so;so in so and transitive(so) and irreflexive(so) and acyclic(so | wr | co)",
    "forall t: init(t) iff t = t0",
    "forall t: not init(t) implies so(t0, t) and rt(t0, t) and co(t0, t)",
    "forall x: writes(t0, x) and (t0, x) in writes",
    "wr = { a, b | exists x: wr[x](a, b) } and wr = from^-1 ; of",
    "reads = of^-1 ; key and forall r, s: po(r, s) implies exists t: of(r, t) and of(s, t)",
    "total(co) and co? ; co = co and co+ = co and co* = co? and (co^-1)^-1 = co",
    "empty(co & co^-1) and empty(co - co) and co | co^-1 | id = { a: txn, b: txn | true }",
    "[init] ; co = { a, b | init(a) and co(a, b) } and { t | init(t) } = init and init in { t: txn | true }",
    "forall x: vo[x] in vo and acyclic(vo[x]) and transitive(vo[x]) and total([writers(x)] ; vo[x] | unwritten(x))",
    "vo = { a, b | exists x: vo[x](a, b) } and forall x: vo[x] = [writers(x)] ; vo[x] ; [writers(x)]",
    "forall x, t: (wr[x] ; wr[x]^-1)+(t, t) iff exists s: wr[x](t, s)",
    "(exists t: not init(t)) implies not (forall t: init(t)) and not empty({ t | t != t0 } - init)",
    "forall a, b: { c | co(c, b) }(a) iff { c, d | co(d, c) and d != c }^-1(a, b)",
    "conflicting(t0, t0) implies conflicting(t0, t0)",
];

fn law_module(laws: &[&str], negated: bool) -> String {
    let mut text = "framework f { order co; versions vo }
        def writers(x) = { t | writes(t, x) }
        def unwritten(x: key) = { a, b | not (writes(a, x) and writes(b, x)) }
        def conflicting(a, b) = exists x: writes(a, x) and writes(b, x)\n"
        .to_owned();
    for (idx, law) in laws.iter().enumerate() {
        let law = law.replace("acyclic(so | wr | co)", "(so | wr in co implies acyclic(so | wr | co))");
        let not = if negated { "not " } else { "" };
        writeln!(text, "level law{idx} in f = {not}({law})").expect("strings take everything");
    }
    text
}

#[test]
fn operators_obey_their_laws() {
    let histories = [
        "a: r(x,0) w(x,1)\n b: w(y,2) w(x,3)\n a: r(y,2) r(x,3)",
        "a: w(x,1)\n b: r(x,1) r(x,0)",
        "a: r(x,2)\n a: w(x,2)",
    ];
    let laws = read(&law_module(LAWS, false)).unwrap();
    let negated = read(&law_module(LAWS, true)).unwrap();
    for text in histories {
        let history = history(text);
        for (law, not_law) in laws.levels().iter().zip(negated.levels()) {
            assert!(allows(law, &history), "{}\n{text}", law.text());
            assert!(!allows(not_law, &history), "{}\n{text}", not_law.text());
        }
    }
}

#[test]
fn operators_obey_their_laws_when_everything_is_tried() {
    let history = history("a: r(x,0) w(x,1)\n b: r(x,1)");
    let facts = Facts::new(&history);
    let module = read(&law_module(LAWS, true)).unwrap();
    for not_law in module.levels() {
        let answer = evaluate_plainly(&facts, not_law, &mut Steps::unlimited());
        assert_eq!(answer.is_allowed(), Some(false), "{}", not_law.text());
    }
}

#[test]
fn files_import_files_through_the_loader() {
    let mut loader = |file: &str| match file {
        "lib/base.spec" => {
            Ok("import cerone\n/// Mine.\n/// source: me\n/// choices: none\nlevel mine in cerone = ext".to_owned())
        }
        "loop.spec" => Ok("import \"loop.spec\"".to_owned()),
        "bad.spec" => Ok("\ndef x = (".to_owned()),
        _ => Err("not found".to_owned()),
    };
    let text = "import \"lib/base.spec\"\nimport cerone\nlevel more in cerone = base.mine and session\nlevel less in cerone = mine";
    let module = parse(text, "dir/user.spec", &mut loader).unwrap();
    let names: Vec<&str> = module.levels().iter().map(iso_spec::Spec::name).collect();
    assert_eq!(names, ["user.more", "user.less"]);
    assert!(module.find("more").unwrap().show().contains("level mine"));
    let error = parse("import \"loop.spec\"", "a.spec", &mut loader).unwrap_err();
    assert_eq!((error[0].file.as_str(), error[0].message.as_str()), ("loop.spec", "`loop.spec` imports itself"));
    let error = parse("import \"bad.spec\"", "a.spec", &mut loader).unwrap_err();
    assert_eq!((error[0].file.as_str(), error[0].line, error[0].column), ("bad.spec", 2, 10));
}

#[test]
fn documentation_lines_become_summary_source_and_choices() {
    let text = "import biswas\n/// One line\n/// and more.\n/// source: here\n/// and there\n/// choices: some\nlevel a in biswas = true";
    let module = read(text).unwrap();
    let spec = &module.levels()[0];
    assert_eq!((spec.summary(), spec.source(), spec.choices()), ("One line and more.", "here and there", "some"));
    assert_eq!(spec.framework(), "biswas");
    assert!(spec.text().starts_with("/// One line") && spec.text().ends_with("true"));
}

#[test]
fn the_step_limit_is_kept() {
    let history = history("a: w(x,1)\n b: w(x,2)\n c: w(x,3)\n d: r(x,1) r(x,2) r(x,3)");
    let facts = Facts::new(&history);
    let mut steps = Steps::new(0);
    let answer = evaluate(&facts, Catalogue::builtin().find("ser").unwrap(), &mut steps);
    assert_eq!(answer, iso_spec::Evaluation::OutOfSteps);
    assert_eq!(steps.left(), 0);
}
