"""Uploads: good and bad files of all three kinds, and what the form asks for."""

import dataclasses
import io
import os
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from dashboard import stored
from dashboard.model_page import upload_files
from tests.dashboard.topics_page import errors
from tests.pages import address, checked, view
from vips_core.records import KINDS
from vips_core.store import pools

DOCUMENTS, TABLE_KIND, IMAGES = (KINDS[name] for name in ("documents", "table", "images"))
CSV = b"age,pulse,stroke\n50,60,0\n70,,1\n35,88,0\n"


def sent(content, name="records.csv"):
    return SimpleNamespace(name=name, size=len(content), getvalue=lambda: content)


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def png(size=(4, 3), value=200):
    buffer = io.BytesIO()
    Image.new("L", size, value).save(buffer, "PNG")
    return buffer.getvalue()


def ranges(*rows):
    return pd.DataFrame(rows, columns=["Column", "Lowest", "Highest", "May be missing"])


TABLE = [sent(CSV)]
ROWS = {"target": "stroke", "ranges": ranges(("age", 20, 90, False), ("pulse", 40.0, 140.0, True))}


def test_rows_with_public_ranges():
    rows, *_ = upload_files.read(TABLE_KIND, TABLE, ROWS)
    assert rows.feature_names == ("intercept", "age", "pulse", "pulse missing")
    np.testing.assert_allclose(rows.x[0], [1, 30 / 70, 0.2, 0])
    np.testing.assert_allclose(rows.x[1], [1, 50 / 70, 0, 1])
    assert rows.y.tolist() == [0, 1, 0]


def test_texts_and_vocabulary():
    texts, *_ = upload_files.read(
        DOCUMENTS, [sent(b"Peace and war\nWar, war\n", "d.txt")], {"vocabulary": b"war\npeace"}
    )
    assert texts.vocabulary == ("war", "peace")
    assert texts.words.tolist() == [2, 2]
    table = sent(b"id,text\n1,the house\n2,a house of cards\n")
    texts, *_ = upload_files.read(DOCUMENTS, [table], {"column": "text"})
    assert texts.words.tolist() == [1, 2]  # without stop words


def test_images():
    images, *_ = upload_files.read(
        IMAGES, [sent(png(), "a.png"), sent(png(value=10), "b.PNG")], {"threshold": 127}
    )
    assert images.unpack().mean(axis=1).tolist() == [1.0, 0.0]
    arrays = sent(npz(images=np.full((2, 3, 4), 9.0)), "i.npz")
    images, *_ = upload_files.read(IMAGES, [arrays], {"threshold": 5})
    assert (len(images), images.shape) == (2, (3, 4))


@pytest.mark.parametrize(
    ("kind", "files", "about", "sentence"),
    [
        (TABLE_KIND, TABLE, ROWS | {"ranges": ranges()}, "give at least one column a public range"),
        (TABLE_KIND, TABLE, ROWS | {"ranges": ranges(("age", 20, None, False))}, "'age' needs both ends"),
        (TABLE_KIND, TABLE, ROWS | {"ranges": ranges(("age", 9, 2, False))}, "finite low < high"),
        (TABLE_KIND, TABLE, ROWS | {"target": "age", "ranges": ranges(("pulse", 0, 1, True))}, "labels"),
        (TABLE_KIND, TABLE, {"target": "stroke", "ranges": ranges(("pulse", 0, 1, False))}, "missing"),
        (
            TABLE_KIND,
            [sent(b"a,b\n1,2\n1,2,3,4\n")],
            {"target": "a", "ranges": ranges(("b", 0, 1, False))},
            "not a readable CSV",
        ),
        (TABLE_KIND, [sent(b"\xff\xfe\x00")], ROWS, "UTF-8"),
        (DOCUMENTS, [sent(b"\xff\xfe\x00", "a.txt")], {}, "UTF-8"),
        (DOCUMENTS, [sent(b"one\ntwo", "a.txt")], {"vocabulary": b"Not Lower"}, "lower-case letters"),
        (DOCUMENTS, [sent(b"no zip", "a.npz")], {}, "not a readable .npz"),
        (DOCUMENTS, [sent(npz(x=np.ones(2)), "a.npz")], {}, "must hold indptr"),
        (DOCUMENTS, [sent(b"x", "a.pdf")], {}, "a file must end in .txt, .csv, .npz, .png, got 'a.pdf'"),
        (IMAGES, [sent(b"no image", "a.png")], {"threshold": 1}, "not a readable PNG"),
        (IMAGES, [sent(png(), "a.png"), sent(png((9, 9)), "b.png")], {"threshold": 1}, "one size"),
        (
            IMAGES,
            [sent(png(), "a.png"), sent(npz(images=np.ones((1, 2, 2))), "b.npz")],
            {"threshold": 1},
            "must all be PNG",
        ),
    ],
)
def test_bad_files_get_one_sentence(kind, files, about, sentence):
    with pytest.raises(ValueError, match=sentence) as problem:
        upload_files.read(kind, files, about)
    assert "\n" not in str(problem.value)
    assert "/tmp" not in str(problem.value)


