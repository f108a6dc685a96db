"""`vips-explorer data` and `fit` on private files: caps, people, and what is refused."""

import sqlite3

import pytest

from tests.cli.shell import SPEND, registered, run, run_json, survey
from vips_core.store.store import Store

__all__ = ["registered", "survey"]  # fixtures


def test_a_private_file_needs_an_explicit_cap(capsys, home, survey):
    """Issue 16: `fit` on a file that was not registered silently set a cap of ε = 10."""
    code, printed = run(capsys, "fit", "logistic", "--data", *survey, *SPEND)
    assert (code, printed.err.count("\n")) == (2, 1)
    assert "is private and has no cap yet: register it with one" in printed.err
    assert f"data add table {survey[0]} --epsilon E --delta D" in printed.err
    assert (Store().ledger(), Store().runs(), list((home / "data").iterdir())) == ([], [], [])


@pytest.mark.parametrize(
    ("file", "name"),
    [("-dash.csv", "dash"), (" x.csv", "x"), ("$(id).csv", "id-"), ("n" * 99 + ".csv", "n" * 64)],
)
def test_any_file_gets_a_name_that_the_store_accepts(capsys, survey, file, name):
    survey[0] = survey[0].rename(survey[0].with_name(file))
    row = run_json(capsys, "data", "add", "table", *survey, "--epsilon", 3, "--delta", 1e-5)
    assert row["name"] == name


def test_a_large_delta_needs_a_reason(capsys, survey):
    """Issue 16: a cap's δ could be 0.4, and cap changes had no author and no reason."""
    cap = ["--epsilon", 3, "--delta", 0.01]
    code, printed = run(capsys, "data", "add", "table", *survey, *cap)
    assert code == 2
    assert "the cap's delta must be at most 1/(10·N) = 0.00167 for 60 records, got 0.01" in printed.err
    assert Store().ledger() == []
    said = ["--by", "Ada", "--reason", "the board agreed"]
    run_json(capsys, "data", "add", "table", *survey, *cap, *said)
    code, printed = run(capsys, "data", "budget", "people", "--epsilon", 3, "--delta", 0.02)
    assert (code, "a larger δ needs a reason" in printed.err) == (2, True)
    run_json(capsys, "data", "budget", "people", "--epsilon", 3, "--delta", 1e-4, "--by", "Bob")
    rows = run_json(capsys, "ledger", "show")
    contents = [row["content"] for row in rows if row["kind"] in ("data", "cap")]
    signed = [(content["by"], content["reason"]) for content in contents]
    assert signed == [("Ada", "the board agreed"), ("Ada", "the board agreed"), ("Bob", "")]
    assert "private, by Ada: the board agreed" in run(capsys, "ledger", "show")[1].out
    code, printed = run(capsys, "data", "budget", "people", *cap, "--by", "x" * 501, "--reason", "long")
    assert (code, "by must have at most 500 characters" in printed.err) == (2, True)


def test_a_person_column_is_enforced_and_chained(capsys, tmp_path):
    """Issue 16: one could type a unit that the code did not enforce."""
    rows = [f"{n % 20},{20 + n},{n % 2}" for n in range(60)]
    (tmp_path / "visits.csv").write_text("patient,age,ill\n" + "\n".join(rows))
    (tmp_path / "schema.toml").write_text("[ranges]\nage = [18, 100]\n")
    about = [tmp_path / "visits.csv", "--target", "ill", "--schema", tmp_path / "schema.toml"]
    row = run_json(
        capsys, "data", "add", "table", *about, "--person", "patient", "--epsilon", 3, "--delta", 1e-4
    )
    assert (row["records"], row["person_column"]) == (20, "patient")
    assert row["unit"] == "one person (all rows with the same value of patient)"
    assert len(Store().load("visits").train) == 20
    assert Store().ledger("visits")[0].content["person_column"] == "patient"


@pytest.fixture
def visits(tmp_path):
    """A table of 400 visits of 20 patients, and its options."""
    rows = [f"{n},{n % 20},{20 + n % 60},{n % 7},{n % 2}" for n in range(400)]
    (tmp_path / "visits.csv").write_text("visit,patient,age,dose,ill\n" + "\n".join(rows))
    (tmp_path / "schema.toml").write_text("[ranges]\nage = [18, 100]\ndose = [0, 10]\n")
    (tmp_path / "turned.toml").write_text("[ranges]\ndose = [0, 10]\nage = [18, 100]\n")
    return [tmp_path / "visits.csv", "--target", "ill", "--schema"]


