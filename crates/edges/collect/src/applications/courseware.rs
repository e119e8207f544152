//! Courseware: students who enrol in courses that open and close.
//!
//! Source: the courseware example of Gotsman, Yang, Ferreira, Najafzadeh & Shapiro 2016, with capacities as in Biswas,
//! Kakwani, Vedurada, Enea & Lal 2021 (`MonkeyDB`). Capacity is counted from the enrolments, so that two students who
//! take the last place write different rows. Who finds nothing to do commits all the same; only a refused enrolment
//! aborts.

use crate::{Application, Assertion, Client, Failure, Random, Record, Row, Slot, Transaction};
use std::fmt;

const STUDENTS: usize = 4;
const COURSES: usize = 2;
const CAPACITY: i64 = 2;

/// The school.
#[derive(Debug)]
pub(super) struct Courseware;

#[derive(Clone, Copy, Debug)]
enum Kind {
    OpenCourse,
    CloseCourse,
    Enrol,
    Leave,
    Register,
    Deregister,
    ListCourse,
}

const MIX: [(usize, Kind); 7] = [
    (10, Kind::OpenCourse),
    (10, Kind::CloseCourse),
    (40, Kind::Enrol),
    (10, Kind::Leave),
    (10, Kind::Register),
    (10, Kind::Deregister),
    (10, Kind::ListCourse),
];

#[derive(Debug)]
enum Call {
    OpenCourse { course: usize },
    CloseCourse { course: usize },
    Enrol { student: usize, course: usize },
    Leave { student: usize, course: usize },
    Register { student: usize },
    Deregister { student: usize },
    ListCourse { course: usize },
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenCourse { course } => write!(f, "OpenCourse({course})"),
            Self::CloseCourse { course } => write!(f, "CloseCourse({course})"),
            Self::Enrol { student, course } => write!(f, "Enrol({student},{course})"),
            Self::Leave { student, course } => write!(f, "Leave({student},{course})"),
            Self::Register { student } => write!(f, "Register({student})"),
            Self::Deregister { student } => write!(f, "Deregister({student})"),
            Self::ListCourse { course } => write!(f, "ListCourse({course})"),
        }
    }
}

impl Transaction for Call {
    fn run(&self, client: &mut dyn Client) -> Result<(), Failure> {
        match self {
            Self::OpenCourse { course } => set_status(client, *course, "closed", "open"),
            Self::CloseCourse { course } => {
                if !client.ints("enrolment", format!("{course}."))?.is_empty() {
                    return Ok(());
                }
                set_status(client, *course, "open", "closed")
            }
            Self::Enrol { student, course } => enrol(client, *student, *course),
            Self::Leave { student, course } => {
                if client.get("enrolment", &enrolment_key(*course, *student))?.is_none() {
                    return Ok(());
                }
                client.remove("enrolment", enrolment_key(*course, *student))
            }
            Self::Register { student } => {
                if client.find("student", student)?.is_some() {
                    return Ok(());
                }
                client.add("student", student, Record::new().with("name", format!("student-{student}")))
            }
            Self::Deregister { student } => deregister(client, *student),
            Self::ListCourse { course } => {
                client.record("course", course)?;
                client.ints("enrolment", format!("{course}."))?;
                Ok(())
            }
        }
    }
}

fn enrolment_key(course: usize, student: usize) -> String {
    format!("{course}.{student}")
}

fn set_status(client: &mut dyn Client, course: usize, from: &str, to: &str) -> Result<(), Failure> {
    let row = client.record("course", course)?;
    if row.word("status")? != from {
        return Ok(());
    }
    client.change_from("course", course, row, |it| {
        it.set("status", to);
        it.add("changes", 1)
    })?;
    Ok(())
}

fn enrol(client: &mut dyn Client, student: usize, course: usize) -> Result<(), Failure> {
    client.record("student", student)?;
    let row = client.record("course", course)?;
    if row.word("status")? != "open" {
        return Err(Failure::aborted(format!("course {course} is closed")));
    }
    let enrolled = client.ints("enrolment", format!("{course}."))?;
    if enrolled.iter().any(|it| it.0 == enrolment_key(course, student)) {
        return Ok(());
    }
    if enrolled.len() as i64 >= row.int("capacity")? {
        return Err(Failure::aborted(format!("course {course} is full")));
    }
    client.add("enrolment", enrolment_key(course, student), 1)
}

fn deregister(client: &mut dyn Client, student: usize) -> Result<(), Failure> {
    if client.find("student", student)?.is_none() {
        return Ok(());
    }
    for course in 1..=COURSES {
        if client.get("enrolment", &enrolment_key(course, student))?.is_some() {
            return Ok(());
        }
    }
    client.remove("student", student)
}

impl Application for Courseware {
    fn name(&self) -> &'static str {
        "courseware"
    }

    fn about(&self) -> &'static str {
        "a school whose students enrol in courses that open and close; capacities and references hold"
    }

    fn tables(&self) -> &'static [&'static str] {
        &["course", "enrolment", "student"]
    }

    fn rows(&self) -> Vec<Row> {
        let students =
            (1..=STUDENTS).map(|it| Row::new("student", it, Record::new().with("name", format!("student-{it}"))));
        let courses = (1..=COURSES).map(|it| {
            Row::new("course", it, Record::new().with("status", "open").with("capacity", CAPACITY).with("changes", 0))
        });
        students.chain(courses).collect()
    }

    fn transaction(&self, _: Slot, random: &mut Random) -> Box<dyn Transaction> {
        let kind = random.weighted(&MIX);
        let (student, course) = (random.one_to(STUDENTS), random.one_to(COURSES));
        Box::new(match kind {
            Kind::OpenCourse => Call::OpenCourse { course },
            Kind::CloseCourse => Call::CloseCourse { course },
            Kind::Enrol => Call::Enrol { student, course },
            Kind::Leave => Call::Leave { student, course },
            Kind::Register => Call::Register { student },
            Kind::Deregister => Call::Deregister { student },
            Kind::ListCourse => Call::ListCourse { course },
        })
    }

    fn assertions(&self, state: &mut dyn Client) -> Result<Vec<Assertion>, Failure> {
        let (mut overfull, mut closed, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for course in 1..=COURSES {
            let row = state.record("course", course)?;
            let enrolled = state.ints("enrolment", format!("{course}."))?;
            if enrolled.len() as i64 > row.int("capacity")? {
                let n_students = enrolled.len();
                overfull.push(format!("course {course} has {n_students} students for {CAPACITY} places"));
            }
            if !enrolled.is_empty() && row.word("status")? != "open" {
                let students: Vec<&str> = enrolled.iter().filter_map(|it| it.0.split('.').nth(1)).collect();
                closed.push(format!("course {course} is closed, with student {} in it", students.join(" and ")));
            }
            for student in 1..=STUDENTS {
                let is_enrolled = enrolled.iter().any(|it| it.0 == enrolment_key(course, student));
                if is_enrolled && state.find("student", student)?.is_none() {
                    unknown.push(format!("course {course} has student {student}, who is not registered"));
                }
            }
        }
        Ok(vec![
            Assertion::none_of("no course has more students than places", &overfull),
            Assertion::none_of("courses with students are open", &closed),
            Assertion::none_of("students in courses are registered", &unknown),
        ])
    }
}
