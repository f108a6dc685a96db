"""Uploads: good and bad files of all three kinds, and what the form asks for."""

import io
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from dashboard import library, received
from tests.test_workbench import address, checked, errors
from vips_core import BinaryRows, Corpus, LabelledRows

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
    rows = received.read(LabelledRows, TABLE, ROWS)
    assert rows.feature_names == ("intercept", "age", "pulse", "pulse missing")
    np.testing.assert_allclose(rows.x[0], [1, 30 / 70, 0.2, 0])
    np.testing.assert_allclose(rows.x[1], [1, 50 / 70, 0, 1])
    assert rows.y.tolist() == [0, 1, 0]


def test_texts_and_vocabulary():
    texts = received.read(
        Corpus, [sent(b"Peace and war\nWar, war\n", "d.txt")], {"vocabulary": b"war\npeace"}
    )
    assert texts.vocabulary == ("war", "peace")
    assert texts.words.tolist() == [2, 2]
    table = sent(b"id,text\n1,the house\n2,a house of cards\n")
    assert received.read(Corpus, [table], {"column": "text"}).words.tolist() == [1, 2]  # without stop words


def test_images():
    images = received.read(
        BinaryRows, [sent(png(), "a.png"), sent(png(value=10), "b.PNG")], {"threshold": 127}
    )
    assert images.unpack().mean(axis=1).tolist() == [1.0, 0.0]
    images = received.read(BinaryRows, [sent(npz(images=np.full((2, 3, 4), 9.0)), "i.npz")], {"threshold": 5})
    assert (len(images), images.shape) == (2, (3, 4))


@pytest.mark.parametrize(
    ("kind", "files", "about", "sentence"),
    [
        (LabelledRows, TABLE, ROWS | {"target": None}, "choose the target"),
        (LabelledRows, TABLE, ROWS | {"ranges": ranges()}, "give at least one column a public range"),
        (LabelledRows, TABLE, ROWS | {"ranges": ranges(("age", 20, None, False))}, "'age' needs both ends"),
        (LabelledRows, TABLE, ROWS | {"ranges": ranges(("age", 9, 2, False))}, "finite with low < high"),
        (LabelledRows, TABLE, ROWS | {"target": "age", "ranges": ranges(("pulse", 0, 1, True))}, "labels"),
        (LabelledRows, TABLE, {"target": "stroke", "ranges": ranges(("pulse", 0, 1, False))}, "missing"),
        (LabelledRows, [sent(b"a,b\n1,2\n1,2,3,4\n")], {"target": "a", "ranges": ranges(("b", 0, 1, False))},
         "not a readable CSV"),
        (LabelledRows, [sent(b"\xff\xfe\x00")], ROWS, "UTF-8"),
        (Corpus, [sent(b"\xff\xfe\x00", "a.txt")], {}, "UTF-8"),
        (Corpus, [sent(b"one\ntwo", "a.txt")], {"vocabulary": b"Not Lower"}, "lower-case letters"),
        (Corpus, [sent(b"no zip", "a.npz")], {}, "not a readable .npz"),
        (Corpus, [sent(npz(x=np.ones(2)), "a.npz")], {}, "must hold indptr"),
        (Corpus, [sent(b"x", "a.pdf")], {}, "a file must end in .txt, .csv, .npz, .png, got 'a.pdf'"),
        (BinaryRows, [sent(b"no image", "a.png")], {"threshold": 1}, "not a readable PNG"),
        (BinaryRows, [sent(png(), "a.png"), sent(png((9, 9)), "b.png")], {"threshold": 1}, "one size"),
        (BinaryRows, [sent(png(), "a.png"), sent(npz(images=np.ones((1, 2, 2))), "b.npz")], {"threshold": 1},
         "must all be PNG"),
    ],
)  # fmt: skip
def test_bad_files_get_one_sentence(kind, files, about, sentence):
    with pytest.raises(ValueError, match=sentence) as problem:
        received.read(kind, files, about)
    assert "\n" not in str(problem.value)
    assert "/tmp" not in str(problem.value)


def test_pickles_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "opened"), "w"))

    content = npz(images=np.array([Trap()], dtype=object))
    with pytest.raises(ValueError, match="readable .npz of plain arrays"):
        received.read(BinaryRows, [sent(content, "x.npz")], {"threshold": 1})
    assert not (tmp_path / "opened").exists()


def test_size_is_bounded(monkeypatch):
    large = SimpleNamespace(name="a.csv", size=201 * 2**20, getvalue=lambda: pytest.fail("it was read"))
    with pytest.raises(ValueError, match="at most 200 MB together, got 201 MB"):
        received.read(LabelledRows, [large], ROWS)
    monkeypatch.setattr(received, "MOST_UNPACKED", 1000)
    with pytest.raises(ValueError, match="unpack to at most"):
        received.read(BinaryRows, [sent(npz(images=np.zeros((9, 99, 99))), "x.npz")], {"threshold": 1})


def test_names_of_files_are_no_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = received.read(LabelledRows, [sent(CSV, "../../outside.csv")], ROWS)
    assert len(rows) == 3
    assert list(tmp_path.iterdir()) == []
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("../images.npy", b"x")
    with pytest.raises(ValueError, match="plain arrays|must hold an array"):
        received.read(BinaryRows, [sent(archive.getvalue(), "/etc/x.npz")], {"threshold": 1})


def topics_page():
    from dashboard.views import topics

    topics.show()


def form():
    at = AppTest.from_function(topics_page, default_timeout=60)
    at.query_params["upload"] = "1"
    return checked(at.run())


def add(at):
    return checked(at.button(key="add").click().run())


def test_the_form_asks_for_what_is_missing_then_registers_private_data():
    at = add(form())
    assert errors(at) == ["Choose a file first"]
    at.file_uploader(key="file:records:lda").set_value(("d.txt", b"peace and war\nwar\n" * 5, "text/plain"))
    assert errors(add(at)) == ["Say whether each document is of another person"]
    at.radio(key="unit").set_value("one document")
    assert errors(add(at)) == ["Give the data set a name"]
    assert "one document is protected, not one person" in at.warning[0].value
    at.text_input(key="data-name").set_value("../x")
    assert "name of a data set must be" in errors(add(at))[0]
    at.text_input(key="data-name").set_value("letters")
    at.number_input(key="cap-delta").set_value(0.1)
    assert "δ must be below 1/N = 0.1 for 10 records" in errors(add(at))[0]
    at.number_input(key="cap-delta").set_value(1e-3)
    add(at)
    row = library.store().data_row("letters")
    assert (row.private, row.records, row.unit, row.has_test) == (True, 10, "one document", False)
    assert (row.cap.epsilon, row.cap.delta) == (3.0, 1e-3)
    assert address(at)["data"] == "letters"
    assert "upload" not in address(at)


def test_public_data_and_held_out_records():
    at = form()
    at.file_uploader(key="file:records:lda").set_value(("d.txt", b"peace and war\nwar\n" * 5, "text/plain"))
    at.file_uploader(key="file:held-out:lda").set_value(("t.txt", b"peace\n", "text/plain"))
    at.radio(key="unit").set_value("one person")
    at.segmented_control(key="protection").set_value("Public")
    at.text_input(key="data-name").set_value("letters")
    checked(at.run())
    add(at)
    row = library.store().data_row("letters")
    assert (row.private, row.cap, row.has_test) == (False, None, True)


def test_back_closes_the_form():
    at = form()
    checked(at.button(key="back").click().run())
    assert "upload" not in address(at)
    assert "Nothing trained here yet" in [header.value for header in at.subheader]