def test_one_cap_counts_one_unit(capsys, tmp_path, visits):
    """Issue 32: a fit by visit ran under a cap by patient; a patient with 20 visits lost ε = 13.6, not 1."""
    cap = ["--epsilon", 1, "--delta", 1e-4]
    by_patient = [*visits, tmp_path / "schema.toml", "--person", "patient"]
    run_json(capsys, "data", "add", "table", *by_patient, *cap)
    before = Store().ledger()
    turned = [*visits, tmp_path / "turned.toml", "--name", "turned"]
    for more in ([], ["--share-budget"], ["--person-namespace", "other"], cap):
        for unit, words in (
            (["--person", "visit"], "by visit"),
            ([], "record by record"),
        ):
            if not unit and "--person-namespace" in more:
                continue
            code, printed = run(capsys, "data", "add", "table", *turned, *unit, *more)
            assert (code, printed.err.count("\n")) == (2, 1)
            assert len(printed.err) <= 300
            assert (
                "some of these records are protected by patient in visits, "
                f"so they cannot be protected {words}"
            ) in printed.err
    fit = ["fit", "logistic", "--data", visits[0], *turned[1:5], *SPEND]
    code, printed = run(capsys, *fit, "--person", "visit")
    assert (code, "has no cap yet" in printed.err) == (2, True)
    fit = ["fit", "logistic", "--data", *visits, tmp_path / "schema.toml", *SPEND]
    for removed in (False, True):
        for unit in (["--person", "visit"], []):  # the same records, under their file's own name
            code, printed = run(capsys, *fit, *unit)
            assert (code, printed.err.count("\n")) == (2, 1)
            assert "is registered as protected by patient: give --person patient, or" in printed.err
        assert (Store().ledger(), Store().runs()) == (before, [])
        if not removed:
            run_json(capsys, "data", "remove", "visits")
    run_json(capsys, "data", "add", "table", *by_patient)
    added = run_json(capsys, "data", "add", "table", *turned, "--person", "patient", "--share-budget")
    assert (added["records"], added["cap"]) == (20, {"epsilon": 1, "delta": 1e-4})


def test_a_person_counts_once_however_the_identifier_is_written(capsys, tmp_path):
    """Issue 32: 7, 7.0 and 007 were one person for the budget, and three for the noise."""
    rows = [f"{spelling},{20 + n},{n % 2}" for n in range(30) for spelling in (n, f"{n}.0", f"{n:03}")]
    (tmp_path / "visits.csv").write_text("patient,age,ill\n" + "\n".join(rows))
    (tmp_path / "schema.toml").write_text("[ranges]\nage = [18, 100]\n")
    about = [tmp_path / "visits.csv", "--target", "ill", "--schema", tmp_path / "schema.toml"]
    about += ["--person", "patient", "--epsilon", 3, "--delta", 1e-4]
    assert run_json(capsys, "data", "add", "table", *about)["records"] == 30
    train = Store().load("visits").train
    assert (len(train), train.row_count) == (30, 90)


def study(tmp_path, name, offset):
    """Return the file of a study that numbers its 20 patients from 1, and its options."""
    rows = [f"{n % 20 + 1},{offset + n},{n % 2}" for n in range(40)]
    (tmp_path / f"{name}.csv").write_text("patient,age,ill\n" + "\n".join(rows))
    (tmp_path / "ages.toml").write_text("[ranges]\nage = [0, 200]\n")
    about = [tmp_path / f"{name}.csv", "--target", "ill", "--schema", tmp_path / "ages.toml"]
    return [*about, "--person", "patient", "--epsilon", 3, "--delta", 1e-4]


