"""Answers are those of the command line, as objects."""

import json
import re
import threading
import time

import pytest

import isoscope
from isoscope import History, HistoryError, QuestionError

SKEW = "init x=0 y=0\ns1: { r(x,0) r(y,0) w(x,1) }\ns2: { r(x,0) r(y,0) w(y,1) }\n"


def test_check_says_which_levels_hold_and_why_others_do_not():
    answer = isoscope.check(History.parse(SKEW), ["si", "ser"])
    assert (answer.verdict, answer.holds, bool(answer), answer.exit_code) == ("violated", False, False, 1)
    assert answer["si"].holds and answer["snapshot-isolation"].certified
    assert answer["ser"].anomalies == ("write-skew",) == tuple(answer.anomalies)
    assert [it.level for it in answer] == ["si", "ser"]
    assert "s1.1 would" in answer.html() or "must come before" in answer.html()
    assert "write-skew, forbidden by ser" in answer.explain()
    assert answer.document["levels"][1]["evidence"]["cycle"][0]["kind"] == "rw"
    with pytest.raises(KeyError, match="cc was not asked; asked were si, ser"):
        answer["cc"]


def test_without_levels_all_are_decided_and_notes_say_what_was_not_asked():
    answer = isoscope.check(History.parse(SKEW))
    assert answer["cc"].holds and not answer["ser"].holds
    assert any(it.startswith("Not asked: ssi and sser") for it in answer.notes)


def test_every_anomaly_of_the_corpus_is_named_as_its_header_says(corpus):
    for path in sorted((corpus / "anomalies").glob("*.history")):
        header = path.read_text().splitlines()[0]
        name = path.stem
        if f"({name})" in header:
            broken = re.split(r"[;:] not ", header)[1].split()[0]
            # Durability is no level: it is said beside them.
            if broken != "durable":
                assert name in isoscope.check(path, broken).anomalies, path


def test_answers_render_for_notebooks_and_files(tmp_path):
    answer = isoscope.check(History.parse(SKEW), "ser")
    shown = answer._repr_html_()
    assert "<svg" in shown and "serializable (ser): violated (write-skew)" in shown
    assert "<script" not in shown
    for ending, beginning in {"html": "<!DOCTYPE", "svg": "<svg", "dot": "digraph", "json": "{", "txt": "serializable"}.items():
        answer.report(tmp_path / f"why.{ending}")
        assert (tmp_path / f"why.{ending}").read_text().startswith(beginning), ending
    assert json.loads((tmp_path / "why.json").read_text())["levels"][0]["verdict"] == "violated"
    with pytest.raises(QuestionError, match="a report's name ends in one of .html"):
        answer.report(tmp_path / "why.pdf")
    assert repr(answer) == "<CheckAnswer: serializable (ser): violated (write-skew)>"


def test_headlines_say_all_in_a_line_and_nothing_of_the_command_line():
    answer = isoscope.check(History.parse(SKEW), ["cc", "si", "ser"])
    assert answer.headline() == "violated: ser (write-skew); holds: cc, si"
    assert "--report" not in answer.explain()
    compared = isoscope.compare("si", "ser").headline()
    assert compared.endswith(".") and len(compared) > 100, compared


def test_levels_of_your_own(tmp_path):
    spec = tmp_path / "mine.spec"
    spec.write_text("import cerone\n/// Mine.\nlevel lax in cerone = cerone.ra\n")
    assert isoscope.check(History.parse(SKEW), spec=spec).levels.keys() == {"mine.lax"}
    assert isoscope.compare("mine.lax", "ra", spec=spec, bounded=2).relation == "equivalent"


def test_separate_and_compare():
    found = isoscope.separate(allow="si", forbid="ser")
    assert found and found.verdict == "found" and found.histories[0].n_transactions == 2
    assert not isoscope.check(found.histories[0], "ser")
    none = isoscope.separate(allow="ser", forbid="si", txns=2)
    assert not none and none.histories == []
    comparison = isoscope.compare("ser", "si")
    assert comparison.relation == "stronger" and comparison.left_only is None
    assert comparison.right_only is not None and comparison.right_only.n_transactions == 2


def test_verify(corpus):
    path = corpus / "programs/doctors-on-call.txn"
    answer = isoscope.verify_file(path, ["si", "ser"])
    assert dict(answer.levels) == {"si": "violated", "ser": "holds"} and not answer
    assert answer.counterexample("si")["last_state"]
    assert answer.counterexample("ser") is None
    postgres = isoscope.verify(path.read_text(), database="postgres", repair=True)
    assert postgres.weakest == ["postgres.ser"] and postgres.repairs


def test_predict():
    run = History.parse("init x=0\ns1: { r(x,0) w(x,60) }\ns2: { r(x,60) w(x,10) }")
    answer = isoscope.predict(run)
    assert answer and answer.predictions[0].anomalies == ("lost-update",)
    assert not isoscope.check(answer.predictions[0].history, "ser")
    assert isoscope.predict(run, "rc").levels == {"rc": "predicted"}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda history: isoscope.check(history, "sir"), "there is no level `sir`"),
        (lambda history: isoscope.check(history, "read committed"), "databases mean different things by `read committed`"),
        (lambda history: isoscope.compare("ser", "nothing"), "nothing"),
        (lambda history: isoscope.separate(allow="si"), "--forbid"),
        (lambda history: isoscope.separate(allow="si", forbid="ser", txns=99), "99"),
        (lambda history: isoscope.predict(history, target="rc"), "target"),
        (lambda history: isoscope.verify("run nothing()"), "nothing"),
    ],
)
def test_questions_that_cannot_be_asked_say_why(ask, message):
    with pytest.raises(QuestionError, match=message):
        ask(History.parse(SKEW))


def test_nothing_is_not_said_to_hold():
    with pytest.raises(HistoryError, match="nothing to check; if that is as it should be, say allow_empty=True"):
        isoscope.check(History.from_transactions([]), "ser")
    answer = isoscope.check(History.from_transactions([]), "ser", allow_empty=True)
    assert answer.holds and "There are no transactions, so there was nothing to check." in answer.notes


def test_programs_with_mistakes_have_places():
    with pytest.raises(QuestionError) as caught:
        isoscope.verify("var x: int = 0\ntxn t() { x += }\nrun t()")
    place = caught.value.places[0]
    assert (place.file, place.line) == ("program", 2) and place.column


def slow() -> History:
    """A history that takes long: few values, no times, and a read that no order explains."""
    import random

    chance = random.Random(3)
    rows = []
    for session in range(24):
        for txn in range(60):
            for _ in range(5):
                kind = chance.choice(["r", "w"])
                rows.append({"session": session, "txn": txn, "op": kind, "key": chance.randrange(6), "value": chance.randrange(3)})
    return History.from_rows(rows, initial=0)


def test_the_time_limit_ends_a_search():
    since = time.monotonic()
    answer = isoscope.check(slow(), "ser", timeout=0.2)
    assert time.monotonic() - since < 5
    assert answer.verdict in ("unknown", "violated")


def test_other_threads_run_while_a_question_is_answered():
    ticks = 0
    is_over = threading.Event()

    def count():
        nonlocal ticks
        while not is_over.is_set():
            ticks += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    isoscope.separate(allow="cc", forbid="pc")
    is_over.set()
    counter.join()
    assert ticks > 3
