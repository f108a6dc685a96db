"""Files from anywhere: records, or one sentence."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vips_core.models.task import TASKS
from vips_core.records import KINDS
from vips_core.records.files.sharding import shard
from vips_core.records.samples import SAMPLES

DOCUMENTS, TABLE, IMAGES = KINDS["documents"], KINDS["table"], KINDS["images"]
COUNTS = {
    "indptr": np.array([0, 1, 2]),
    "indices": np.array([0, 1]),
    "counts": np.array([3, 1]),
    "vocabulary": np.array(["tea", "milk"]),
}
SCHEMA = "[ranges]\nage = [0, 100]\n"


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def refusal(kind, path, **options):
    """Return the one sentence about a file, empty if it can be read."""
    try:
        records = kind.read_file(path, options)
    except ValueError as error:
        return str(error)
    return "" if isinstance(records, kind.records_type) else f"read as {type(records)}"


def test_counts_are_read(tmp_path):
    (tmp_path / "counts.npz").write_bytes(npz(**COUNTS))
    corpus = DOCUMENTS.read_file(tmp_path / "counts.npz", {})
    assert (corpus.vocabulary, corpus.words.tolist()) == (("tea", "milk"), [3, 1])


@pytest.mark.parametrize(
    ("vocabulary", "got"),
    [(np.array("tea"), r"<U3 of shape ()"), (np.array([1, 2]), "int64"), (np.array([["tea"]]), "(1, 1)")],
)
def test_a_vocabulary_must_be_a_list_of_words(tmp_path, vocabulary, got):
    (tmp_path / "counts.npz").write_bytes(npz(**COUNTS | {"vocabulary": vocabulary}))
    sentence = refusal(DOCUMENTS, tmp_path / "counts.npz")
    assert "the vocabulary in counts.npz must be a list of words" in sentence
    assert got in sentence


@pytest.mark.parametrize(("kind", "arrays"), [(DOCUMENTS, COUNTS), (IMAGES, {"images": np.eye(3)[None]})])
@given(flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 7)), max_size=8), cut=st.floats(0, 1))
@settings(max_examples=150, deadline=None)
def test_a_damaged_file_gives_records_or_one_sentence(tmp_path_factory, kind, arrays, flips, cut):
    content = bytearray(npz(**arrays))
    for place, bit in flips:
        content[place % len(content)] ^= 1 << bit
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(content[: round(cut * len(content))] if cut < 0.3 else content)
    sentence = refusal(kind, path)
    assert "\n" not in sentence
    assert not sentence.startswith("read as")


def test_damaged_images_are_numbered(tmp_path):
    Image.fromarray(np.eye(8, dtype=np.uint8) * 255).save(tmp_path / "good.png")
    good, sentences = (tmp_path / "good.png").read_bytes(), set()
    for place in range(len(good)):
        (tmp_path / "good.png").write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        sentences.add(refusal(IMAGES, tmp_path))
    assert "image 1 (sorted by name) is not a readable PNG image" in sentences
    assert {"good" in sentence for sentence in sentences} == {False}


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ("may_be_missing = true\n" + SCHEMA, "may_be_missing in the schema s.toml must be a list of columns"),
        ('may_be_missing = [["age"]]\n' + SCHEMA, "must be a list of columns, got [['age']]"),
        ("norm_bound = [1]\n" + SCHEMA, "norm_bound in the schema s.toml must be a number above 0, got [1]"),
        ("norm_bound = inf\n" + SCHEMA, "norm_bound in the schema s.toml must be a number above 0, got inf"),
        (
            "[ranges]\nage = [true, 2]\n",
            "the range of 'age' must be [low, high] with finite low < high, got [True, 2]",
        ),
        ("[ranges]\nage = 3\n", "the range of 'age' must be [low, high] with finite low < high, got 3"),
        ("ranges = 3\n", "the schema s.toml must have a table ranges"),
        ("a = " + "[" * 10_000, "the schema s.toml is not readable TOML"),
        ("[ranges", "the schema s.toml is not TOML"),
    ],
)
def test_a_mistake_in_a_schema_gets_one_sentence(tmp_path, schema, sentence):
    (tmp_path / "rows.csv").write_text("age,ill\n30,0\n40,1\n")
    (tmp_path / "s.toml").write_text(schema)
    path = str(tmp_path / "s.toml")
    assert sentence in refusal(TABLE, tmp_path / "rows.csv", target="ill", schema=path)


def test_every_task_has_samples_and_file_options():
    for task in TASKS.values():
        assert task.records.options
        assert any(sample.kind == task.kind for sample in SAMPLES.values())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b"age,ill\n1,2,3,4\n1,2,3,4,5\n",
            "rows.csv is not a readable CSV: Expected 2 fields in line 2, saw 4",
        ),
        (b"", "rows.csv is not a readable CSV: it has no columns"),
        (b"age,ill\n\xff,1\n", "rows.csv is not text in UTF-8: invalid start byte at byte"),
    ],
)
def test_a_file_that_is_no_table_gets_one_sentence(tmp_path, content, sentence):
    (tmp_path / "rows.csv").write_bytes(content)
    (tmp_path / "s.toml").write_text(SCHEMA)
    path = str(tmp_path / "s.toml")
    assert sentence in refusal(TABLE, tmp_path / "rows.csv", target="ill", schema=path)
    assert sentence in refusal(DOCUMENTS, tmp_path / "rows.csv")


def test_a_header_of_one_empty_name_quotes_no_row(tmp_path):
    (tmp_path / "rows.csv").write_text('""\n17,flu,secret\n')
    (tmp_path / "s.toml").write_text(SCHEMA)
    said = refusal(TABLE, tmp_path / "rows.csv", target="ill", schema=str(tmp_path / "s.toml"))
    assert "lacks the columns" in said
    assert "secret" not in said


def test_rows_in_memory_are_bounded(tmp_path, scratch, monkeypatch):
    """256 MB of empty lines took 8 GB."""
    monkeypatch.setattr("vips_core.records.files.text.MOST_ROWS", 3)
    (tmp_path / "s.toml").write_text(SCHEMA)
    about = {"target": "ill", "schema": str(tmp_path / "s.toml")}
    for rows, refused in ((3, False), (4, True)):
        (tmp_path / "rows.csv").write_text("age,ill\n" + "30,0\n" * rows)
        (tmp_path / "letters.txt").write_text("sun\n" * rows)
        for kind, name, options in ((TABLE, "rows.csv", about), (DOCUMENTS, "letters.txt", {})):
            sentence = refusal(kind, tmp_path / name, **options)
            assert sentence.startswith(f"{name} must have at most") == bool(sentence) == refused
    assert len(shard(DOCUMENTS, [tmp_path / "letters.txt"], tmp_path / "cut", {}, scratch=scratch)) == 4


def test_documents_that_are_not_text_get_one_sentence(tmp_path):
    (tmp_path / "letters.txt").write_bytes(b"rain\xff")
    assert refusal(DOCUMENTS, tmp_path / "letters.txt").startswith("letters.txt is not text in UTF-8")


ROWS = "patient,age,ill\n7,30,0\n8,40,1\n 7,50,1\n"


def table(folder, text=ROWS, name="rows.csv"):
    (folder / name).write_text(text)
    (folder / "s.toml").write_text(SCHEMA)
    return {"target": "ill", "schema": str(folder / "s.toml")}


def test_columns_that_may_be_missing_reach_the_model_by_position(tmp_path, scratch):
    file, schema = tmp_path / "rows.csv", tmp_path / "schema.toml"
    schema.write_text('may_be_missing = ["age"]\n[ranges]\ndose = [0, 10]\nage = [0, 100]\n')
    file.write_text("who,age,dose,ill\nann,,1,0\nbob,90,3,1\ncyd,40,5,1\n")
    about = {"target": "ill", "schema": str(schema)}
    for number, options in enumerate((about, {**about, "person": "who"})):
        cut = shard(TABLE, [file], tmp_path / str(number), options, scratch=scratch)
        for rows in (TABLE.read_file(file, options), cut):
            assert rows.missing_pairs == ((2, 3),)
            assert TASKS["logistic"].model("refined", {}, rows).for_records(rows).missing_pairs == ((2, 3),)


def test_a_person_column_groups_rows_and_is_no_predictor(tmp_path):
    options = table(tmp_path)
    rows = TABLE.read_file(tmp_path / "rows.csv", options | {"person": "patient"})
    assert (len(rows), rows.persons.tolist(), rows.feature_names) == (2, [0, 0, 1], ("intercept", "age"))
    assert rows.x[:, 1].tolist() == [0.3, 0.5, 0.4]
    assert len(TABLE.read_file(tmp_path / "rows.csv", options)) == 3


@pytest.mark.parametrize(
    ("text", "person", "sentence"),
    [
        (ROWS.replace("8,", ","), "patient", "each row must name its person, but 1 of 3 rows do not"),
        (ROWS.replace("8,", "NA,"), "patient", "each row must name its person, but 1 of 3 rows do not"),
        (ROWS, "who", "rows.csv has no column 'who' that names the person, only 'patient', 'age', 'ill'"),
        (
            ROWS,
            "age",
            "the column 'age' names persons: it can be neither the target nor a predictor",
        ),
    ],
)
def test_a_wrong_person_column_gets_one_sentence(tmp_path, text, person, sentence):
    options = table(tmp_path, text)
    assert refusal(TABLE, tmp_path / "rows.csv", person=person, **options) == sentence


def test_an_author_is_one_bag_of_words(tmp_path):
    (tmp_path / "words.txt").write_text("tea\nmilk\n")
    (tmp_path / "letters.csv").write_text("author,text\nann,tea\nbob,tea\nann,milk tea\n")
    options = {"vocabulary": str(tmp_path / "words.txt"), "person": "author"}
    assert DOCUMENTS.read_file(tmp_path / "letters.csv", options).words.tolist() == [3, 1]
    (tmp_path / "counts.npz").write_bytes(npz(**COUNTS, authors=np.array([4, 4])))
    assert DOCUMENTS.read_file(tmp_path / "counts.npz", {"person": "authors"}).words.tolist() == [4]
    sentence = refusal(DOCUMENTS, tmp_path / "counts.npz", person="counts2")
    assert "counts.npz must hold a list 'counts2' of text or whole numbers" in sentence
    (tmp_path / "letters.txt").write_text("tea\n")
    assert "cannot name persons" in refusal(DOCUMENTS, tmp_path / "letters.txt", person="author")


def test_images_of_one_person_are_one_record(tmp_path):
    (tmp_path / "i.npz").write_bytes(npz(images=np.eye(3)[:, None], persons=np.array(["b", "a", "b"])))
    images = IMAGES.read_file(tmp_path / "i.npz", {"threshold": 0.5, "person": "persons"})
    assert (len(images), images.row_count) == (2, 3)
    assert "a folder of images" in refusal(IMAGES, tmp_path, person="persons")


def test_endings_may_be_in_capitals(tmp_path):
    (tmp_path / "words.txt").write_text("tea\nmilk\n")
    (tmp_path / "DOCS.CSV").write_text('text\n"tea\nwith milk"\ntea\n')
    (tmp_path / "COUNTS.NPZ").write_bytes(npz(**COUNTS))
    Image.fromarray(np.eye(8, dtype=np.uint8) * 255).save(tmp_path / "ONE.PNG")
    words = {"vocabulary": str(tmp_path / "words.txt")}
    assert DOCUMENTS.read_file(tmp_path / "DOCS.CSV", words).words.tolist() == [2, 1]
    assert DOCUMENTS.read_file(tmp_path / "COUNTS.NPZ", {}).words.tolist() == [3, 1]
    assert len(IMAGES.read_file(tmp_path, {})) == 1


def test_text_is_split_at_line_ends_only(tmp_path):
    (tmp_path / "words.txt").write_text("tea\nmilk\n")
    path = tmp_path / "letters.txt"
    path.write_bytes("tea\fmilk\r\n\ntea\x85\u2028milk \x1c milk\vtea\rtea".encode())
    corpus = DOCUMENTS.read_file(path, {"vocabulary": str(tmp_path / "words.txt")})
    assert corpus.words.tolist() == [2, 0, 5]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("letters.txt", "", "there must be at least one document"),
        ("letters.txt", "\n", "letters.txt holds none of the 6,000 words of the vocabulary"),
        ("letters.csv", "text\nχαίρετε\n", "letters.csv holds none of the 6,000 words of the vocabulary"),
    ],
)
def test_a_text_without_words_gets_one_sentence(tmp_path, name, content, sentence):
    """Its runs would spend budget on noise alone."""
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert refusal(DOCUMENTS, tmp_path / name).startswith(sentence)


def test_a_number_larger_than_any_float_gets_one_sentence(tmp_path):
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "rows.csv").write_text(f"age,ill\n{'9' * 400},0\n30,1\n")
    sentence = refusal(TABLE, tmp_path / "rows.csv", target="ill", schema=str(tmp_path / "s.toml"))
    assert sentence == "column 'age' must be numbers, which entry 1 is not"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "age;ill\n3,5;0\n",
            "lacks the columns 'ill', 'age': with commas between columns, it has 'age;ill'",
        ),
        ("age,ill,age\n30,0,31\n", "rows.csv must have one column 'age', got 2"),
        ("age,ill\n30,yes\n", "labels must be numbers, which entry 1 is not"),
        ("age,ill\n3,1\n?,1\n", "column 'age' must be numbers, which entry 2 is not"),
        ("age,ill\n", "the table has no rows"),
    ],
)
def test_a_foreign_table_is_refused_with_its_columns(tmp_path, text, sentence):
    options = table(tmp_path, text)
    assert sentence in refusal(TABLE, tmp_path / "rows.csv", **options)


def test_unused_columns_may_share_a_name(tmp_path):
    options = table(tmp_path, "note,age,note,ill\na,30,b,0\n")
    assert len(TABLE.read_file(tmp_path / "rows.csv", options)) == 1


def test_a_packed_table_that_ends_early_gets_one_sentence(tmp_path):
    options = table(tmp_path)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(ROWS.encode())[:-9])
    assert "is not a readable CSV" in refusal(TABLE, tmp_path / "rows.csv.gz", **options)


def test_the_byte_order_mark_is_dropped(tmp_path):
    (tmp_path / "words.txt").write_text("tea\nmilk\n", encoding="utf-8-sig")
    (tmp_path / "marked.txt").write_text("tea\n", encoding="utf-8-sig")
    (tmp_path / "plain.txt").write_text("tea\n")
    words = {"vocabulary": str(tmp_path / "words.txt")}
    assert DOCUMENTS.read_file(tmp_path / "marked.txt", words).words.tolist() == [1]
    rows = [list(DOCUMENTS.source_rows(tmp_path / name)) for name in ("marked.txt", "plain.txt")]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("name", ["letters.jsonl", "letters.txt.gz", "letters.parquet", "folder"])
def test_documents_in_other_files_are_not_counted_with_their_keys(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / name).exists() or (tmp_path / name).write_text('{"text": "tea"}\n')
    assert (
        refusal(DOCUMENTS, tmp_path / name) == f"documents must be one file, .txt, .csv or .npz, got {name!r}"
    )


def test_images_of_16_bits_have_the_same_pixels_as_of_8(tmp_path):
    grey = np.array([[0, 100, 127, 128, 255]], np.uint16)
    for name, image in (("8", grey.astype(np.uint8)), ("16", grey * 257)):
        (tmp_path / name).mkdir()
        Image.fromarray(image).save(tmp_path / name / "one.png")
        assert IMAGES.read_file(tmp_path / name, {}).unpack().tolist() == [[0, 0, 0, 1, 1]]


def test_images_from_0_to_1_need_a_threshold(tmp_path):
    (tmp_path / "i.npz").write_bytes(npz(images=np.eye(3)[:, None]))
    sentence = "threshold must be below the brightest pixel of i.npz, got 127"
    assert refusal(IMAGES, tmp_path / "i.npz") == sentence
    assert len(IMAGES.read_file(tmp_path / "i.npz", {"threshold": 0.5})) == 3


def test_nobody_is_told_to_trust_a_pickle(tmp_path):
    (tmp_path / "i.npz").write_text("hello")
    assert refusal(IMAGES, tmp_path / "i.npz").endswith("plain arrays: it is not a zip archive")


@pytest.mark.parametrize("text", ["age,ill\n3,5,0\n4,5,1\n", "age,ill\n30,0,\n40,1,\n"])
def test_rows_that_are_longer_than_the_header_are_not_shifted(tmp_path, scratch, text):
    """pandas took the first values as names of the rows: ages of 3,5 became 5."""
    options = table(tmp_path, text)
    sentence = "Expected 2 fields in line 2, saw 3"
    assert sentence in refusal(TABLE, tmp_path / "rows.csv", **options)
    with pytest.raises(ValueError, match=sentence):
        shard(TABLE, [tmp_path / "rows.csv"], tmp_path / "shards", options, scratch=scratch)
    (tmp_path / "letters.csv").write_text("author,text\nann,tea, milk\nbob,tea, sun\n")
    assert sentence in refusal(DOCUMENTS, tmp_path / "letters.csv", person="author")
