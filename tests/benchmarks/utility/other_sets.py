"""Score methods on the development sets, or once on the fresh ones; what follows is as in the model's bench.

export VIPS_BENCH_DATA=FOLDER   # after python -m tests.benchmarks.utility.fetch FOLDER
python -m tests.benchmarks.utility.other_sets development logistic tables.csv --methods refined
python -m tests.benchmarks.utility.other_sets development topics texts.csv --data titles --seeds 1
python -m tests.benchmarks.utility.other_sets fresh networks images.csv
python -m tests.benchmarks.utility.other_sets fresh logistic tables.csv --standing
"""

import argparse
import sys
from dataclasses import replace

from tests.benchmarks.utility import (
    coverage,
    development_images,
    development_tables,
    development_texts,
    fresh_images,
    fresh_tables,
    fresh_texts,
    networks,
    private_and_not,
    run,
    texts,
    topics,
)

SETS = {
    ("development", "logistic"): development_tables,
    ("development", "coverage"): development_tables,
    ("development", "topics"): development_texts,
    ("development", "networks"): development_images,
    ("fresh", "logistic"): fresh_tables,
    ("fresh", "coverage"): fresh_tables,
    ("fresh", "topics"): fresh_texts,
    ("fresh", "networks"): fresh_images,
}


def main() -> None:
    """Take the set and the model, and leave the other arguments to the model's bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("set", choices=("development", "fresh"))
    parser.add_argument("model", choices=("logistic", "coverage", "topics", "networks"))
    chosen = parser.parse_args(sys.argv[1:3])
    del sys.argv[1:3]
    data = SETS[chosen.set, chosen.model]
    if chosen.model in ("logistic", "coverage"):
        {"logistic": run, "coverage": coverage}[chosen.model].main(data)
        return
    texts.WORDS.update(development_texts.WORDS | fresh_texts.WORDS)  # where `topics` looks N up
    bench = {"topics": topics, "networks": networks}[chosen.model].BENCH
    private_and_not.main(replace(bench, names=data.NAMES, split=data.split), __doc__)


if __name__ == "__main__":
    main()
