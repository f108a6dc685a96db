"""`vips-explorer fit`: from a file or a sample to results that hold nothing un-noised."""

import json
import re
import sys

import numpy as np
import pytest
from PIL import Image

from sample_data import generate
from vips_core import auc, load
from vips_core.cli import main
from vips_core.jobs import worker
from vips_core.records.samples import load_sample
from vips_core.store.store import Store

SPEND = ["--epsilon", "3", "--delta", "1e-5", "--epochs", "4", "--seed", "0", "--public"]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr()


@pytest.fixture(scope="module")
def corpus():
    return generate.corpus(300, 40, topics=4, vocabulary_size=600, seed=0)[0]


@pytest.fixture
def counts_file(corpus, tmp_path):
    path = tmp_path / "counts.npz"
    np.savez(
        path,
        indptr=corpus.indptr,
        indices=corpus.indices,
        counts=corpus.counts,
        vocabulary=np.array(corpus.vocabulary),
    )
    return path


def audited(capsys, out, delta="1e-5"):
    _, printed = run(capsys, "ledger", "check", out / "ledger.json", "--delta", delta, "--json")
    return json.loads(printed.out)["epsilon"]


def test_topics_from_counts(capsys, tmp_path, counts_file):
    out = tmp_path / "out"
    code, printed = run(
        capsys,
        "fit",
        "lda",
        "--data",
        counts_file,
        "--topics",
        4,
        *SPEND,
        "--out",
        out,
        "--test",
        counts_file,
        "--json",
    )
    assert code == 0, printed.err
    result = json.loads(printed.out)
    assert result == json.loads((out / "result.json").read_text())
    assert result["epsilon"]["pld"] <= 3 * (1 + 1e-6)
    assert audited(capsys, out)["pld"] == pytest.approx(result["epsilon"]["pld"])
    assert result["held_out"]["perplexity (completion)"] > 1
    assert any("demonstration" in caution for caution in result["cautions"])
    with np.load(out / "params.npz", allow_pickle=False) as params:
        assert params["lam"].shape == (4, 600)
    assert (out / "topics.csv").read_text().startswith("topic,share,rank,word,probability")


def test_words_that_tables_take_for_gaps_stay_words(capsys, tmp_path):
    (tmp_path / "words.txt").write_text("null\nnan\ntea")
    (tmp_path / "letters.txt").write_text("nan has tea\nnull and nan\n" * 20)
    options = ["--topics", 2, "--vocabulary", tmp_path / "words.txt", *SPEND, "--json"]
    assert run(capsys, "fit", "lda", "--data", tmp_path / "letters.txt", *options)[0] == 0
    (row,) = Store().runs()
    code, printed = run(capsys, "runs", "export", row.id, "--out", tmp_path / "report")
    assert code == 0, printed.err
    assert " nan" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")


def test_topics_from_text_lines_and_csv(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)  # so that progress is shown
    words = ["river", "boat", "court", "judge"]
    (tmp_path / "words.txt").write_text("\n".join(words))
    lines = ["", "the river and the boat", "judge in court"] * 20
    (tmp_path / "documents.txt").write_text("\n".join(lines))
    (tmp_path / "documents.csv").write_text(
        "id,body\n" + "\n".join(f"{i},{line}" for i, line in enumerate(lines))
    )
    shared = ["--topics", 2, "--vocabulary", tmp_path / "words.txt", *SPEND]
    code, printed = run(
        capsys, "fit", "lda", "--data", tmp_path / "documents.txt", *shared, "--out", tmp_path / "a"
    )
    assert code == 0, printed.err
    assert "No scores: they need public held-out records" in printed.out
    target = SPEND[SPEND.index("--epsilon") + 1]
    assert 0 < max(map(float, re.findall(r"ε so far ([\d.]+)", printed.err))) <= float(target)
    code, printed = run(
        capsys,
        "fit",
        "lda",
        "--data",
        tmp_path / "documents.csv",
        "--column",
        "body",
        *shared,
        "--out",
        tmp_path / "b",
    )
    assert code == 0, printed.err
    both = [np.load(tmp_path / name / "params.npz")["lam"] for name in "ab"]
    assert np.array_equal(*both)


