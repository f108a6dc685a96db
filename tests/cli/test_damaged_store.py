"""A store damaged at random places: every command ends with one sentence, and no budget is given back."""

import contextlib
import itertools
import json
import os
import random
import shutil
import sqlite3

import pytest

from tests.cli.shell import run, run_json
from vips_core.cli import main

DAMAGES = 60
PAGE = 4096  # bytes of a page of SQLite
MOST = ["--epsilon", "0.9", "--delta", "1e-5"]  # fits once under a cap of ε = 1


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder with a store whose budget is nearly spent, the same each time, and the file of its records."""
    folder = tmp_path_factory.mktemp("whole")
    lines = [f"{20 + number},{number % 5},{int(number % 3 == 0)}" for number in range(60)]
    (folder / "people.csv").write_text("age,dose,ill\n" + "\n".join(lines))
    (folder / "schema.toml").write_text("[ranges]\nage = [18, 100]\ndose = [0, 10]\n")
    chance, moments = random.Random(0), itertools.count(1_700_000_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIPS_HOME", str(folder / "home"))
        patch.setattr("secrets.token_hex", lambda size: chance.randbytes(size).hex())
        patch.setattr("time.time", lambda: float(next(moments)))
        patch.setattr("getpass.getuser", lambda: "ada")
        assert main(["data", "add", "table", *survey(folder), "--epsilon", "1", "--delta", "1e-5"]) == 0
        assert main(["fit", "logistic", "--data", "people", *MOST, "--epochs", "4"]) == 0
        seeded = ["--epsilon", "1", "--delta", "1e-5", "--epochs", "2", "--seed", "1"]
        assert main(["fit", "logistic", "--data", "nhanes-stroke", *seeded]) == 0
    with contextlib.closing(sqlite3.connect(folder / "home" / "store.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


def survey(folder):
    return [str(folder / "people.csv"), "--target", "ill", "--schema", str(folder / "schema.toml")]


def damage(path, seed):
    """Change bits or bytes, zero a stretch, swap two pages or cut the end off, at a byte that is not 0."""
    chance, content = random.Random(seed), bytearray(path.read_bytes())
    used = [place for place, byte in enumerate(content) if byte]
    how, place = chance.choice(["bit", "bits", "bytes", "zeros", "pages", "cut"]), chance.choice(used)
    if how in ("bit", "bits"):
        for where in [place] if how == "bit" else chance.sample(used, 20):
            content[where] ^= 1 << chance.randrange(8)
    elif how == "bytes":
        some = chance.randbytes(chance.choice([1, 4, 30]))
        content[place : place + len(some)] = some
    elif how == "zeros":
        content[place : place + 100] = bytes(len(content[place : place + 100]))
    elif how == "pages":
        two = chance.sample(range(1, len(content) // PAGE), 2)
        one, other = (slice(PAGE * number, PAGE * (number + 1)) for number in two)
        content[one], content[other] = content[other], content[one]
    else:
        del content[place:]
    path.write_bytes(content)


@pytest.mark.parametrize("seed", range(DAMAGES))
def test_no_damage_ends_in_a_traceback_or_gives_budget_back(whole, tmp_path, monkeypatch, capsys, seed):
    home = shutil.copytree(whole / "home", tmp_path / "home")
    monkeypatch.setenv("VIPS_HOME", str(home))
    runs = [row["id"] for row in run_json(capsys, "runs", "list")]
    before = run_json(capsys, "data", "budget", "people")["spent_share"]
    assert before > 0.5
    damage(home / "store.db", seed)
    for command in (
        ["runs", "list"],
        ["runs", "list", "--json"],
        *(["runs", "show", name] for name in runs),
        *(["runs", "export", name, "--out", tmp_path / "report.zip"] for name in runs[:1]),
        ["data", "list"],
        ["data", "budget", "people"],
        ["ledger", "show"],
        ["ledger", "verify"],
    ):
        said(capsys, command)
    code, printed = said(capsys, ["data", "budget", "people", "--json"])
    assert code == 2 or json.loads(printed)["spent_share"] >= before
    assert said(capsys, ["fit", "logistic", "--data", "people", *MOST])[0] == 2
    again = ["--name", "again", "--epsilon", "1", "--delta", "1e-5"]
    said(capsys, ["data", "add", "table", *survey(whole), *again])
    assert said(capsys, ["fit", "logistic", "--data", "again", *MOST])[0] == 2


def said(capsys, command):
    """Return a command's output; a refusal must be one line, except for the problems that `verify` lists."""
    code, printed = run(capsys, *command)
    assert code in (0, 2), command
    if code == 2 and not (command[1] == "verify" and printed.out):
        (line,) = printed.err.splitlines()
        assert line.startswith(f"vips-explorer {command[0]}: ")
        assert len(line) <= 300 + len(os.environ["VIPS_HOME"])
    return code, printed.out
