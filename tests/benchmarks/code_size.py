"""Count the product's code, so that a redesign can be compared with what it replaced.

python -m tests.benchmarks.code_size            # the files of this checkout
python -m tests.benchmarks.code_size 77ea2a9    # those of a commit

Code lines are lines without comments, docstrings and blanks. `walks` counts modules at run time.
"""

import argparse
import ast
import io
import statistics
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("vips_core", "dashboard", "sample_data")
SHORT = 40  # lines: a shorter module needs a reason to exist
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def sources(commit: str | None) -> dict[str, str]:
    """Return the product's Python files, of the checkout or of a commit."""
    if commit is None:
        names = _git("ls-files", "--cached", "--others", "--exclude-standard", "--", *PACKAGES)
        return {name: (ROOT / name).read_text(encoding="utf-8") for name in names if (ROOT / name).exists()}
    names = _git("ls-tree", "-r", "--name-only", commit, "--", *PACKAGES)
    return {name: "\n".join(_git("show", f"{commit}:{name}", every=True)) for name in names}


def code_lines(source: str) -> int:
    """Count the lines that hold code."""
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - set(_docstring_lines(ast.parse(source))))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            yield from range(text.lineno, text.end_lineno + 1)


def _git(*arguments: str, every: bool = False) -> list[str]:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    return lines if every else [name for name in lines if name.endswith(".py")]


def main() -> None:
    """Print files, lines, code lines and lengths of modules, by package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", nargs="?")
    files = sources(parser.parse_args().commit)
    print(f"{'':12} files  lines   code  median  longest  below {SHORT}")
    for package in (*PACKAGES, "all"):
        chosen = {name: text for name, text in files.items() if package in (name.split("/")[0], "all")}
        lengths = [
            len(text.splitlines()) for name, text in chosen.items() if not name.endswith("__init__.py")
        ]
        print(
            f"{package:12} {len(chosen):5} {sum(len(text.splitlines()) for text in chosen.values()):6} "
            f"{sum(map(code_lines, chosen.values())):6} {statistics.median(lengths):7g} {max(lengths):8} "
            f"{sum(length < SHORT for length in lengths):9}"
        )


if __name__ == "__main__":
    main()