def test_images_from_arrays_and_png(capsys, tmp_path):
    pixels = (generate.digits(40, seed=0)[0].unpack(np.uint8) * 255).reshape(-1, 28, 28)
    np.savez(tmp_path / "images.npz", images=pixels)
    folder = tmp_path / "png"
    folder.mkdir()
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(folder / f"{number:03}.png")
    found = []
    for source in (tmp_path / "images.npz", folder):
        out = tmp_path / f"out-{source.stem}"
        code, printed = run(
            capsys,
            "fit",
            "sbn",
            "--data",
            source,
            "--hidden",
            3,
            *SPEND,
            "--out",
            out,
            "--test",
            source,
            "--json",
        )
        assert code == 0, printed.err
        found.append(json.loads(printed.out)["held_out"])
    assert found[0] == found[1]
    assert 0.4 < found[0]["pixel accuracy"] <= 1


@pytest.fixture
def survey(tmp_path):
    """A CSV of 300 people with a schema of public ranges."""
    rng = np.random.default_rng(0)
    age, dose = rng.uniform(20, 90, 300), rng.uniform(0, 5, 300)
    ill = rng.random(300) < 1 / (1 + np.exp(-(age - 55) / 8))
    lines = [
        f"{a:.1f},{d if i % 7 else ''},{int(y)}"
        for i, (a, d, y) in enumerate(zip(age, dose, ill, strict=True))
    ]
    (tmp_path / "people.csv").write_text("age,dose,ill\n" + "\n".join(lines))
    (tmp_path / "schema.toml").write_text(
        'may_be_missing = ["dose"]\n[ranges]\nage = [18, 100]\ndose = [0, 10]\n'
    )
    return tmp_path / "people.csv"


@pytest.mark.parametrize("method", ["refined", "paper", "strong", "sgd", "perm"])
def test_risk_from_csv_by_every_method(capsys, tmp_path, survey, method):
    out = tmp_path / "out"
    shared = [
        "--target",
        "ill",
        "--schema",
        tmp_path / "schema.toml",
        "--test",
        survey,
        "--method",
        method,
        *SPEND,
    ]
    code, printed = run(capsys, "fit", "logistic", "--data", survey, *shared, "--out", out, "--json")
    assert code == 0, printed.err
    result = json.loads(printed.out)
    assert 0 <= result["held_out"]["AUC"] <= 1
    coefficients = (out / "coefficients.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in coefficients] == [
        "feature",
        "intercept",
        "age",
        "dose",
        "dose missing",
    ]
    if method == "perm":
        assert result["epsilon"] == {"pure": 3}
        assert result["plan"] == {"records": len(survey.read_text().splitlines()) - 1, "epsilon": 3}
        assert any("demonstration" in caution for caution in result["cautions"])
        assert not (out / "ledger.json").exists()
        return
    spent = audited(capsys, out)
    assert spent["strong" if method == "strong" else "pld"] == pytest.approx(3, rel=1e-3)
    assert ("low (90 %)" in coefficients[0]) == (method != "sgd")
    if method == "refined":
        assert result["held_out"]["AUC"] > 0.8


def test_noise_trains_the_same_model_by_strong_composition(capsys, tmp_path):
    shared = ["--data", "nhanes-stroke", "--noise", 2, "--batch", 400, "--delta", "1e-5", "--epochs", 1]
    results, means = [], []
    for method in ("paper", "strong"):
        out = tmp_path / method
        arguments = ["fit", "logistic", *shared, "--seed", 0, "--method", method, "--out", out, "--json"]
        code, printed = run(capsys, *arguments)
        assert code == 0, printed.err
        results.append(json.loads(printed.out))
        with np.load(out / "params.npz", allow_pickle=False) as params:
            means.append(params["mean"])
    assert (means[0] == means[1]).all()
    paper, strong = results
    assert {**paper, "method": "strong"} == strong
    assert strong["epsilon"]["strong"] == pytest.approx(audited(capsys, out)["strong"])
    assert strong["epsilon"]["strong"] > strong["epsilon"]["pld"]


