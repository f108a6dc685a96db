"""`data shard`, and what the other commands do with its folders."""

import json

import numpy as np
import pytest

from vips_core.cli import main
from vips_core.store.store import Store


@pytest.fixture
def patients(tmp_path):
    """A table with persons, its schema, and the options for them."""
    rng = np.random.default_rng(0)
    rows = [f"{rng.random():.4f},{rng.integers(2)},p{rng.integers(200)}" for _ in range(400)]
    (tmp_path / "patients.csv").write_text("\n".join(["age,ill,who", *rows]))
    (tmp_path / "ranges.toml").write_text("[ranges]\nage = [0, 1]\n")
    return tmp_path / "patients.csv", ["--target", "ill", "--schema", str(tmp_path / "ranges.toml")]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr()


def test_shard_register_and_fit(capsys, tmp_path, patients):
    file, about = patients
    shards = tmp_path / "shards"
    code, printed = run(
        capsys, "data", "shard", "table", file, "--out", shards, *about, "--person", "who", "--json"
    )
    assert code == 0, printed.err
    persons = json.loads(printed.out)["records"]
    code, printed = run(capsys, "data", "add", "table", shards, "--epsilon", 2, "--delta", 1e-5, "--json")
    assert code == 0, printed.err
    row = json.loads(printed.out)
    assert (row["name"], row["records"], row["person_column"]) == ("shards", persons, "who")
    spend = ["--epsilon", 1, "--delta", 1e-5, "--epochs", 2]
    code, printed = run(capsys, "fit", "logistic", "--data", "shards", *spend, "--json")
    assert code == 0, printed.err
    assert json.loads(printed.out)["releases"] == 2
    assert 0 < Store().budget("shards").spent_share < 1
    code, printed = run(capsys, "fit", "logistic", "--data", "shards", *spend[2:], "--epsilon", 2)
    assert code == 2
    assert "cap" in printed.err


def test_the_file_behind_shards_shares_their_budget(capsys, tmp_path, patients):
    file, about = patients
    run(capsys, "data", "shard", "table", file, "--out", tmp_path / "shards", *about)
    cap = ["--epsilon", 2, "--delta", 1e-5, "--json"]
    run(capsys, "data", "add", "table", tmp_path / "shards", *cap)
    (tmp_path / "ranges.toml").write_text("[ranges]\nage = [0, 2]\n")  # other records, of the same people
    code, printed = run(capsys, "data", "add", "table", file, *about, *cap)
    assert (code, "also occur in shards (400)" in printed.err) == (2, True)
    code, printed = run(capsys, "data", "add", "table", file, *about, *cap, "--share-budget")
    assert code == 0, printed.err
    assert "shards" in json.loads(printed.out)["overlaps"][0]


def test_shards_protect_the_unit_and_the_study_that_they_were_cut_by(capsys, tmp_path, patients):
    file, about = patients
    file.write_text(file.read_text().replace("age,ill,who", "age,ill,who").replace(",p", ","))
    person, cap = ["--person", "who"], ["--epsilon", 2, "--delta", 1e-5]
    study = ["--person-namespace", "north"]
    cut = ["data", "shard", "table", file, *about]
    code, printed = run(capsys, *cut, "--out", tmp_path / "none", *study)
    assert (code, "--person-namespace needs --person" in printed.err) == (2, True)
    run(capsys, *cut, "--out", tmp_path / "north", *person, *study)
    add = ["data", "add", "table"]
    code, printed = run(capsys, *add, tmp_path / "north", *cap, "--person-namespace", "south")
    assert (code, "shards keep the --person-namespace given to data shard" in printed.err) == (2, True)
    code, printed = run(capsys, *add, tmp_path / "north", *cap, "--json")
    assert (code, json.loads(printed.out)["person_namespace"]) == (0, "north"), printed.err
    file.write_text(file.read_text().replace("0.", "0.0"))  # other rows, with the same identifiers
    for name, numbered in (("elsewhere", []), ("again", study)):
        run(capsys, *cut, "--out", tmp_path / name, *person, *numbered)
        code, printed = run(capsys, *add, tmp_path / name, *cap)
        assert (code, "also occur in north" in printed.err) == ((2, True) if numbered else (0, False))
    run(capsys, *cut, "--out", tmp_path / "rows")
    code, printed = run(capsys, *add, tmp_path / "rows", *cap, "--share-budget")
    sentence = "protected by who in elsewhere, so they cannot be protected record"
    assert (code, sentence in printed.err) == (2, True), printed.err


