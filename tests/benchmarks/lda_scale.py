"""Time and memory of one epoch at the paper's scale: python -m tests.benchmarks.lda_scale

400,000 generated documents of 500 words, V = 8,000, K = 50, batches of 20,000 with the paper's noise.
"""

import argparse
import resource
import time

import numpy as np

import vips_core as vips
from vips_core.models.lda import paper
from vips_core.records import Documents

TOPICS, WORDS, LENGTH = 50, 8000, 500


def generated(documents, rng):
    """Return documents of a few topics each, drawn in parts so that nothing dense is held."""
    beta = np.cumsum(rng.dirichlet(np.full(WORDS, 0.05), TOPICS), axis=1)
    indices, counts, sizes = [], [], [0]
    for start in range(0, documents, 1000):
        size = min(1000, documents - start)
        topic = np.concatenate([rng.choice(TOPICS, 5)[rng.choice(5, LENGTH)] for _ in range(size)])
        draws = rng.random(size * LENGTH)
        word = np.empty(size * LENGTH, np.int64)
        for k in range(TOPICS):
            word[topic == k] = np.searchsorted(beta[k], draws[topic == k])
        keys, count = np.unique(
            np.repeat(np.arange(size), LENGTH) * WORDS + np.minimum(word, WORDS - 1), return_counts=True
        )
        indices.append((keys % WORDS).astype(np.int32))
        counts.append(count.astype(np.int32))
        sizes.extend(np.bincount(keys // WORDS, minlength=size))
    names = [f"w{v}" for v in range(WORDS)]
    return Documents(np.cumsum(sizes), np.concatenate(indices), np.concatenate(counts), names)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=400_000)
    parser.add_argument("--sweeps", type=int, default=20)
    options = parser.parse_args()
    corpus = generated(options.documents, np.random.default_rng(0))
    print(f"{options.documents} documents, {len(corpus.indices)} entries; peak so far {peak():.2f} GB")
    spent = []
    inner = paper.topic_word_sums

    def timed(*arguments, **named):
        start = time.perf_counter()
        result = inner(*arguments, **named)
        spent.append(time.perf_counter() - start)
        return result

    paper.topic_word_sums = timed
    model = vips.LDA(TOPICS, corpus.vocabulary, LENGTH, variant="paper", sweeps=options.sweeps, tolerance=0.0)
    plan = vips.PrivacyPlan(
        records=len(corpus), expected_batch=len(corpus) // 20, epochs=1, noise_multiplier=1.24, delta=1e-6
    )
    start = time.perf_counter()
    vips.fit(model, corpus, plan, seed=0)
    total = time.perf_counter() - start
    print(f"one epoch: {total:.1f} s, E-steps {sum(spent):.1f} s ({len(spent)} steps); peak {peak():.2f} GB")


if __name__ == "__main__":
    main()
