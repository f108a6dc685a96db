"""Table 1 of the paper on other corpora: python -m tests.benchmarks.lda_table [--data COUNTS.npz]

The ten likeliest words, with probabilities, of the three non-private topics most coherent on held-out
documents, and of the topics that match them: moments accountant (σ = 1.24, 5 % batches, one epoch), strong
composition at the same ε, and refined at the same ε. Peak memory is that of the whole process.
"""

import resource

import numpy as np

import vips_core as vips
from tests.benchmarks.lda_utility import PAPER_NOISE, STRONG_NOISE, load, parser_of, uncut
from vips_core.models.lda.model import LDA


def main():
    options = parser_of(__doc__).parse_args()
    corpus = load(options.data)
    train, test = corpus.split(options.held_out / len(corpus), 0)
    size = {"topics": options.topics, "vocabulary": corpus.vocabulary}
    refined = LDA(**size, words_per_document=options.words)
    paper = LDA(**size, words_per_document=options.words, variant="paper")
    fifth = vips.PrivacyPlan(
        records=len(train), expected_batch=round(0.05 * len(train)), epochs=1, delta=options.delta
    )
    best = vips.recommend(
        refined, records=len(train), epsilon=options.epsilon, delta=options.delta, epochs=20
    )
    runs = {
        "non-private": (uncut(**size), best.replace(noise_multiplier=0)),
        "moments": (paper, fifth.replace(noise_multiplier=PAPER_NOISE)),
        "strong": (paper, fifth.replace(noise_multiplier=STRONG_NOISE)),
        "refined": (refined, best),
    }
    fits = {name: vips.fit(model, train, plan, seed=0) for name, (model, plan) in runs.items()}
    first = vips.topic_words(fits["non-private"])
    chosen = np.argsort(-vips.npmi_coherence(first, test))[:3]
    tables = {}
    for name, fit in fits.items():
        partner, overlap = vips.match_topics(first, vips.topic_words(fit))
        tables[name] = [(vips.top_words(fit)[partner[k]], overlap[k]) for k in chosen]
    for number, topic in enumerate(chosen):
        print(f"\ntopic {topic}" + "".join(f"{name:>26}" for name in tables))
        print("overlap " + "".join(f"{table[number][1]:26.2f}" for table in tables.values()))
        for rank in range(10):
            cells = [table[number][0][rank] for table in tables.values()]
            print("        " + "".join(f"{word:>18} {probability:.5f}" for word, probability in cells))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n{len(train)} documents, {len(train.indices)} entries: peak memory of all runs {peak:.2f} GB")


if __name__ == "__main__":
    main()
