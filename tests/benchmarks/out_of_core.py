"""Documents that do not fit in memory, against the engine that holds them: see `--help`.

python -m tests.benchmarks.out_of_core --documents 5000000 --folder DIR

Two passes of LDA (K = 50, V = 8,000, 100 words) over generated documents in shards, in a process of its own
whose peak memory is printed, and over fewer documents in memory; read the ratio.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import vips_core as vips

TOPICS, WORDS, LENGTH, TOPICS_OF_DOCUMENT = 50, 8000, 100, 5
CHUNK = 25_000


def documents(count, seed=0):
    """Yield chunks of documents of a few topics each."""
    rng = np.random.default_rng(seed)
    beta = np.cumsum(rng.dirichlet(np.full(WORDS, 0.05), TOPICS), axis=1)
    names = [f"w{v}" for v in range(WORDS)]
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        own = rng.integers(TOPICS, size=(size, TOPICS_OF_DOCUMENT))
        topic = np.take_along_axis(own, rng.integers(TOPICS_OF_DOCUMENT, size=(size, LENGTH)), axis=1)
        word, draws = np.empty((size, LENGTH), np.int64), rng.random((size, LENGTH))
        for k in range(TOPICS):
            mine = topic == k
            word[mine] = np.minimum(np.searchsorted(beta[k], draws[mine]), WORDS - 1)
        keys, counts = np.unique(np.arange(size)[:, None] * WORDS + word, return_counts=True)
        ends = np.cumsum(np.bincount(keys // WORDS, minlength=size))
        yield vips.Documents(np.concatenate([[0], ends]), keys % WORDS, counts, names)


def train(folder, passes, in_memory, steps):
    """Train, and return seconds, documents per second and peak memory."""
    data = vips.Sharded.open(folder)
    vocabulary = data.vocabulary
    if in_memory:
        data = joined([records for _, records in data.loaded()])
    model = vips.LDA(TOPICS, vocabulary, LENGTH, variant="paper")
    batch = -(-passes * len(data) // steps)
    plan = vips.PrivacyPlan(
        records=len(data), expected_batch=batch, steps=steps, noise_multiplier=1.0, delta=1e-9
    )
    few = next(documents(100))
    vips.fit(model, few, plan.replace(records=100, expected_batch=50, steps=1), seed=0)  # compiles
    start, processor = time.perf_counter(), time.process_time()
    vips.fit(model, data, plan, seed=0)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    return {
        "documents": len(data),
        "seconds": seconds,
        "documents per second": passes * len(data) / seconds,
        "documents per processor second": passes * len(data) / processor,
        "peak GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def joined(corpora):
    ends = np.cumsum([0, *(corpus.indptr[-1] for corpus in corpora)])
    indptr = [corpus.indptr[:-1] + start for corpus, start in zip(corpora, ends[:-1], strict=True)]
    indices, counts = (np.concatenate([getattr(c, name) for c in corpora]) for name in ("indices", "counts"))
    return vips.Documents(np.concatenate([*indptr, ends[-1:]]), indices, counts, corpora[0].vocabulary)


def in_a_process(folder, passes, in_memory, steps):
    code = (
        "import json; from tests.benchmarks.out_of_core import train; "
        f"print(json.dumps(train({str(folder)!r}, {passes}, {in_memory}, {steps})))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--in-memory", type=int, default=100_000, help="documents for the engine in memory")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--folder", type=Path, required=True, help="for the shards; made where missing")
    options = parser.parse_args()
    for name in ("documents", "in_memory"):
        folder = options.folder / str(getattr(options, name))
        if not folder.exists():
            start = time.perf_counter()
            vips.Sharded.write(folder, documents(getattr(options, name)))
            print(f"{folder.name} documents written in {time.perf_counter() - start:.0f} s", flush=True)
    results = {}
    for name, in_memory in (("in_memory", True), ("documents", False)):
        folder = options.folder / str(getattr(options, name))
        label = "in memory" if in_memory else "out of core"
        results[label] = in_a_process(folder, options.passes, in_memory, options.steps)
        print(label, {key: round(value, 2) for key, value in results[label].items()}, flush=True)
    for key in ("documents per second", "documents per processor second"):
        print(f"{key}: ratio {results['out of core'][key] / results['in memory'][key]:.3f}")


if __name__ == "__main__":
    main()