def test_pickles_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "opened"), "w"))

    content = npz(images=np.array([Trap()], dtype=object))
    with pytest.raises(ValueError, match="readable .npz of plain arrays"):
        upload_files.read(IMAGES, [sent(content, "x.npz")], {"threshold": 1})
    assert not (tmp_path / "opened").exists()


def test_size_is_bounded():
    large = SimpleNamespace(name="a.csv", size=201 * 2**20, getvalue=lambda: pytest.fail("it was read"))
    with pytest.raises(ValueError, match="at most 200 MB together, got 201 MB"):
        upload_files.read(TABLE_KIND, [large], ROWS)
    bomb = npz(images=np.zeros((260, 1024, 1024)))
    assert len(bomb) < 3e6
    with pytest.raises(ValueError, match="arrays must have at most 2,048 MB together, got 2,081 MB"):
        upload_files.read(IMAGES, [sent(bomb, "x.npz")], {"threshold": 1})
    with pytest.raises(ValueError, match="must have at most 10,000 columns, got 10,001"):
        upload_files.columns(sent(b"," * 10_000 + b"\n"))
    with pytest.raises(ValueError, match=r"an \.npz must have at most 100 arrays, got 101"):
        upload_files.columns(sent(npz(**{f"patient {n}": np.zeros(1) for n in range(101)}), "x.npz"))


def test_uploads_are_written_for_the_owner_into_the_store_and_removed(home):
    """Before, they stayed in the system's temporary folder when the server was killed."""
    seen = []

    def look(*arguments, **options):
        for path in (home / "tmp").rglob("*"):
            seen.append((path.is_dir(), path.stat().st_mode & 0o777, path.suffix))
        return []

    def chunks(*arguments, **options):
        yield look(), None, 0

    table = dataclasses.replace(TABLE_KIND, chunks=chunks, source_rows=look)
    before = os.umask(0)
    try:
        upload_files.read(table, TABLE, ROWS)
    finally:
        os.umask(before)
    assert {suffix for _, _, suffix in seen} >= {".csv", ".lock"}
    assert {mode for is_folder, mode, _ in seen if is_folder} == {0o700}
    assert {mode for is_folder, mode, _ in seen if not is_folder} == {0o600}
    assert list((home / "tmp").iterdir()) == []


def test_names_of_files_are_no_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, *_ = upload_files.read(TABLE_KIND, [sent(CSV, "../../outside.csv")], ROWS)
    assert len(rows) == 3
    assert list(tmp_path.iterdir()) == []
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("../images.npy", b"x")
    with pytest.raises(ValueError, match="plain arrays|must hold an array"):
        upload_files.read(IMAGES, [sent(archive.getvalue(), "/etc/x.npz")], {"threshold": 1})


def form():
    return view("topics", upload=1)


def attach(at, file, kind="records", model="lda"):
    at.file_uploader(key=f"file:{kind}:{model}").set_value(file)
    return checked(at.run())


def missing(at):
    return [text.value for text in at.caption if text.value.startswith("Still missing")]


def add(at):
    return checked(at.button(key="add").click().run())


def test_the_form_asks_for_what_is_missing_then_registers_private_data():
    at = form()
    assert missing(at) == ["Still missing: a file."]
    at = attach(at, ("d.txt", b"peace and war\nwar\n" * 5, "text/plain"))
    assert missing(at) == []
    assert errors(add(at)) == ["Give the data set a name"]
    assert "protects one document of the file, not one person" in at.warning[0].value
    at.text_input(key="data-name").set_value("../x")
    assert "name of a data set must be" in errors(add(at))[0]
    at.text_input(key="data-name").set_value("letters")
    at.number_input(key="cap-delta").set_value(0.1)
    assert "delta must be at most 1/(10·N) = 0.01 for 10 records, got 0.1" in errors(add(at))[0]
    at.number_input(key="cap-delta").set_value(1e-3)
    at.text_input(key="by").set_value("Ada")
    at.text_input(key="reason").set_value("a study of 1901")
    add(at)
    row = stored.store().data_row("letters")
    assert (row.private, row.records, row.unit, row.has_test) == (
        True,
        10,
        "one document of the file",
        False,
    )
    assert (row.cap.epsilon, row.cap.delta) == (3.0, 1e-3)
    rows = [entry.content for entry in stored.store().ledger("letters") if entry.kind in ("data", "cap")]
    said = [(content["by"], content["reason"]) for content in rows]
    assert said == [("Ada", "a study of 1901")] * 2
    assert address(at)["data"] == "letters"
    assert "upload" not in address(at)


