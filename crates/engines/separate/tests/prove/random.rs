//! Levels made at random: none has a proof and a history against it.

use crate::{is_separated, proof};
use iso_spec::{Spec, parse};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        // Xorshift is random enough to choose words.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn one_of<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }

    fn relation(&mut self, names: &[&str], depth: usize) -> String {
        if depth == 0 || self.below(3) == 0 {
            return self.one_of(names).to_owned();
        }
        let left = self.relation(names, depth - 1);
        match self.below(7) {
            0 => format!("({left} | {})", self.relation(names, depth - 1)),
            1 => format!("({left} & {})", self.relation(names, depth - 1)),
            2 => format!("({left} ; {})", self.relation(names, depth - 1)),
            3 => format!("({left}?)"),
            4 => format!("({left}+)"),
            5 => format!("({left} - {})", self.relation(names, depth - 1)),
            _ => format!("({left}^-1)"),
        }
    }

    fn axiom(&mut self, names: &[&str]) -> String {
        let relation = self.relation(names, 2);
        match self.below(6) {
            0 => format!("{relation} in {}", self.relation(names, 1)),
            1 => format!("irreflexive({relation} ; {})", self.relation(names, 1)),
            2 => format!("acyclic({relation})"),
            3 => format!("transitive({relation})"),
            4 => format!(
                "(forall x, s, t, u: wr[x](s, t) and writes(u, x) and {relation}(u, t) implies u = s or {}(u, s))",
                self.one_of(names)
            ),
            _ => format!("(forall s, t: {relation}(s, t) implies exists u: {}(s, u))", self.relation(names, 1)),
        }
    }

    fn level(&mut self) -> Spec {
        let (framework, names): (&str, &[&str]) = match self.below(3) {
            0 => ("biswas", &["so", "wr", "co", "conflict"]),
            1 => ("cerone", &["so", "wr", "ar", "vis", "conflict"]),
            _ => ("adya", &["so", "wr", "vo", "adya.rw"]),
        };
        let axioms: Vec<String> = (0..=self.below(2)).map(|_| self.axiom(names)).collect();
        let text = format!("import common\nimport {framework}\nlevel mine in {framework} = {}", axioms.join(" and "));
        let module = parse(&text, "mine.spec", &mut |_| Err("no files".to_owned()));
        module.unwrap_or_else(|errors| panic!("{text}\n{errors:?}")).levels()[0].clone()
    }
}

#[test]
fn no_random_level_has_a_proof_and_a_history_against_it() {
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let (n_pairs, seed) = (number("ISOSCOPE_CASES").unwrap_or(25), number("ISOSCOPE_SEED").unwrap_or(0));
    println!("ISOSCOPE_SEED={seed}");
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    let (mut n_proved, mut n_separated) = (0, 0);
    for _ in 0..n_pairs {
        let (one, other) = (random.level(), random.level());
        let is_proved = proof(&one, &other).is_some();
        let is_separated = is_separated(&one, &other);
        assert!(!(is_proved && is_separated), "{}\n{}", one.text(), other.text());
        n_proved += usize::from(is_proved);
        n_separated += usize::from(is_separated);
    }
    assert!(n_proved > 0 && n_separated > 0, "{n_proved} proved, {n_separated} separated");
}
