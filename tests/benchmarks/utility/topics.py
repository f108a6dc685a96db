"""Score topic models on the bench's texts; a second call continues where the first stopped.

VIPS_BENCH_WIKIPEDIA=wikipedia_100k.npz python -m tests.benchmarks.utility.topics topics.csv --seeds 3
python -m tests.benchmarks.utility.topics topics.csv --data debian newsgroups --methods refined
python -m tests.benchmarks.utility.topics topics.csv --table   # and where non-private is behind its peers

The score is the completion perplexity of held-out documents: lower is better. Methods with "distinct" score
the percentage of different words among the topics' first ten instead: higher is better. `gap` is a private
method's distance to non-private, over the paper's distance at the same ε, both by PLD, δ = 1e-4.

The paper's variant makes one pass in batches of 5 %, or 20 full batches ("paper, 20 passes"). Refined and
non-private take 20 passes. "Without vectors" marks every word, so none has a vector or a rank in English.
Non-private training uses neither, because exact counts are not shrunk: its row is the same with and without.
"""

import functools
import importlib.util
import math

import numpy as np
import pandas as pd

import vips_core as vips
from tests.benchmarks.utility import texts
from tests.benchmarks.utility.private_and_not import NOT_PRIVATE, Bench, main
from vips_core.models.lda.model import LDA, measured_topics, topic_words
from vips_core.models.lda.scores import perplexity, topic_perplexity, unigram_perplexity
from vips_core.models.lda.task import UNCUT_WORDS
from vips_core.records import Documents

DELTA = 1e-4
TOPICS, TOO_MANY = 20, 100
PASSES = 20
PAPER_BATCH = 0.05
SCIKIT_LEARN, TOMOTOPY = "scikit-learn", "tomotopy"
TOLERANCES = {SCIKIT_LEARN: 0.01, TOMOTOPY: 0.05}
GIBBS_SWEEPS = 500
FIRST_WORDS = 10


def unigram(name: str, train: Documents, test: Documents, epsilon: float, seed: int) -> float:
    """One distribution of words for all documents, known exactly."""
    return unigram_perplexity(np.bincount(train.indices, train.counts, len(train.vocabulary)), test)


@functools.lru_cache(1)  # perplexity and distinct words score the same fit
def fitted(topics: int, vectors: bool, name: str, train: Documents, epsilon: float, seed: int) -> vips.Fit:
    """Fit the refined variant with its own plan; without noise, clipping or shortening if ε is infinite."""
    vocabulary = train.vocabulary if vectors else marked(train).vocabulary
    if math.isinf(epsilon):
        model = LDA(topics, vocabulary, UNCUT_WORDS, clip=1.0)
        plan = vips.PrivacyPlan(
            records=len(train), expected_batch=len(train), steps=PASSES, noise_multiplier=0, delta=DELTA
        )
    else:
        model = LDA(topics, vocabulary, texts.WORDS[name])
        plan = model.recommend(records=len(train), epsilon=epsilon, delta=DELTA, epochs=PASSES)
    return vips.fit(model, train if vectors else marked(train), plan, seed=seed)


def marked(corpus: Documents) -> Documents:
    """Return a corpus whose words are in no list of public words."""
    vocabulary = tuple(f"{word}¤" for word in corpus.vocabulary)
    return Documents(corpus.indptr, corpus.indices, corpus.counts, vocabulary)


def refined(
    topics: int, vectors: bool, name: str, train: Documents, test: Documents, epsilon: float, seed: int
) -> float:
    """The refined variant, with or without noise."""
    fit = fitted(topics, vectors, name, train, epsilon, seed)
    return perplexity(fit, test if vectors else marked(test))


def distinct(
    topics: int, vectors: bool, name: str, train: Documents, test: Documents, epsilon: float, seed: int
) -> float:
    """Percentage of different words among the first ten of all topics that the refined variant found."""
    fit = fitted(topics, vectors, name, train, epsilon, seed)
    first = np.argsort(-topic_words(fit)[: measured_topics(fit)], axis=1, kind="stable")[:, :FIRST_WORDS]
    return 100 * len(np.unique(first)) / first.size