def test_public_data_and_held_out_records():
    at = attach(form(), ("d.txt", b"peace and war\nwar\n" * 5, "text/plain"))
    at.file_uploader(key="file:held-out:lda").set_value(("t.txt", b"peace\n", "text/plain"))
    at.segmented_control(key="protection").set_value("Public")
    at.text_input(key="data-name").set_value("letters")
    checked(at.run())
    add(at)
    row = stored.store().data_row("letters")
    assert (row.private, row.cap, row.has_test) == (False, None, True)


def test_the_same_people_are_found_in_another_upload():
    letters = [f"letter {number} of peace and war" for number in range(12)]

    def uploaded(name, lines, held_out=()):
        at = form()
        for key, some in (("records", lines), ("held-out", held_out)):
            if some:
                at = attach(at, ("d.txt", "\n".join(some).encode(), "text/plain"), key)
        at.number_input(key="cap-delta").set_value(1e-3)
        at.text_input(key="data-name").set_value(name)
        return at

    assert "held-out records are private" in errors(add(uploaded("first", letters, letters[2:4])))[0]
    add(uploaded("first", letters))
    at = uploaded("second", letters[:5])
    at.segmented_control(key="protection").set_value("Public")
    checked(at.run())
    assert "5 rows or persons of these records are private in first" in errors(add(at))[0]
    at = add(uploaded("second", letters[:5]))
    assert not errors(at)
    assert "Some rows or persons of these records also occur in first \\(5\\), so" in at.warning[-1].value
    assert [row.name for row in stored.store().data_sets() if row.created] == ["first"]
    assert at.radio(key="same-people").options == ["Yes: share one budget", "No: different people"]
    at = add(at)  # without an answer
    assert at.radio(key="same-people").value is None
    checked(at.radio(key="same-people").set_value("Yes: share one budget").run())
    add(at)
    (sentence,) = stored.store().overlap_sentences("second")
    assert sentence.startswith("5 rows or persons of second also occur in first")


def test_an_answer_about_known_people_holds_for_the_files_it_was_given_for():
    """Issue 32: an answer about one file must not merge another."""
    letters = [f"letter {number} of peace and war" for number in range(12)]
    for name, lines in (("first", letters[:4]), ("second", letters[4:8])):
        at = attach(form(), ("d.txt", "\n".join(lines).encode(), "text/plain"))
        at.text_input(key="data-name").set_value(name)
        at.number_input(key="cap-delta").set_value(1e-3)
        add(at)
    at = attach(form(), ("d.txt", "\n".join(letters[3:4]).encode(), "text/plain"))
    at.text_input(key="data-name").set_value("third")
    at.number_input(key="cap-delta").set_value(1e-3)
    add(at)
    checked(at.radio(key="same-people").set_value("Yes: share one budget").run())
    at = attach(at, ("d.txt", "\n".join(letters[4:5]).encode(), "text/plain"))
    assert "same-people" not in [radio.key for radio in at.radio]
    add(at)
    assert "in second \\(1\\)" in at.warning[-1].value
    assert at.radio(key="same-people").value is None
    assert [row.name for row in stored.store().data_sets() if row.created] == ["first", "second"]
    checked(at.radio(key="same-people").set_value("No: different people").run())
    assert errors(add(at)) == ["Give the reason why they are different people"]
    at.text_input(key="separate").set_value("greetings that everyone writes")
    add(at)
    assert "greetings that everyone writes" in pools.separations(stored.store().ledger("third"))[0]
    assert stored.store().linked("third") == []


def test_another_study_with_the_same_identifiers():
    for name, words in (("north", b"peace"), ("south", b"war")):
        lines = [b"author,text", *(b"%d,%s" % (number % 5, words) for number in range(9))]
        at = attach(form(), ("d.csv", b"\n".join(lines), "text/csv"))
        checked(at.selectbox(key="person").set_value("author").run())
        at.text_input(key="data-name").set_value(name)
        at.number_input(key="cap-delta").set_value(1e-3)
        add(at)
    assert "also occur in north \\(5\\)" in at.warning[-1].value
    options = ["Yes: share one budget", "No: different people", "No: another study with the same identifiers"]
    assert at.radio(key="same-people").options == options
    checked(at.radio(key="same-people").set_value(options[2]).run())
    assert errors(add(at)) == ["Name the study that numbers these people"]
    at.text_input(key="study").set_value("South trial")
    add(at)
    row = stored.store().data_row("south")
    assert row.person_namespace == "South trial"
    assert row.unit == "one person (all documents with the same value of author, as numbered in South trial)"
    assert stored.store().linked("south") == []


