"""Files that hang, fill memory or reveal people: how commands treat them, and what they leave behind."""

import gzip
import json
import os
import signal
import subprocess
import sys
import termios
import zipfile

import numpy as np
import pytest
from PIL import Image

from tests.cli.shell import run, survey
from vips_core.cli import main

__all__ = ["survey"]  # a fixture

CAP = ["--epsilon", 1, "--delta", 1e-5]
SECONDS = 60  # a pipe would hang for ever
MEMORY = 2_500_000  # kB of address space; the command and its libraries take 1,760,000
SECRET = "Ada Lovelace"
needs_limits = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory by ulimit")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a pipe and with 2 GB of zeros, under every kind of name that commands read."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    for name in ("pipe.csv", "pipe.npz", "pipe.toml", "pipe.json", "pipe.txt"):
        os.symlink("pipe", name)
    for name in ("zeros.txt", "zeros.csv", "zeros.toml", "zeros.json", "zeros.npz"):
        with open(name, "wb") as file:
            file.truncate(2 << 30)
    os.mkdir("images")
    os.symlink("../pipe", "images/a.png")
    for name in ("pipe", "zeros"):
        os.mkdir(f"{name}-shards")
        os.symlink(f"../{name}.json", f"{name}-shards/manifest.json")
    (tmp_path / "words.txt").write_text("tea\nmilk\n")
    (tmp_path / "letters.txt").write_text("tea and milk\nmilk\n" * 10)
    (tmp_path / "rows.csv").write_text("age,ill\n30,0\n40,1\n")
    (tmp_path / "schema.toml").write_text("[ranges]\nage = [18, 100]\n")
    return tmp_path


TABLE = ["--target", "ill", "--schema", "schema.toml"]
READING = {
    "documents": ["data", "add", "documents", "{}.txt", *CAP],
    "a vocabulary": ["data", "add", "documents", "letters.txt", "--vocabulary", "{}.txt", *CAP],
    "held-out documents": ["data", "add", "documents", "letters.txt", "--test", "{}.txt", *CAP],
    "counts": ["data", "add", "documents", "{}.npz", *CAP],
    "a table": ["data", "add", "table", "{}.csv", *TABLE, *CAP],
    "a table to fit": ["fit", "logistic", "--data", "{}.csv", *TABLE, *CAP],
    "a schema": ["data", "add", "table", "rows.csv", "--target", "ill", "--schema", "{}.toml", *CAP],
    "images": ["data", "add", "images", "{}.npz", *CAP],
    "shards": ["data", "add", "documents", "{}-shards", *CAP],
    "documents to cut": ["data", "shard", "documents", "{}.txt", "--out", "s"],
    "a table to cut": ["data", "shard", "table", "{}.csv", "--out", "s", *TABLE],
    "a config": ["fit", "--config", "{}.toml"],
    "a sweep": ["sweep", "{}.toml"],
    "a ledger": ["ledger", "check", "{}.json", "--delta", "1e-5"],
}


def started(*arguments, limit=MEMORY):
    """Run the command as a shell does, with bounded memory."""
    command = [sys.executable, "-m", "vips_core.cli", *map(str, arguments)]
    bounded = ["sh", "-c", f'ulimit -v {limit}; exec "$@"', "sh", *command]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(bounded, capture_output=True, text=True, timeout=SECONDS, env=environment)


def one_sentence(printed):
    """Return all of stderr, which is one line of at most 300 characters."""
    assert (printed.count("\n"), printed.count("\r")) == (1, 0), printed
    assert len(printed) <= 301
    return printed.strip()


@pytest.mark.parametrize("kind", READING)
def test_a_pipe_is_refused_and_not_waited_for(capsys, place, kind):
    code, printed = run(capsys, *(str(argument).format("pipe") for argument in READING[kind]))
    assert code == 2
    assert one_sentence(printed.err).endswith("must be a regular file, got a pipe")


@needs_limits
@pytest.mark.parametrize("kind", READING)
def test_a_file_of_2_gb_without_a_line_takes_no_memory(place, kind):
    ended = started(*(str(argument).format("zeros") for argument in READING[kind]))
    assert ended.returncode == 2, ended.stderr
    one_sentence(ended.stderr)
    assert list(place.glob("s/*")) == []


@needs_limits
@pytest.mark.parametrize("kind", ["documents", "a ledger"])
def test_a_device_is_refused(place, kind):
    arguments = [argument if "{}" not in str(argument) else "/dev/zero" for argument in READING[kind]]
    ended = started(*arguments)
    assert ended.returncode == 2
    assert one_sentence(ended.stderr).endswith("zero must be a regular file, got a device")


def test_a_pipe_among_images_is_refused(capsys, place):
    for arguments in (["add", "images", "images", *CAP], ["shard", "images", "images", "--out", "s"]):
        code, printed = run(capsys, "data", *arguments)
        assert code == 2
        assert "image 1 (sorted by name) must be a regular file" in one_sentence(printed.err)