def paper(
    accountant: str, passes: int, name: str, train: Documents, test: Documents, epsilon: float, seed: int
) -> float:
    """The paper's variant in batches of 5 % or in full batches, its noise calibrated by an accountant."""
    model = LDA(TOPICS, train.vocabulary, texts.WORDS[name], variant="paper")
    batch = round(PAPER_BATCH * len(train)) if passes == 1 else len(train)
    plan = vips.PrivacyPlan(records=len(train), expected_batch=batch, epochs=passes, delta=DELTA)
    return perplexity(vips.fit(model, train, plan.calibrate(epsilon, accountant), seed=seed), test)


def tomotopy(name: str, train: Documents, test: Documents, epsilon: float, seed: int) -> float:
    """tomotopy's collapsed Gibbs sampler with its learned α."""
    import tomotopy as tp

    model = tp.LDAModel(k=TOPICS, seed=seed)
    for start, stop in zip(train.indptr, train.indptr[1:], strict=False):
        tokens = np.repeat(train.indices[start:stop], train.counts[start:stop])
        if len(tokens):
            model.add_doc([str(token) for token in tokens])
    model.train(GIBBS_SWEEPS, workers=1)
    lam, used = np.full((TOPICS, len(train.vocabulary)), model.eta), [int(word) for word in model.used_vocabs]
    for k, count in enumerate(model.get_count_by_topics()):
        lam[k, used] = np.array(model.get_topic_word_dist(k)) * (count + model.eta * len(used))
    return topic_perplexity(lam, model.alpha, test)


def scikit_learn(name: str, train: Documents, test: Documents, epsilon: float, seed: int) -> float:
    """scikit-learn's batch LDA with the same number of passes."""
    from scipy import sparse
    from sklearn.decomposition import LatentDirichletAllocation

    shape = len(train), len(train.vocabulary)
    matrix = sparse.csr_matrix((train.counts, train.indices, train.indptr), shape)
    model = LatentDirichletAllocation(TOPICS, learning_method="batch", max_iter=PASSES, random_state=seed)
    return topic_perplexity(model.fit(matrix).components_, 1 / TOPICS, test)


def behind_peers(results: pd.DataFrame) -> str:
    """Name the texts on which non-private training is further behind a peer than is tolerated."""
    scores = results.pivot_table("score", ["data", "seed"], "method")
    lines = []
    for peer, tolerance in TOLERANCES.items():
        if {NOT_PRIVATE, peer} <= set(scores.columns):
            means = scores[[NOT_PRIVATE, peer]].dropna().groupby("data").mean()  # over the same splits
            excess = means[NOT_PRIVATE] / means[peer] - 1
            behind = ", ".join(excess.index[excess > tolerance]) or "none"
            lines.append(f"non-private > {tolerance:.0%} behind {peer}: {behind}, of {len(excess)} compared")
    return "\n".join(lines)


BENCH = Bench(
    texts.NAMES,
    texts.split,
    public={
        "unigram": unigram,
        NOT_PRIVATE: functools.partial(refined, TOPICS, True),
        f"{NOT_PRIVATE}, distinct": functools.partial(distinct, TOPICS, True),
        f"{NOT_PRIVATE}, K = {TOO_MANY}": functools.partial(refined, TOO_MANY, True),
        SCIKIT_LEARN: scikit_learn,
        **({TOMOTOPY: tomotopy} if importlib.util.find_spec(TOMOTOPY) else {}),
    },
    private={
        "refined": functools.partial(refined, TOPICS, True),
        "refined, distinct": functools.partial(distinct, TOPICS, True),
        "refined, without vectors": functools.partial(refined, TOPICS, False),
        "refined, without vectors, distinct": functools.partial(distinct, TOPICS, False),
        "paper": functools.partial(paper, "pld", 1),
        f"paper, {PASSES} passes": functools.partial(paper, "pld", PASSES),
        "strong": functools.partial(paper, "strong", 1),
        f"refined, K = {TOO_MANY}": functools.partial(refined, TOO_MANY, True),
    },
    epsilons=(0.25, 0.5, 1.0, 2.44, 8.0),
    decimals=0,
    verdict=behind_peers,
)


if __name__ == "__main__":
    main(BENCH, __doc__)
