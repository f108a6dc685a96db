"""Sharded data sets: manifests, files, persons, and what is refused."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

import vips_core as vips
from tests.models.test_contract import documents, drawers, gaps, patients, stays, visits
from vips_core.records import KINDS, Sharded
from vips_core.records.files.sharding import shard


@pytest.mark.parametrize(
    "records", [documents, gaps, patients, stays, visits, drawers], ids=lambda one: one.__name__
)
def test_records_come_back_in_their_order(records, tmp_path):
    data = records()
    sharded = Sharded.write(tmp_path / "shards", data, records_per_shard=len(data) // 4)
    assert len(sharded) == len(data)
    assert sharded.records_type is type(data)
    place = np.arange(len(data))
    for start, some in Sharded.open(tmp_path / "shards").loaded():
        same = data[(place >= start) & (place < start + len(some))]
        for name, value in vars(same).items():
            if hasattr(value, "toarray"):
                assert (value != getattr(some, name)).nnz == 0
            else:
                assert np.array_equal(value, getattr(some, name)), name


def test_rows_that_were_scaled_down_stay_as_they_are(tmp_path):
    x = np.random.default_rng(0).normal(size=(500, 7)) * 3
    rows = vips.Table(x, np.zeros(500), tuple("abcdefg"), 1.0)
    again = replace(rows)
    assert np.array_equal(rows.x, again.x)
    assert (np.linalg.norm(rows.x, axis=1) <= 1).all()


def test_lots_are_consecutive_and_whole(tmp_path):
    sharded = Sharded.write(tmp_path / "shards", documents(), records_per_shard=7)
    for number in (1, 2, 5, 100):
        lots = sharded.lots(number)
        assert len(lots) <= number
        assert tuple(shard for lot in lots for shard in lot.shards) == sharded.shards
        assert [lot.start for lot in lots] == [0, *np.cumsum([len(lot) for lot in lots])[:-1]]


def test_public_fields_are_attributes(tmp_path):
    sharded = Sharded.write(tmp_path / "shards", visits())
    assert sharded.feature_names == visits().feature_names
    assert sharded.norm_bound == visits().norm_bound
    with pytest.raises(AttributeError, match="no vocabulary"):
        _ = sharded.vocabulary
    with pytest.raises(ValueError, match="needs all records in memory"):
        sharded[np.ones(len(sharded), bool)]


def test_pairs_are_those_of_the_manifest(tmp_path):
    rows = replace(gaps(), feature_names=("intercept", "a", "a missing"))
    for number, pairs in enumerate([((2, 0),), ()]):
        folder = tmp_path / str(number)
        Sharded.write(folder, replace(rows, missing_pairs=pairs))
        sharded = Sharded.open(folder)
        assert sharded.missing_pairs == pairs
        assert [some.missing_pairs for _, some in sharded.loaded()] == [pairs]
    change_manifest(folder, lambda content: content["public"].update(missing_pairs=[[0, 3]]))
    with pytest.raises(ValueError, match=r"missing_pairs must be .* from 0 to 2 and once, got \[0, 3\]"):
        Sharded.open(folder)


def change_manifest(folder, change):
    content = json.loads((folder / "manifest.json").read_text())
    change(content)
    (folder / "manifest.json").write_text(json.dumps(content))


def test_shards_on_another_file_system():
    data = Sharded.write("memory://vips-test", documents(), records_per_shard=50)
    assert [len(some) for _, some in Sharded.open("memory://vips-test").loaded()] == [50, 50, 20]
    assert data.shards == Sharded.open("memory://vips-test").shards


def damaged(tmp_path, damage):
    sharded = Sharded.write(tmp_path / "shards", documents(), records_per_shard=50)
    damage(tmp_path / "shards" / sharded.shards[1].file)
    return sharded


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda file: file.unlink(), "part-000001.npz cannot be read: No such file"),
        (
            lambda file: file.write_bytes(file.read_bytes()[:-9]),
            r"part-000001.npz must have [\d,]+ bytes, got",
        ),
        (
            lambda file: file.write_bytes(file.read_bytes()[:-9] + b"vips-test"),
            "part-000001.npz is not the file that the manifest describes",
        ),
    ],
)
def test_a_shard_that_is_not_as_described(tmp_path, damage, sentence):
    sharded = damaged(tmp_path, damage)
    with pytest.raises(ValueError, match=sentence):
        list(sharded.loaded())
    model = vips.LDA(3, documents().vocabulary, 25)
    plan = vips.PrivacyPlan(records=120, expected_batch=60, steps=2, noise_multiplier=1.0, delta=1e-5)
    with pytest.raises(ValueError, match=sentence):
        vips.fit(model, sharded, plan)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda content: content.update(format="x"), "its format is 'x'"),
        (lambda content: content.update(kind="x"), "kind must be one of documents, table, images, got 'x'"),
        (lambda content: content.update(shards=[]), "names no shards"),
        (lambda content: content["shards"][0].update(records=0), "records must be a whole number"),
        (lambda content: content["shards"][0].update(file="../x"), "beside its manifest, got '../x'"),
        (lambda content: content.pop("public"), "cannot be read: 'public'"),
        (lambda content: content.update(person=3), "person must be text"),
        (
            lambda content: content["public"].update(vocabulary=["tea", "tea"]),
            "cannot be read: vocabulary must not repeat a name, got 'tea' 2 times",
        ),
    ],
)
def test_a_strange_manifest_gets_a_sentence(tmp_path, change, sentence):
    Sharded.write(tmp_path, documents())
    change_manifest(tmp_path, change)
    with pytest.raises(ValueError, match=sentence):
        Sharded.open(tmp_path)


def test_a_folder_without_and_with_a_data_set(tmp_path):
    with pytest.raises(ValueError, match=r"no readable manifest.json"):
        Sharded.open(tmp_path)
    Sharded.write(tmp_path, documents())
    with pytest.raises(ValueError, match="holds a sharded data set already"):
        Sharded.write(tmp_path, documents())


def test_a_table_is_cut_in_its_order_and_by_whole_persons(tmp_path, scratch, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [f"{rng.random():.3f},{rng.integers(2)},p{rng.integers(40)}" for _ in range(300)]
    file, schema = tmp_path / "rows.csv", tmp_path / "ranges.toml"
    file.write_text("\n".join(["age,ill,who", *lines]))
    schema.write_text("[ranges]\nage = [0, 1]\n")
    about = {"target": "ill", "schema": str(schema)}
    monkeypatch.setattr("vips_core.records.files.text.CHUNK_BYTES", 2000)
    monkeypatch.setattr("vips_core.records.files.sharding.SHARD_BYTES", 1000)
    read = []
    plain = shard(KINDS["table"], [file], tmp_path / "plain", about, scratch=scratch, on_read=read.append)
    assert read == sorted(read)
    assert read[-1] == file.stat().st_size
    ages = np.concatenate([some.x[:, 1] for _, some in plain.loaded()])
    assert [f"{age:.3f}" for age in ages] == [line.split(",")[0] for line in lines]
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    unpacked = shard(KINDS["table"], [packed], tmp_path / "packed", about, scratch=scratch)
    assert np.array_equal(np.concatenate([some.x[:, 1] for _, some in unpacked.loaded()]), ages)
    persons = shard(KINDS["table"], [file], tmp_path / "persons", {**about, "person": "who"}, scratch=scratch)
    assert persons.person == "who"
    assert len(persons) == len({line.split(",")[2] for line in lines})
    assert len(persons.shards) > 2
    assert sum(some.row_count for _, some in persons.loaded()) == 300


def test_texts_are_cut_as_they_are_read_whole(tmp_path, scratch, monkeypatch):
    file = tmp_path / "letters.txt"
    file.write_bytes(b"rain and sun\r\n\nsun\n" * 50 + b"tea")
    monkeypatch.setattr("vips_core.records.files.text.CHUNK_BYTES", 100)
    with pytest.raises(ValueError, match=f"each file must be given once, got {file.name} 2 times"):
        shard(
            KINDS["documents"], [file, tmp_path / "." / file.name], tmp_path / "shards", {}, scratch=scratch
        )
    data = shard(KINDS["documents"], [file], tmp_path / "shards", {}, scratch=scratch)
    assert len(data) == 151
    assert len(data.shards) > 5
