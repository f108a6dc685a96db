"""Score topic models on the bench's texts; a second call continues where the first stopped.

VIPS_BENCH_WIKIPEDIA=wikipedia_100k.npz python -m tests.benchmarks.utility.topics topics.csv --seeds 3
python -m tests.benchmarks.utility.topics topics.csv --data debian newsgroups --methods refined
python -m tests.benchmarks.utility.topics topics.csv --table   # and where non-private is behind scikit-learn

The score is the completion perplexity of held-out documents: lower is better. `gap` is a private method's
distance to non-private, over the paper's distance at the same ε, both by PLD, δ = 1e-4. The paper's variant
makes one pass in batches of 5 %; refined and non-private take 20 passes.
"""

import functools

import numpy as np
import pandas as pd

import vips_core as vips
from tests.benchmarks.utility import texts
from tests.benchmarks.utility.private_and_not import NOT_PRIVATE, Bench, main
from vips_core.models.lda.model import LDA
from vips_core.models.lda.scores import perplexity, topic_perplexity, unigram_perplexity
from vips_core.models.lda.task import UNCUT_WORDS
from vips_core.records import Documents

DELTA = 1e-4
TOPICS, TOO_MANY = 20, 100
PASSES = 20
PAPER_BATCH = 0.05
SCIKIT_LEARN, TOLERANCE = "scikit-learn", 0.01


def unigram(name: str, train: Documents, test: Documents, epsilon: float, seed: int) -> float:
    """One distribution of words for all documents, known exactly."""
    return unigram_perplexity(np.bincount(train.indices, train.counts, len(train.vocabulary)), test)


def refined(topics: int, name: str, train: Documents, test: Documents, epsilon: float, seed: int) -> float:
    """The refined variant with its own plan."""
    model = LDA(topics, train.vocabulary, texts.WORDS[name])
    plan = model.recommend(records=len(train), epsilon=epsilon, delta=DELTA, epochs=PASSES)
    return perplexity(vips.fit(model, train, plan, seed=seed), test)


def paper(accountant: str, name: str, train: Documents, test: Documents, epsilon: float, seed: int) -> float:
    """The paper's variant, its noise calibrated by an accountant."""
    model = LDA(TOPICS, train.vocabulary, texts.WORDS[name], variant="paper")
    plan = vips.PrivacyPlan(
        records=len(train), expected_batch=round(PAPER_BATCH * len(train)), epochs=1, delta=DELTA
    ).calibrate(epsilon, accountant)
    return perplexity(vips.fit(model, train, plan, seed=seed), test)


def not_private(
    topics: int, name: str, train: Documents, test: Documents, epsilon: float, seed: int
) -> float:
    """The refined variant without noise, clipping or shortening."""
    model = LDA(topics, train.vocabulary, UNCUT_WORDS, clip=1.0)
    plan = vips.PrivacyPlan(
        records=len(train), expected_batch=len(train), steps=PASSES, noise_multiplier=0, delta=DELTA
    )
    return perplexity(vips.fit(model, train, plan, seed=seed), test)


def scikit_learn(name: str, train: Documents, test: Documents, epsilon: float, seed: int) -> float:
    """scikit-learn's batch LDA with the same number of passes."""
    from scipy import sparse
    from sklearn.decomposition import LatentDirichletAllocation

    shape = len(train), len(train.vocabulary)
    matrix = sparse.csr_matrix((train.counts, train.indices, train.indptr), shape)
    model = LatentDirichletAllocation(TOPICS, learning_method="batch", max_iter=PASSES, random_state=seed)
    return topic_perplexity(model.fit(matrix).components_, 1 / TOPICS, test)


def behind_scikit_learn(results: pd.DataFrame) -> str:
    """Name the texts on which non-private training is more than `TOLERANCE` worse at equal passes."""
    scores = results.pivot_table("score", ["data", "seed"], "method")
    if not {NOT_PRIVATE, SCIKIT_LEARN} <= set(scores.columns):
        return ""
    means = scores[[NOT_PRIVATE, SCIKIT_LEARN]].dropna().groupby("data").mean()  # over the same splits
    excess = means[NOT_PRIVATE] / means[SCIKIT_LEARN] - 1
    behind = ", ".join(excess.index[excess > TOLERANCE]) or "none"
    return f"non-private more than {TOLERANCE:.0%} behind scikit-learn: {behind}, of {len(excess)} compared"


BENCH = Bench(
    texts.NAMES,
    texts.split,
    public={
        "unigram": unigram,
        NOT_PRIVATE: functools.partial(not_private, TOPICS),
        f"{NOT_PRIVATE}, K = {TOO_MANY}": functools.partial(not_private, TOO_MANY),
        SCIKIT_LEARN: scikit_learn,
    },
    private={
        "refined": functools.partial(refined, TOPICS),
        "paper": functools.partial(paper, "pld"),
        "strong": functools.partial(paper, "strong"),
        f"refined, K = {TOO_MANY}": functools.partial(refined, TOO_MANY),
    },
    epsilons=(0.25, 0.5, 1.0, 2.44, 8.0),
    decimals=0,
    verdict=behind_scikit_learn,
)


if __name__ == "__main__":
    main(BENCH, __doc__)
