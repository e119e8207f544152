//! Shows flat programs as a person would write them, and runs them.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::format_push_string, reason = "these are tests")]

use iso_program::{Arith, Expr, Instance, InstanceId, LocalId, Program, ReadId, ReadMode, Stmt, UnitPart, parse};
use std::fmt::Write;

pub(crate) fn program(text: &str) -> Program {
    parse(text, "p").unwrap_or_else(|errors| panic!("{}\nin {text}", errors[0]))
}

/// The parts of a data file: a line, and the indented lines after it. Lines that start with `##` are titles.
pub(crate) fn cases(text: &str) -> Vec<(&str, String)> {
    let mut cases: Vec<(&str, String)> = Vec::new();
    for line in text.lines().filter(|it| !it.is_empty() && !it.starts_with("##")) {
        match (line.strip_prefix("    "), cases.last_mut()) {
            (Some(expected), Some(case)) => case.1 += &format!("{expected}\n"),
            _ => cases.push((line, String::new())),
        }
    }
    cases
}

/// The body of an instance, one statement a line.
pub(crate) fn body(program: &Program, instance: usize) -> String {
    let instance = &program.instances()[instance];
    let mut text = String::new();
    show_block(program, instance, &instance.body, 0, &mut text);
    text
}

fn show_block(program: &Program, instance: &Instance, body: &[Stmt], indent: usize, text: &mut String) {
    let show = |it: &Expr| show_expr(program, Some(instance), it);
    for stmt in body {
        let _ = write!(text, "{:1$}", "", 2 * indent);
        let _ = match stmt {
            Stmt::Read(read) => {
                let place = instance.read(*read);
                let lock = if place.mode == ReadMode::ForUpdate { " for update" } else { "" };
                writeln!(text, "{read:?} = {}{lock}", program.unit(place.unit).name)
            }
            Stmt::Let { local, value } => writeln!(text, "{local:?} = {}", show(value)),
            Stmt::Write { unit, row: None, .. } => writeln!(text, "{} := missing", program.unit(*unit).name),
            Stmt::Write { unit, row: Some(row), .. } => {
                let row: Vec<String> = row.iter().map(show).collect();
                writeln!(text, "{} := {}", program.unit(*unit).name, row.join(", "))
            }
            Stmt::If { condition, then, otherwise } => {
                let _ = writeln!(text, "if {}", show(condition));
                show_block(program, instance, then, indent + 1, text);
                if !otherwise.is_empty() {
                    let _ = writeln!(text, "{:1$}else", "", 2 * indent);
                    show_block(program, instance, otherwise, indent + 1, text);
                }
                Ok(())
            }
            Stmt::Abort { cause, .. } => writeln!(text, "abort {cause:?}"),
            Stmt::Assert { holds, .. } => writeln!(text, "assert {}", show(holds)),
            Stmt::NoSuchRow { .. } => writeln!(text, "no such row"),
        };
    }
}

pub(crate) fn show_expr(program: &Program, instance: Option<&Instance>, expr: &Expr) -> String {
    let show = |it: &Expr| show_expr(program, instance, it);
    let join = |parts: &[Expr], sign: &str| format!("({})", parts.iter().map(show).collect::<Vec<_>>().join(sign));
    let part = |unit: usize, of: String, part: UnitPart| match part {
        UnitPart::Exists => format!("exists {of}"),
        UnitPart::Field(position) => match program.units()[unit].fields[position].name.as_str() {
            "" => of,
            name => format!("{of}.{name}"),
        },
    };
    match expr {
        Expr::Const(value) => program.show(*value),
        Expr::Symbol(symbol) => format!("<{}>", program.symbols()[symbol.index()].name),
        Expr::Local(local) => format!("{local:?}"),
        Expr::Read(read, it) => {
            let unit = instance.expect("claims do not read").read(*read).unit;
            part(unit.index(), format!("{read:?}"), *it)
        }
        Expr::State(unit, it) => part(unit.index(), program.unit(*unit).name.clone(), *it),
        Expr::Not(of) => format!("not {}", show(of)),
        Expr::And(parts) => join(parts, " and "),
        Expr::Or(parts) => join(parts, " or "),
        Expr::Equal(left, right) => format!("({} == {})", show(left), show(right)),
        Expr::Less(left, right) => format!("({} < {})", show(left), show(right)),
        Expr::Arith { op, left, right, .. } => {
            let sign = match op {
                Arith::Add => "+",
                Arith::Sub => "-",
                Arith::Mul => "*",
            };
            format!("({} {sign} {})", show(left), show(right))
        }
        Expr::If(condition, then, otherwise) => {
            format!("(if {} then {} else {})", show(condition), show(then), show(otherwise))
        }
    }
}

pub(crate) fn instances(program: &Program) -> Vec<InstanceId> {
    program.instance_ids().collect()
}

/// Every read stands once, in order of its id; every name is bound once.
pub(crate) fn check_shape(program: &Program) {
    for instance in program.instances() {
        let (mut reads, mut locals) = (Vec::new(), Vec::new());
        collect(&instance.body, &mut reads, &mut locals);
        assert!(reads.into_iter().eq((0..instance.reads.len()).map(ReadId::from_index)), "{}", program.text());
        locals.sort_unstable();
        assert!(locals.into_iter().eq((0..instance.locals.len()).map(LocalId::from_index)), "{}", program.text());
    }
}

fn collect(body: &[Stmt], reads: &mut Vec<ReadId>, locals: &mut Vec<LocalId>) {
    for stmt in body {
        match stmt {
            Stmt::Read(read) => reads.push(*read),
            Stmt::Let { local, .. } => locals.push(*local),
            Stmt::If { then, otherwise, .. } => {
                collect(then, reads, locals);
                collect(otherwise, reads, locals);
            }
            _ => {}
        }
    }
}
