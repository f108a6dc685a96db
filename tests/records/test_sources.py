"""The same people are found in another file, however it was changed."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from vips_core.records import KINDS
from vips_core.records.files.identification import source_persons
from vips_core.records.files.sharding import shard

DOCUMENTS, TABLE, IMAGES = KINDS["documents"], KINDS["table"], KINDS["images"]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"id": np.arange(50), "age": rng.integers(20, 90, 50), "city": rng.choice(["Bonn", "Köln", ""], 50)}
    )


def rows_of(frame, path, kind=TABLE):
    frame.to_csv(path, index=False)
    return list(kind.source_rows(path))


def test_rows_are_found_in_any_order_spelling_and_file(frame, tmp_path):
    before = rows_of(frame, tmp_path / "before.csv")
    assert len(set(before)) == 50
    after = frame.sample(frac=1, random_state=1).iloc[1:][["city", "id", "age"]]
    after = after.assign(age=after["age"].astype(float), city=" " + after["city"])
    assert len(set(rows_of(after, tmp_path / "AFTER.CSV")) & set(before)) == 49
    assert set(rows_of(frame, tmp_path / "documents.csv", DOCUMENTS)) == set(before)


@pytest.mark.parametrize("gap", ["NA", "NULL", "nan", " NA", "None "])
def test_rows_are_found_however_truths_and_gaps_are_written(gap, tmp_path):
    """R writes TRUE and NA where others write 1 and nothing; these people must not get a fresh budget."""
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("age,smokes,ill\n50,,1\n60,0,0\n,1,\n")
    other.write_text(f"age,smokes,ill\n50,{gap},TRUE\n60,false,False\n{gap},True,{gap}\n")
    rows = list(TABLE.source_rows(one))
    assert list(TABLE.source_rows(other))[:3] == rows
    assert len(rows) == 3


def test_any_other_value_is_another_row(frame, tmp_path):
    before = rows_of(frame, tmp_path / "before.csv")
    for column, value in (("age", 19), ("age", "old"), ("city", "Bonn "), ("city", "bonn")):
        changed = frame.astype(object)
        changed.loc[3, column] = value
        same = changed.loc[3, column].strip() == frame.loc[3, column] if column == "city" else False
        after = rows_of(changed, tmp_path / "after.csv")
        assert (after[3] == before[3]) == same
        assert after[:3] + after[4:] == before[:3] + before[4:]


def test_rows_do_not_depend_on_the_size_of_a_chunk(frame, tmp_path, monkeypatch):
    before = rows_of(frame.assign(mixed=[*range(49), "x"]), tmp_path / "before.csv")
    monkeypatch.setattr("vips_core.records.files.text.CHUNK_BYTES", 200)
    assert list(TABLE.source_rows(tmp_path / "before.csv")) == before


def test_each_person_is_named_once(tmp_path):
    (tmp_path / "rows.csv").write_text("who,age\n7,1\n 7,2\n8 ,3\n")
    np.savez(tmp_path / "rows.npz", who=np.array([7, 7, 8]))
    for name in ("rows.csv", "rows.npz"):
        assert sorted(source_persons(tmp_path / name, "who")) == [b"7", b"8"]
    with pytest.raises(ValueError, match=r"rows\.csv has no column 'id'"):
        list(source_persons(tmp_path / "rows.csv", "id"))


def test_a_person_is_a_number_however_it_is_written(tmp_path):
    """Other programs make 7.0 or 007 of 7; such a person must not get a fresh budget."""
    longest = "9" * 41
    path = tmp_path / "rows.csv"
    path.write_text("who\n" + "\n".join(["7", "7.0", "007", "100", "1e2", "nan", "a7", "1e99999", longest]))
    expected = [b"7", b"100", b"a7", b"1e99999", longest.encode()]  # nan names nobody
    assert sorted(source_persons(path, "who")) == sorted(expected)


IDENTIFIERS = ["7", "7.0", "007", " 7", "8", "Ren\u00e9", "Rene\u0301 ", "ann", "Ann", "1_2", "12"]


def test_records_are_grouped_by_the_persons_that_are_found_elsewhere(tmp_path):
    """Issue 32: grouping and finding follow one rule, in every kind of file and in shards."""
    words = " tea rain sun milk rum ale gin wine oats rye hops".split()
    (tmp_path / "words.txt").write_text("\n".join(words))
    (tmp_path / "ranges.toml").write_text("[ranges]\nage = [0, 20]\n")
    who, numbers = IDENTIFIERS, np.arange(len(IDENTIFIERS))
    pd.DataFrame({"who": who, "age": numbers, "ill": numbers % 2}).to_csv(tmp_path / "rows.csv", index=False)
    pd.DataFrame({"who": who, "text": words}).to_csv(tmp_path / "texts.csv", index=False)
    np.savez(tmp_path / "images.npz", images=np.eye(len(who))[:, None], who=np.array(who))
    np.savez(tmp_path / "floats.npz", images=np.eye(3)[:, None], who=np.array([7.0, 8.0, 7.0]))
    for kind, name, about, persons in (
        (TABLE, "rows.csv", {"target": "ill", "schema": str(tmp_path / "ranges.toml")}, 7),
        (DOCUMENTS, "texts.csv", {"vocabulary": str(tmp_path / "words.txt")}, 7),
        (IMAGES, "images.npz", {"threshold": 0.5}, 7),
        (IMAGES, "floats.npz", {"threshold": 0.5}, 2),
    ):
        options = about | {"person": "who"}
        assert len(list(source_persons(tmp_path / name, "who"))) == persons
        assert len(kind.read_file(tmp_path / name, options)) == persons
        shards, scratch = tmp_path / f"{name} shards", tmp_path / f"{name} scratch"
        scratch.mkdir()
        assert len(shard(kind, [tmp_path / name], shards, options, scratch=scratch)) == persons


def test_a_person_stays_one_person_across_files_and_buckets_of_shards(tmp_path, monkeypatch):
    monkeypatch.setattr("vips_core.records.files.sharding.SHARD_BYTES", 8)  # many buckets
    (tmp_path / "ranges.toml").write_text("[ranges]\nage = [0, 20]\n")
    about = {"target": "ill", "schema": str(tmp_path / "ranges.toml"), "person": "who"}
    for name, spelling in (("one.csv", "{}"), ("two.csv", "{}.0"), ("three.csv", "00{}")):
        rows = [f"{spelling.format(number)},{number},1" for number in range(9)]
        (tmp_path / name).write_text("\n".join(["who,age,ill", *rows]))
    files = [tmp_path / name for name in ("one.csv", "two.csv", "three.csv")]
    (tmp_path / "scratch").mkdir()
    assert len(shard(TABLE, files, tmp_path / "shards", about, scratch=tmp_path / "scratch")) == 9


def test_counts_are_found_under_another_vocabulary(tmp_path):
    shared = {"indptr": np.array([0, 2, 3]), "counts": np.array([1, 2, 3])}
    one = {"indices": np.array([0, 1, 1]), "vocabulary": np.array(["tea", "milk"])}
    other = {"indices": np.array([1, 2, 2]), "vocabulary": np.array(["rum", "tea", "milk"])}
    for name, arrays in (("one", one), ("other", other)):
        np.savez(tmp_path / f"{name}.npz", **shared, **arrays)
    assert list(DOCUMENTS.source_rows(tmp_path / "one.npz")) == list(
        DOCUMENTS.source_rows(tmp_path / "other.npz")
    )
    (tmp_path / "letters.txt").write_text(" tea \nmilk")
    assert list(DOCUMENTS.source_rows(tmp_path / "letters.txt")) == [b"tea", b"milk"]


def test_images_are_the_same_in_a_folder_and_in_an_array(tmp_path):
    grey = np.random.default_rng(0).integers(0, 255, (3, 4, 5)).astype(np.uint8)
    for number, image in enumerate(grey):
        Image.fromarray(image).save(tmp_path / f"{number}.png")
    np.savez(tmp_path / "images.npz", images=grey.astype(float))
    assert list(IMAGES.source_rows(tmp_path)) == list(IMAGES.source_rows(tmp_path / "images.npz"))