def test_people_are_found_in_shards_on_another_file_system(capsys, tmp_path, patients):
    file, about = patients
    shards = f"memory://{tmp_path.name}"
    code, printed = run(capsys, "data", "shard", "table", file, "--out", shards, *about)
    assert (code, "in 1 shard to" in printed.out) == (0, True), printed
    cap = ["--epsilon", 2, "--delta", 1e-5]
    assert run(capsys, "data", "add", "table", shards, *cap)[0] == 0
    (tmp_path / "ranges.toml").write_text("[ranges]\nage = [0, 2]\n")  # other records, of the same people
    code, printed = run(capsys, "data", "add", "table", file, *about, "--public")
    assert (code, "rows or persons of these records are" in printed.err) == (2, True), printed


@pytest.mark.parametrize("whose", ["another store's", "other shards'", "edited", "nobody's"])
def test_shards_of_unknown_people_are_refused(capsys, tmp_path, patients, monkeypatch, whose):
    file, about = patients
    for name in ("s", "t"):
        run(capsys, "data", "shard", "table", file, "--out", tmp_path / name, *about)
        file.write_text(file.read_text() + "\n0.5,1,p1")
    if whose == "another store's":
        monkeypatch.setenv("VIPS_HOME", str(tmp_path / "other"))
    elif whose == "other shards'":
        (tmp_path / "t" / "people.npz").rename(tmp_path / "s" / "people.npz")
    elif whose == "edited":
        with np.load(tmp_path / "s" / "people.npz") as arrays:
            forgotten = dict(arrays) | {"digests": arrays["digests"][:0]}
        np.savez(tmp_path / "s" / "people.npz", **forgotten)
    else:
        (tmp_path / "s" / "people.npz").unlink()
    code, printed = run(capsys, "data", "add", "table", tmp_path / "s", "--epsilon", 2, "--delta", 1e-5)
    assert (code, "this store did not cut the shards in" in printed.err) == (2, True), printed


def test_shards_go_straight_into_a_fit(capsys, tmp_path, patients):
    file, about = patients
    shards = tmp_path / "shards"
    run(capsys, "data", "shard", "table", file, "--out", shards, *about)
    spend = ["--epsilon", 1, "--delta", 1e-5, "--epochs", 2]
    code, printed = run(capsys, "fit", "logistic", "--data", shards, *spend)
    assert code == 2
    assert "is private and has no cap yet" in printed.err
    results = []
    for data, described in ((shards, []), (file, about)):
        code, printed = run(
            capsys,
            "fit",
            "logistic",
            "--data",
            data,
            *described,
            *spend,
            "--public",
            "--seed",
            3,
            "--out",
            tmp_path / "out",
        )
        assert code == 0, printed.err
        results.append(np.load(tmp_path / "out" / "params.npz")["mean"])
    assert np.array_equal(*results)


def test_mistakes(capsys, tmp_path, patients):
    file, about = patients
    code, printed = run(
        capsys, "data", "shard", "table", tmp_path / "no.csv", "--out", tmp_path / "s", *about
    )
    assert (code, "there is no file" in printed.err) == (2, True)
    code, printed = run(capsys, "data", "shard", "table", file, "--out", tmp_path / "s")
    assert (code, "needs target" in printed.err) == (2, True)
    run(capsys, "data", "shard", "table", file, "--out", tmp_path / "s", *about)
    code, printed = run(capsys, "data", "shard", "table", file, "--out", tmp_path / "s", *about)
    assert (code, "holds a sharded data set already" in printed.err) == (2, True)
    code, printed = run(capsys, "data", "add", "documents", tmp_path / "s", "--public")
    assert (code, "must hold documents, got table" in printed.err) == (2, True), printed


def test_a_cluster_gives_the_same_bits(capsys, tmp_path, patients, monkeypatch):
    pytest.importorskip("distributed")
    for name in ("VIPS_CLUSTER", "VIPS_CLUSTER_INSECURE"):
        monkeypatch.setenv(name, "")  # so that it is restored
    file, about = patients
    shards = tmp_path / "shards"
    run(capsys, "data", "shard", "table", file, "--out", shards, *about, "--records-per-shard", 90)
    fit = ["fit", "logistic", "--data", shards, "--noise", 2, "--delta", 1e-5, "--epochs", 3, "--seed", 3]
    fit += ["--public", "--out", tmp_path / "out"]
    means = []
    for where in ([], ["--cluster", "local[1]"]):
        code, printed = run(capsys, *fit, *where)
        assert code == 0, printed.err
        means.append(np.load(tmp_path / "out" / "params.npz")["mean"])
    assert np.array_equal(*means)


def test_a_cluster_without_tls_is_refused_before_anything(capsys):
    fit = ["fit", "logistic", "--data", "nhanes-stroke", "--noise", 2, "--delta", 1e-5]
    code, printed = run(capsys, *fit, "--cluster", "tcp://10.0.0.1:8786")
    assert (code, "is on a network without TLS" in printed.err) == (2, True)