def test_studies_that_number_people_alike_are_distinguished(capsys, tmp_path):
    """Issue 32: they were merged, the steward was told afterwards, and could not undo it."""
    north, south = study(tmp_path, "north", 20), study(tmp_path, "south", 100)
    run_json(capsys, "data", "add", "table", *north)
    code, printed = run(capsys, "data", "add", "table", *south)
    assert (code, printed.err.count("\n")) == (2, 1)
    assert printed.err == (
        "vips-explorer data: some rows or persons of these records also occur in north (20), so these data "
        "sets would share one budget; add --share-budget to agree, or --separate REASON if they are "
        "different people, or --person-namespace STUDY if only identifiers coincide\n"
    )
    assert [row.name for row in Store().data_sets() if row.created] == ["north"]
    row = run_json(capsys, "data", "add", "table", *south, "--person-namespace", "South trial")
    assert row["person_namespace"] == "South trial"
    assert row["unit"].endswith("the same value of patient, as numbered in South trial)")
    assert row["overlaps"] == []
    run_json(capsys, "data", "add", "table", *south, "--person-namespace", "South trial")  # again
    run_json(capsys, "fit", "logistic", "--data", *south[:-4], "--epsilon", 1, "--delta", 1e-4)
    assert Store().data_row("south").person_namespace == "South trial"
    code, printed = run(capsys, "data", "add", "table", *south[:-6], "--person-namespace", "x", "--public")
    assert (code, "--person-namespace needs --person" in printed.err) == (2, True)


def test_an_accidental_merge_is_undone_with_a_name_and_a_reason(capsys, tmp_path):
    north, south = study(tmp_path, "north", 20), study(tmp_path, "south", 100)
    run_json(capsys, "data", "add", "table", *north)
    run_json(capsys, "data", "add", "table", *south, "--share-budget")
    apart = ["data", "separate", "south", "--from", "north"]
    code, printed = run(capsys, *apart)
    assert (code, printed.err.count("\n")) == (2, 1)
    assert "separating data sets needs a name and a reason" in printed.err
    said = ["--by", "Ada", "--reason", "both studies number from 1"]
    code, printed = run(capsys, *apart, *said)
    assert (code, printed.err) == (0, "")
    assert "south no longer shares a budget with north." in printed.out
    assert "all runs on it together may spend ε = 3" in printed.out
    run_json(capsys, "fit", "logistic", "--data", "north", "--epsilon", 1, "--delta", 1e-4)
    assert run_json(capsys, "data", "budget", "south")["left_share"] == 1
    assert "separated from north: both studies number from 1, by Ada" in run(capsys, "ledger", "show")[1].out
    assert run(capsys, "ledger", "verify")[0] == 0
    run_json(capsys, "data", "add", "table", *south, "--share-budget")
    run_json(capsys, "fit", "logistic", "--data", "south", "--epsilon", 1, "--delta", 1e-4)
    code, printed = run(capsys, *apart, *said)
    assert (code, "was counted against the budget that south shares with north" in printed.err) == (2, True)


def test_the_same_people_keep_their_budget_in_any_file(capsys, tmp_path, registered):
    """Issue 16: one row fewer, another range or other columns got a fresh budget; so did `--public`."""
    run_json(capsys, "fit", "logistic", "--data", "people", *SPEND)
    spent = run_json(capsys, "data", "budget", "people")["spent_share"]
    header, *rows = (tmp_path / "people.csv").read_text().splitlines()
    (tmp_path / "fewer.csv").write_text("\n".join([header, *rows[1:]]))
    (tmp_path / "wide.toml").write_text("[ranges]\nage = [0, 120]\ndose = [0, 10]\n")
    (tmp_path / "narrow.toml").write_text("[ranges]\ndose = [0, 10]\n")
    for name, file, schema in (
        ("fewer", "fewer.csv", "schema.toml"),
        ("wide", "people.csv", "wide.toml"),
        ("narrow", "people.csv", "narrow.toml"),
    ):
        about = [tmp_path / file, "--target", "ill", "--schema", tmp_path / schema, "--name", name]
        code, printed = run(capsys, "data", "add", "table", *about, "--public")
        assert (code, printed.err.count("\n")) == (2, 1)
        assert "so they cannot be public" in printed.err
        code, printed = run(capsys, "data", "add", "table", *about)
        assert (code, printed.err.count("\n")) == (2, 1)
        assert "also occur in people (59" in printed.err or "also occur in people (60" in printed.err
        assert printed.err.endswith(
            "so these data sets would share one budget; add --share-budget to agree, or --separate REASON "
            "if they are different people\n"
        )
        assert name not in [row.name for row in Store().data_sets()]
        added = run_json(capsys, "data", "add", "table", *about, "--share-budget")
        assert any("rows or persons of" in sentence for sentence in added["overlaps"])
        assert run_json(capsys, "data", "budget", name)["spent_share"] == spent > 0
    apart = ["--separate", "other people", "--epsilon", 1, "--delta", 1e-4, "--name", "apart"]
    (tmp_path / "last.csv").write_text("\n".join([header, *rows[-2:], "99,9,1"]))
    about = [tmp_path / "last.csv", "--target", "ill", "--schema", tmp_path / "schema.toml"]
    run_json(capsys, "data", "add", "table", *about, *apart)
    assert run_json(capsys, "data", "budget", "apart")["spent_share"] == 0
    assert "kept apart" not in run(capsys, "ledger", "show", "--data", "people")[1].out
    assert "separated from" in run(capsys, "ledger", "show", "--data", "apart")[1].out


