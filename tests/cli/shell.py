"""The command as a shell runs it, and files for it."""

import json

import pytest

from vips_core.cli import main

SPEND = ["--epsilon", "1", "--delta", "1e-5"]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr()


def run_json(capsys, *arguments):
    code, printed = run(capsys, *arguments, "--json")
    assert code == 0, printed.err
    return json.loads(printed.out)


@pytest.fixture
def survey(tmp_path):
    """A CSV of 60 people with a schema of public ranges, and its options."""
    rows = [f"{20 + i},{i % 5},{int(i % 3 == 0)}" for i in range(60)]
    (tmp_path / "people.csv").write_text("age,dose,ill\n" + "\n".join(rows))
    (tmp_path / "schema.toml").write_text("[ranges]\nage = [18, 100]\ndose = [0, 10]\n")
    return [tmp_path / "people.csv", "--target", "ill", "--schema", tmp_path / "schema.toml"]


@pytest.fixture
def registered(capsys, survey):
    """The same, registered as private with a cap."""
    run_json(capsys, "data", "add", "table", *survey, "--epsilon", 10, "--delta", 1e-5, "--by", "Ada")
    return survey
