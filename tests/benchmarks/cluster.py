"""Workers of Dask against threads of one process on the same documents: see `--help`.

python -m tests.benchmarks.cluster --documents 400000 --folder DIR

The same LDA (K = 50, V = 8,000, 100 words) by threads, one and two workers in turns, after the workers have
read their shards, and the LDA of scikit-learn with as many passes and iterations; read the ratios, which are
medians over the rounds, with the lowest and the highest. Those of the clock need a quiet machine. Those of
processor time do not, because what an idle cluster takes, which grows with the clock, is measured and left
out.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

import vips_core as vips
from tests.benchmarks.out_of_core import LENGTH, TOPICS, documents, joined
from vips_core.engines.cluster import client_of
from vips_core.models.check import _equal

SWEEPS = 20


def contender(model, data, plan, threads, client=None):
    """Return a function that trains and returns seconds, processor seconds of all processes, and the fit."""
    few = next(documents(100))
    vips.fit(model, few, plan.replace(records=100, expected_batch=50, steps=1), seed=0, cluster=client)
    vips.fit(model, data, plan.replace(steps=1), seed=0, cluster=client)  # workers read their shards
    idle = 0.0 if client is None else sum(idle_share(client))

    def run():
        os.environ["VIPS_THREADS"] = str(threads)
        start, spent = time.perf_counter(), sum(processor_seconds(client))
        fit = vips.fit(model, data, plan, seed=0, cluster=client)
        seconds, spent = time.perf_counter() - start, sum(processor_seconds(client)) - spent
        return seconds, spent - idle * seconds, fit

    return run


def processor_seconds(client=None):
    """Return processor seconds of this process, with a local cluster's scheduler, and of all workers."""
    workers = {} if client is None else client.run(time.process_time)
    return time.process_time(), sum(workers.values())


def idle_share(client, seconds=5):
    """Return the processors that driver and scheduler, and all workers, take while they wait."""
    start, before = time.perf_counter(), processor_seconds(client)
    time.sleep(seconds)
    after, clock = processor_seconds(client), time.perf_counter() - start
    return tuple((end - begin) / clock for begin, end in zip(before, after, strict=True))


def peer(corpus, passes, batches, processes):
    """Train scikit-learn's online LDA in this many processes; return seconds."""
    from scipy import sparse
    from sklearn.decomposition import LatentDirichletAllocation

    shape = (len(corpus), len(corpus.vocabulary))
    counts = sparse.csr_matrix((corpus.counts, corpus.indices, corpus.indptr), shape)
    lda = LatentDirichletAllocation(
        TOPICS, learning_method="online", batch_size=len(corpus) // batches, max_iter=passes, n_jobs=processes
    )
    lda.set_params(max_doc_update_iter=SWEEPS, mean_change_tol=1e-12, random_state=0)
    start = time.perf_counter()
    lda.fit(counts)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=40_000)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--batches", type=int, default=4, help="batches per pass")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer-documents", type=int, default=10_000, help="for scikit-learn; 0 skips it")
    parser.add_argument("--folder", type=Path, required=True, help="for the shards; made where missing")
    options = parser.parse_args()
    folder = options.folder / str(options.documents)
    if not folder.exists():
        vips.Sharded.write(folder, documents(options.documents))
    data = vips.Sharded.open(folder)
    model = vips.LDA(TOPICS, data.vocabulary, LENGTH, variant="paper", sweeps=SWEEPS, tolerance=0.0)
    plan = vips.PrivacyPlan(
        records=len(data),
        expected_batch=len(data) // options.batches,
        steps=options.batches * options.passes,
        noise_multiplier=1.0,
        delta=1e-9,
    )
    with client_of("local[1]") as one, client_of("local[2]") as two:
        contenders = {
            "1 thread": contender(model, data, plan, 1),
            "2 threads": contender(model, data, plan, 2),
            "1 worker": contender(model, data, plan, 2, one),
            "2 workers": contender(model, data, plan, 2, two),
        }
        # Contenders take turns, so that other load affects all equally.
        rounds = [[run() for run in contenders.values()] for _ in range(options.rounds)]
    work = options.passes * len(data)
    speed, processor = (
        {name: [work / row[place][which] for row in rounds] for place, name in enumerate(contenders)}
        for which in (0, 1)
    )
    fits = [fit for row in rounds for _, _, fit in row]
    for name in contenders:
        clock, own = np.median(speed[name]), np.median(processor[name])
        print(f"{name:<28}{clock:>12,.0f} documents a second{own:>12,.0f} a processor second")
    for one, other in (("2 workers", "2 threads"), ("2 workers", "1 worker"), ("2 threads", "1 thread")):
        ratios = (np.divide(of[one], of[other]) for of in (speed, processor))
        told = (f"{np.median(ratio):.2f} ({ratio.min():.2f} to {ratio.max():.2f})" for ratio in ratios)
        print("{} over {}: {}, a processor second {}".format(one, other, *told))
    if options.peer_documents:
        corpus = joined([records for _, records in data.loaded()])
        corpus = corpus[np.arange(len(corpus)) < options.peer_documents]
        others = options.passes * len(corpus) / peer(corpus, options.passes, options.batches, 2)
        ratio = np.median(speed["2 workers"]) / others
        print(f"{'scikit-learn, 2 processes':<28}{others:>12,.0f} documents a second")
        print(f"2 workers over scikit-learn: {ratio:.1f}")
    print("the same bits:", all(_equal(fits[0].params, fit.params) for fit in fits))


if __name__ == "__main__":
    main()