def test_private_rows_cannot_be_held_out(capsys, tmp_path, survey):
    """Issue 16: `--test` could be the private training file, or a part of it, and its AUC was printed."""
    cap = ["--epsilon", 3, "--delta", 1e-4]
    header, *rows = (tmp_path / "people.csv").read_text().splitlines()
    (tmp_path / "some.csv").write_text("\n".join([header, *rows[5:9]]))
    for test in ("people.csv", "some.csv"):
        code, printed = run(capsys, "data", "add", "table", *survey, *cap, "--test", tmp_path / test)
        assert (code, printed.err.count("\n")) == (2, 1)
        assert "of these held-out records are private in the private file itself" in printed.err
    run_json(capsys, "data", "add", "table", *survey, *cap)
    (tmp_path / "new.csv").write_text("\n".join([header, "30,9.5,1", "31,9.5,0"]))
    about = ["--target", "ill", "--schema", tmp_path / "schema.toml", "--public"]
    code, printed = run(
        capsys,
        "fit",
        "logistic",
        "--data",
        tmp_path / "new.csv",
        *about,
        *SPEND,
        "--test",
        tmp_path / "some.csv",
    )
    assert (code, "held-out records are private in people" in printed.err) == (2, True)


def test_rows_that_were_public_cannot_be_private_later(capsys, tmp_path, survey):
    run_json(capsys, "data", "add", "table", *survey, "--public")
    header, *rows = (tmp_path / "people.csv").read_text().splitlines()
    (tmp_path / "clinic.csv").write_text("\n".join([header, *rows[:3], "99,9,1", "98,9,0"]))
    about = ["--target", "ill", "--schema", tmp_path / "schema.toml", "--epsilon", 1, "--delta", 1e-4]
    code, printed = run(capsys, "data", "add", "table", tmp_path / "clinic.csv", *about)
    assert (code, printed.err.count("\n")) == (2, 1)
    assert "3 rows or persons of these records are public or held out in people" in printed.err


def test_a_bad_key_is_reported_and_nothing_is_registered(capsys, survey, monkeypatch):
    monkeypatch.setenv("VIPS_LEDGER_KEY", "no such file")
    code, printed = run(capsys, "data", "add", "table", *survey, "--epsilon", 1, "--delta", 1e-5)
    assert (code, printed.err.count("\n")) == (2, 1)
    assert "VIPS_LEDGER_KEY must be hexadecimal digits or a readable file" in printed.err
    monkeypatch.delenv("VIPS_LEDGER_KEY")
    assert Store().ledger() == []


@pytest.mark.usefixtures("registered")
def test_public_data_sets_without_source_rows_are_reported(capsys, monkeypatch):
    monkeypatch.setattr("vips_core.store.people.public_without_digests", lambda connection: ["people"])
    for command in (["data", "list"], ["ledger", "verify"]):
        assert (
            "The public data set people was registered without its source rows"
            in run(capsys, *command)[1].out
        )


def test_private_records_made_public_in_the_table_are_found(capsys, home, registered):
    """Issue 16: a fit without noise ran after such an edit, and the ledger was reported as intact."""
    with sqlite3.connect(home / "store.db") as connection:
        connection.execute("UPDATE data SET private = 0")
    connection.close()
    code, printed = run(capsys, "fit", "logistic", "--data", "people", "--noise", 0, "--delta", 1e-5)
    assert (code, printed.err.count("\n")) == (2, 1)
    assert "the ledger disagree about “private” of the data set people" in printed.err
    assert Store().runs() == []
    assert run(capsys, "ledger", "verify")[0] == 2