def test_without_noise_and_by_another_accountant(capsys, tmp_path, counts_file):
    shared = [
        "fit",
        "lda",
        "--data",
        counts_file,
        "--topics",
        3,
        "--delta",
        "1e-5",
        "--epochs",
        2,
        "--public",
        "--json",
    ]
    code, printed = run(capsys, *shared, "--noise", 0, "--out", tmp_path / "open")
    assert code == 0, printed.err
    assert json.loads(printed.out)["epsilon"] == {"moments": None, "strong": None, "pld": None}
    assert "no privacy guarantee" in " ".join(json.loads(printed.out)["cautions"])
    code, printed = run(
        capsys,
        *shared,
        "--epsilon",
        5,
        "--accountant",
        "strong",
        "--batch",
        60,
        "--method",
        "paper",
        "--out",
        tmp_path / "sc",
    )
    assert code == 0, printed.err
    assert audited(capsys, tmp_path / "sc")["strong"] == pytest.approx(5, rel=1e-3)
    assert json.loads(printed.out)["epsilon"]["pld"] < 5


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["lda", "--data", "nowhere.txt"],
            "data must be sotu, generated-documents, a registered data set or a file, got 'nowhere.txt'",
        ),
        (["lda", "--data", "mnist"], "lda needs data of kind documents, but mnist is of kind images"),
        (
            ["lda", "--data", "COUNTS", "--topics", "1"],
            "topics must be a whole number of at least 2 and at most 1,000, got 1",
        ),
        (
            ["lda", "--data", "COUNTS", "--epsilon", "-1"],
            "epsilon must be a number of at least 0.001 and at most 1,000, got -1.0",
        ),
        (["lda", "--data", "BROKEN"], "broken.npz is not a readable .npz of plain arrays"),
        (["lda", "--data", "TRUNCATED"], "truncated.npz is not a readable .npz of plain arrays"),
        (["logistic", "--data", "COUNTS"], "a CSV needs target, the column with the label, and schema"),
        (["logistic", "--data", "sotu"], "logistic needs data of kind table, but sotu is of kind documents"),
        (["sbn", "--data", "COUNTS"], "counts.npz must hold an array named images"),
        (["sbn", "--data", "FOLDER"], "must hold PNG images, got none"),
    ],
)
def test_bad_input_gets_one_line_and_trains_nothing(capsys, tmp_path, counts_file, arguments, sentence):
    (tmp_path / "broken.npz").write_bytes(b"PK nonsense")
    whole = counts_file.read_bytes()
    (tmp_path / "truncated.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty").mkdir()
    names = {"TRUNCATED": tmp_path / "truncated.npz"} | {
        "COUNTS": counts_file,
        "BROKEN": tmp_path / "broken.npz",
        "FOLDER": tmp_path / "empty",
    }
    out = tmp_path / "out"
    spend = ["--delta", "1e-5", "--out", out] + ([] if "--epsilon" in arguments else ["--epsilon", "1"])
    code, printed = run(capsys, "fit", *[names.get(argument, argument) for argument in arguments], *spend)
    assert code == 2
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert not out.exists()


def test_only_listed_files_are_published(capsys, tmp_path, monkeypatch):
    """Whatever else lies in a run's folder stays in the store."""
    train = worker.train

    def train_and_leave_notes(run, *arguments, **options):
        train(run, *arguments, **options)
        for name in ("notes.txt", "records.csv", "worker.log"):
            (run.store.folder(run.id) / name).write_text("nobody asked for this")

    monkeypatch.setattr(worker, "train", train_and_leave_notes)
    out = tmp_path / "out"
    spend = ["--epsilon", 1, "--delta", "1e-5", "--epochs", 1]
    code, printed = run(capsys, "fit", "logistic", "--data", "nhanes-stroke", *spend, "--out", out)
    assert code == 0, printed.err
    assert sorted(file.name for file in out.iterdir()) == [
        "coefficients.csv",
        "fit.json",
        "ledger.json",
        "params.npz",
        "result.json",
        "summary.txt",
    ]
    test = load_sample("nhanes-stroke").test
    score = json.loads((out / "result.json").read_text())["held_out"]["AUC"]
    assert auc(load(out), test) == pytest.approx(score)