def test_errors_about_sizes_name_the_limit(capsys, place):
    _, printed = run(capsys, *(str(argument).format("zeros") for argument in READING["documents"]))
    assert "zeros.txt must have at most 256 MB, got 2,048 MB: cut it into shards with" in printed.err
    _, printed = run(capsys, *(str(argument).format("zeros") for argument in READING["documents to cut"]))
    assert "zeros.txt must not have a line of more than 16 MB" in printed.err


@needs_limits
def test_packed_files_are_bounded_while_they_unpack(place):
    with gzip.open(place / "zeros.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"age,ill\n")
        for _ in range(257):
            file.write(b"30.%026d,0\n" % 0 * (1 << 15))  # 1 MB
    ended = started("data", "add", "table", "zeros.csv.gz", *TABLE, *CAP, limit=8 * MEMORY)
    assert ended.returncode == 2
    assert "must not have more than 256 MB to be read at once" in one_sentence(ended.stderr)
    (place / "open.csv").write_text('age,ill\n30,"0\n' + "40,1\n" * 100)
    ended = started("data", "shard", "table", "open.csv", *TABLE, "--out", "s")
    assert "EOF inside string starting at row 1" in one_sentence(ended.stderr)
    with zipfile.ZipFile(place / "bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        header = np.lib.format.header_data_from_array_1_0(np.zeros((0, 1, 1)))
        with archive.open("images.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array_header_1_0(member, header | {"shape": (257 << 17, 8, 1)})
            for _ in range(257):
                member.write(bytes(8 << 20))
    ended = started("data", "add", "images", "bomb.npz", *CAP)
    assert "arrays must have at most 2,048 MB together, got 2,057 MB" in one_sentence(ended.stderr)


def test_a_key_of_dots_takes_no_memory(capsys, place):
    """Python's parser turned 60 kB of dots into 4 GB."""
    (place / "dots.toml").write_text("a." * 100_000 + "b = 1")
    code, printed = run(capsys, "fit", "--config", "dots.toml")
    assert code == 2
    assert "line 1 of the config dots.toml must have at most 300 dots" in one_sentence(printed.err)


def test_a_table_of_a_million_columns_is_refused_before_pandas_sees_it(capsys, place):
    (place / "wide.csv").write_text("a," * 1_000_000 + "a\n")
    code, printed = run(capsys, "data", "add", "table", "wide.csv", *TABLE, *CAP)
    assert code == 2
    assert "wide.csv must have at most 10,000 columns, got 1,000,001" in one_sentence(printed.err)


def damaged_tables():
    """Tables with a mistake next to a value that no log may show."""
    return {
        "a label": f"age,ill\n30,0\n40,{SECRET}\n",
        "a number": f"age,ill\n30,0\n{SECRET},1\n",
        "another label": "age,ill\n30,0\n40,31415\n",
        "a quote": f'age,ill\n30,0\n40,"{SECRET}\n',
        "a longer row": f"age,ill\n30,0\n40,1,{SECRET}\n",
    }


@pytest.mark.parametrize("command", [["add"], ["shard", "--out", "s"]])
@pytest.mark.parametrize("mistake", damaged_tables())
def test_no_cell_of_a_table_is_printed(capsys, place, command, mistake):
    (place / "rows.csv").write_text(damaged_tables()[mistake])
    given = CAP if command == ["add"] else []
    code, printed = run(capsys, "data", command[0], "table", "rows.csv", *command[1:], *TABLE, *given)
    assert code == 2
    sentence = one_sentence(printed.err)
    assert SECRET not in sentence
    assert "31415" not in sentence
    assert any(place in sentence for place in ("entry 2", "line 3", "row 2"))


def test_rows_of_a_table_that_is_cut_are_counted_from_its_beginning(capsys, place, monkeypatch):
    monkeypatch.setattr("vips_core.records.files.text.CHUNK_BYTES", 100)
    (place / "rows.csv").write_text("age,ill\n" + "30,0\n" * 50 + "30,7\n")
    _, printed = run(capsys, "data", "shard", "table", "rows.csv", "--out", "s", *TABLE)
    assert "labels must be whole numbers from 0 to 1, which entry 51 is not" in printed.err
    (place / "rows.csv").write_text("age,ill\n" + "30,0\n" * 50 + "old,1\n")
    _, printed = run(capsys, "data", "shard", "table", "rows.csv", "--out", "t", *TABLE)
    assert "column 'age' must be numbers, which entry 51 is not" in printed.err


def test_no_name_within_an_archive_or_folder_is_printed(capsys, place):
    with zipfile.ZipFile(place / "scans.npz", "w") as archive:
        for number in range(5000):
            archive.writestr(f"{SECRET} {number}.npy", b"x")
    np.savez(place / "arrays.npz", **{f"{SECRET} {number}": np.zeros(2) for number in range(200)})
    os.mkdir("scans")
    Image.fromarray(np.eye(8, dtype=np.uint8)).save(place / "scans" / f"{SECRET} 1.png")
    (place / "scans" / f"{SECRET} 2.png").write_bytes(b"no image")
    for data, person in (("scans.npz", None), ("arrays.npz", None), ("arrays.npz", "who"), ("scans", None)):
        named = [] if person is None else ["--person", person]
        for kind in ("images", "documents") if data != "scans" else ("images",):
            code, printed = run(capsys, "data", "add", kind, data, *named, *CAP)
            assert code == 2
            assert SECRET not in one_sentence(printed.err)


def test_at_most_three_columns_are_named(capsys, place):
    (place / "rows.csv").write_text(",".join(f"column{n}" for n in range(500)) + "\n" + "1," * 499 + "1\n")
    for arguments in (
        ["table", "rows.csv", *TABLE],
        ["documents", "rows.csv"],
        ["documents", "rows.csv", "--person", "who"],
    ):
        _, printed = run(capsys, "data", "add", *arguments, *CAP)
        assert one_sentence(printed.err).count("column") <= 6
        assert "'column0', 'column1', 'column2' and 497 more" in printed.err


def test_a_sentence_has_at_most_300_characters(capsys, place):
    for arguments in (["data", "budget", "x" * 10_000], ["ledger", "show", "--data", "x" * 10_000]):
        assert main(arguments) == 2
        assert len(one_sentence(capsys.readouterr().err)) == 300
    with pytest.raises(SystemExit):
        main(["data", "budget", "--" + "x" * 10_000])
    assert len(one_sentence(capsys.readouterr().err)) <= 300


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="shows a bar on a terminal")
def test_no_progress_bar_is_left_in_front_of_a_sentence(place):
    (place / "rows.csv").write_text("age,ill\n30,0\n40,old\n")
    command = ["data", "shard", "table", "rows.csv", "--out", "s", *TABLE]
    reader, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    ended = subprocess.run(
        [sys.executable, "-m", "vips_core.cli", *command], stderr=terminal, timeout=SECONDS
    )
    os.close(terminal)
    with open(reader, "rb", buffering=0) as shown:
        printed = shown.read(10_000).decode()
    assert ended.returncode == 2
    bar, wiped, sentence = printed.removesuffix("\r\n").split("\r")[-3:]
    assert "0.00/" in bar
    assert wiped == " " * len(wiped)
    assert sentence.startswith("vips-explorer data: labels must be")
    assert "\n" not in printed.removesuffix("\r\n")


@pytest.fixture
def open_to_all():
    """Make new files readable by everybody by default."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder):
    return {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("open_to_all")
@pytest.mark.parametrize("out", ["mine", "new", "deep/new", "file://{}/address"])
def test_only_their_owner_can_read_shards(capsys, place, out):
    (place / "mine").mkdir(mode=0o755)
    (place / "mine" / "part-000000.parquet").write_text("older, and open to all")
    out = out.format(place)
    code, printed = run(
        capsys, "data", "shard", "table", "rows.csv", "--out", out, *TABLE, "--records-per-shard", 1
    )
    assert code == 0, printed.err
    folder = place / out.removeprefix(f"file://{place}/")
    assert len(list(folder.iterdir())) == 4  # with the manifest, and the digests of people
    assert modes(folder) == {0o600}
    made = {"mine": 0o755, "new": 0o700, "deep/new": 0o700}
    assert folder.stat().st_mode & 0o777 == made.get(out, 0o700)
    assert folder.parent == place or folder.parent.stat().st_mode & 0o777 == 0o700
    assert (
        run(capsys, "data", "add", "table", out, "--epsilon", 1, "--delta", 1e-2, "--reason", "few")[0] == 0
    )


KILLED = """
import os, signal, sys
from vips_core.cli import main
from vips_core.{module} import {name}

def kill(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)

{name}.{function} = kill
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("at", "arguments"),
    [
        (("records.files", "sharding", "_read_bucket"), ["shard", "--out", "s", "--person", "who"]),
        (("store", "pools", "admit"), ["add", "--epsilon", "1", "--delta", "1e-3"]),
    ],
)
def test_a_kill_leaves_no_rows_after_the_next_start(capsys, place, home, monkeypatch, at, arguments):
    rows = [f"{age},{age % 2},{SECRET} {age}" for age in range(20, 60)]
    (place / "rows.csv").write_text("\n".join(["age,ill,who", *rows]))
    system = place / "system"
    system.mkdir()
    monkeypatch.setenv("TMPDIR", str(system))
    module, name, function = at
    code = KILLED.format(module=module, name=name, function=function)
    command = ["data", arguments[0], "table", "rows.csv", *arguments[1:], *TABLE]
    killed = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, timeout=SECONDS)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert list(system.iterdir()) == []
    left = [path for path in (home / "tmp").rglob("*") if path.is_file() and path.stat().st_size]
    assert (left or list((home / "data").iterdir())) != []  # there was something to leave
    assert modes(home / "tmp") | modes(home / "data") == {0o600}
    assert run(capsys, "data", "list")[0] == 0
    assert [path for folder in ("tmp", "data") for path in (home / folder).iterdir()] == []


def test_json_of_a_ledger_is_read_as_before(capsys, place):
    from tests.test_bad_input import ledger

    (place / "ledger.json").write_text(ledger(), encoding="utf-8")
    assert main(["ledger", "check", "ledger.json", "--delta", "1e-5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ledger"]["records"] == 1000