def test_a_private_file_is_registered_with_a_cap_and_keeps_it(capsys, tmp_path, registered):
    survey = registered
    code, printed = run(capsys, "fit", "logistic", "--data", *survey, *SPEND)
    assert code == 0, printed.err
    assert "people is private: all runs on it together may spend ε = 10 at δ = 1e-5" in printed.err
    assert "vips-explorer data budget people --epsilon E --delta D" in printed.err
    budget = run_json(capsys, "data", "budget", "people")
    assert budget["planned_epsilon"] == pytest.approx(1, rel=1e-6)
    assert budget["cap"] == {"epsilon": 10, "delta": 1e-5}
    code, printed = run(capsys, "data", "budget", "people", "--epsilon", 1.2, "--delta", 1e-5)
    assert (code, printed.err.count("\n")) == (2, 1)
    assert "a cap that is changed after a run needs a name and a reason, got neither" in printed.err
    said = ["--by", "Ada", "--reason", "less is enough"]
    changed = run_json(capsys, "data", "budget", "people", "--epsilon", 1.2, "--delta", 1e-5, *said)
    assert [(cap["epsilon"], cap["by"], cap["reason"]) for cap in changed["caps"]] == [
        (10, "Ada", ""),
        (1.2, "Ada", "less is enough"),
    ]
    assert "ε = 1.2 at δ = 1e-5, by Ada: less is enough" in run(capsys, "data", "budget", "people")[1].out
    assert 0 < changed["left_epsilon"] < 1
    out = tmp_path / "out"
    code, printed = run(capsys, "fit", "logistic", "--data", *survey, *SPEND, "--out", out)
    assert code == 2
    assert "does not fit in the budget of people" in printed.err
    assert "cap of ε = 1.2" in printed.err
    assert not out.exists()
    assert len(Store().runs()) == 1
    names = [row["name"] for row in run_json(capsys, "data", "list")]
    assert names[-1] == "people"
    assert "left of ε = 1.2 (δ = 1e-5)" in run(capsys, "data", "list")[1].out


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (["--seed", "1", *SPEND], "people is private: a run with a seed is refused"),
        (["--noise", "0", "--delta", "1e-5"], "people is private: a run without noise is refused"),
        (["--method", "perm", *SPEND], "people is private: method perm is refused"),
    ],
)
def test_what_voids_the_guarantee_is_refused_on_a_private_file(capsys, registered, extra, sentence):
    code, printed = run(capsys, "fit", "logistic", "--data", *registered, *extra)
    assert code == 2
    assert sentence in printed.err
    assert Store().runs() == []


@pytest.mark.parametrize(
    ("model", "kind", "ending"),
    [
        ("lda", "documents", ".txt with one document"),
        ("logistic", "table", ".csv"),
        ("sbn", "images", ".png"),
    ],
)
@pytest.mark.parametrize("command", [["fit"], ["data", "add"], ["data", "shard"]])
def test_help_names_the_formats(capsys, command, model, kind, ending):
    with pytest.raises(SystemExit):
        run(capsys, *command, model if command == ["fit"] else kind, "--help")
    assert ending in " ".join(capsys.readouterr().out.split())


def test_a_name_with_a_space_is_quoted_in_suggested_commands(capsys, survey):
    _, printed = run(
        capsys, "data", "add", "table", *survey, "--name", "two words", "--epsilon", 3, "--delta", 1e-4
    )
    assert "vips-explorer data budget 'two words' --epsilon E --delta D" in printed.out


def test_a_run_is_charged_to_the_records_it_trains_on_though_their_name_passes_on(
    capsys, monkeypatch, registered, tmp_path
):
    """Between registration and reservation another process gives the file's name to other records."""
    (tmp_path / "clinic.csv").write_bytes(registered[0].read_bytes())
    (tmp_path / "other.csv").write_text("age,dose,ill\n" + "30,1,0\n31,2,1\n" * 30)
    table, look = registered[1:], Store.data_row

    def look_too_late(store, name):
        if name == "clinic":
            monkeypatch.setattr(Store, "data_row", look)
            assert run(capsys, "data", "remove", name)[0] == 0
            other = [tmp_path / "other.csv", "--name", name, *table]
            run_json(capsys, "data", "add", "table", *other, "--epsilon", 50, "--delta", 1e-5, "--by", "Eve")
        return look(store, name)

    monkeypatch.setattr(Store, "data_row", look_too_late)
    spend = ["--epsilon", 40, "--delta", 1e-5]
    code, printed = run(capsys, "fit", "logistic", "--data", tmp_path / "clinic.csv", *table, *spend)
    assert code == 2
    assert "the reservation of this run is for other records" in printed.err
    assert Store().budget("people").spent_share == 0
    assert not any((Store().folder(row.id) / "params.npz").exists() for row in Store().runs())
