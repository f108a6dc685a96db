"""What a report's folder or ZIP holds, and what it never holds."""

import json
import zipfile

import pandas as pd
import pytest

from vips_core.reports import bundle, report


def test_everything_behind_a_report_is_in_it(store, seeded, folder, tmp_path):
    report.write_run(store, seeded, tmp_path / "report.zip")
    with zipfile.ZipFile(tmp_path / "report.zip") as archive:
        names = set(archive.namelist())
        inside = {name: archive.read(name) for name in names}
    expected = {
        "report.html", "config.toml", "config.json", "ledger.json", "result.json", "results.csv", "fit.json",
        "params.npz", "summary.txt", "coefficients.csv", "repeat.py", "repeat.ipynb", "figures/attack.csv",
        "figures/calibration.csv", "figures/roc.csv", "figures/steps.csv",
    }  # fmt: skip
    assert names == expected
    assert all((folder / name).read_bytes() == inside[name] for name in expected)
    result = json.loads(inside["result.json"])
    assert pd.read_csv(folder / "results.csv").set_index("score")["value"]["AUC"] == pytest.approx(
        result["held_out"]["AUC"]
    )


def test_other_files_of_a_run_stay_in_the_store(store, seeded, tmp_path):
    folder = store.folder(seeded)
    kept = {file.name: file.read_bytes() for file in folder.iterdir()}
    for name in ("people.csv", "worker.log", "notes.json", "records.npz"):
        (folder / name).write_text("secret", encoding="utf-8")
    try:
        report.write_run(store, seeded, tmp_path)
    finally:
        for name in set(file.name for file in folder.iterdir()) - set(kept):
            (folder / name).unlink()
    written = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.*")}
    assert {"coefficients.csv", "params.npz", "report.html"} <= written
    assert not written & {"people.csv", "worker.log", "notes.json", "records.npz"}


@pytest.mark.parametrize("name", ["people.csv", "figures/../people.csv", "figures/a.svg", "/figures/a.csv"])
def test_unlisted_files_are_never_written(tmp_path, name):
    for path in (tmp_path / "folder", tmp_path / "report.zip"):
        with pytest.raises(ValueError, match="a report may hold report.html, config.toml"):
            bundle.write({"report.html": b"", name: b"secret"}, path)
        assert not path.exists()