def test_what_was_public_cannot_be_private_in_another_upload():
    letters = [f"letter {number} of peace and war" for number in range(6)]
    for name, lines, protection in (("first", letters, "Public"), ("second", letters[4:], "Private")):
        at = attach(form(), ("d.txt", "\n".join(lines).encode(), "text/plain"))
        at.segmented_control(key="protection").set_value(protection)
        checked(at.run())
        if protection == "Private":
            at.number_input(key="cap-delta").set_value(1e-3)
        at.text_input(key="data-name").set_value(name)
        add(at)
    assert "2 rows or persons of these records are public or held out in first" in errors(at)[0]
    assert at.radio(key="same-people").options == ["No: different people"]
    checked(at.radio(key="same-people").set_value("No: different people").run())
    at.text_input(key="separate").set_value("printed in the newspaper")
    add(at)
    assert "kept apart from first" in pools.separations(stored.store().ledger("second"))[0]


def test_a_column_that_names_the_person():
    letters = b"author,text\n" + b"ann,peace\nbob,war\nann,war\n" * 5
    at = attach(form(), ("D.CSV", letters, "text/csv"))
    assert missing(at) == ["Still missing: whose documents they are."]
    at.selectbox(key="person").set_value("author")
    checked(at.run())
    assert at.selectbox(key="column").options == ["text"]
    at.text_input(key="data-name").set_value("authors")
    at.number_input(key="cap-delta").set_value(1e-3)
    add(at)
    row = stored.store().data_row("authors")
    assert (row.records, row.unit) == (2, "one person (all documents with the same value of author)")
    assert stored.store().load("authors").train.words.tolist() == [10, 5]


def test_the_target_comes_first_and_leaves_persons_and_predictors():
    at = attach(
        view("risk", upload=1),
        ("a.csv", b"who,age,stroke\n1,50,0\n2,70,1\n", "text/csv"),
        "records",
        "logistic",
    )
    assert missing(at) == ["Still missing: the target, whose rows they are."]
    assert [box.label for box in at.main.selectbox] == ["Target"]
    checked(at.selectbox(key="target").set_value("stroke").run())
    assert missing(at) == ["Still missing: whose rows they are."]
    assert at.selectbox(key="person").options[1:] == ["No: who names the person", "No: age names the person"]
    assert "add" not in [button.key for button in at.button]
    checked(at.selectbox(key="person").set_value("who").run())
    assert missing(at) == []
    assert at.dataframe[-1].value["Column"].tolist() == ["age"]
    at.text_input(key="data-name").set_value("clinic")
    assert errors(add(at)) == ["Give at least one column a public range"]


def test_a_table_with_semicolons_is_named_at_once():
    file = ("a.csv", b"age;stroke\n50,5;0\n", "text/csv")
    at = attach(view("risk", upload=1), file, "records", "logistic")
    sentence = "A table needs two columns or more with commas between them, got 'age;stroke'"
    assert errors(at) == [sentence]
    assert missing(at) == ["Still missing: a file that can be read."]


def test_persons_of_rows_and_images():
    rows, *_ = upload_files.read(
        TABLE_KIND, TABLE, ROWS | {"person": "age"} | {"ranges": ranges(("pulse", 40.0, 140.0, True))}
    )
    assert len(rows) == 3
    arrays = sent(npz(images=np.eye(3)[None].repeat(3, 0), owner=np.array([4, 5, 4])), "I.NPZ")
    assert upload_files.columns(arrays) == ["owner"]
    images, *_ = upload_files.read(IMAGES, [arrays], {"threshold": 0, "person": "owner"})
    assert (len(images), images.row_count) == (2, 3)
    assert upload_files.columns(sent(b"no zip", "a.npz")) == upload_files.columns(sent(b"x", "a.txt")) == []


def test_another_file_leaves_what_was_said_about_protection_and_name():
    at = attach(form(), ("words.npz", b"no zip", "application/octet-stream"))
    at.text_input(key="data-name").set_value("letters")
    at.number_input(key="cap-delta").set_value(1e-3)
    assert errors(add(at)) == ["The file is not a readable .npz of plain arrays: it is not a zip archive"]
    at = attach(at, None)  # as a browser reports it, when one file takes the place of another
    assert missing(at) == ["Still missing: a file."]
    add(attach(at, ("d.txt", b"peace and war\nwar\n" * 5, "text/plain")))
    assert stored.store().data_row("letters").cap.delta == 1e-3


def test_back_closes_the_form():
    at = form()
    checked(at.button(key="back").click().run())
    assert "upload" not in address(at)
    assert "Nothing trained here yet" in [header.value for header in at.header]
