"""One person against one row as the protected unit: python -m tests.benchmarks.persons

A corpus in which few authors wrote most documents, and a panel in which persons have several rows, both
generated. At the same ε: rows protected one by one, as where no column names the person; persons, each of
them one record; and rows with as much extra noise as that promise needs for the person with the most rows.
Held-out documents and rows are other persons', scored one by one.
"""

import argparse

import numpy as np

import vips_core as vips
from sample_data import generate
from vips_core.models.lda.scores import unigram_perplexity

FEATURES = tuple(["intercept", *(f"x{number}" for number in range(15))])


def prolific(rng, persons, rows):
    """Draw each row's person: everyone has one row, and a few have most of the others."""
    weight = 1 / np.arange(1, persons + 1)
    return np.concatenate([np.arange(persons), rng.choice(persons, rows - persons, p=weight / weight.sum())])


def corpus(options, seed):
    """Return documents one by one, the same as one bag of words per author, and documents of others."""
    count, held_out = options.documents, options.documents // 5
    texts, _ = generate.corpus(count + held_out, 60, topics=options.topics, vocabulary_size=1500, seed=seed)
    of_train = np.arange(count + held_out) < count
    documents = texts[of_train]
    owners = prolific(np.random.default_rng(seed), options.authors, count)
    by_author = vips.Documents.concatenated([documents], owners)
    return documents, by_author, texts[~of_train], np.bincount(owners).max()


def panel(options, seed):
    """Return rows one by one, the same by person, and rows of other persons.

    A person's rows resemble each other, and share what no column says: a random intercept.
    """
    rng = np.random.default_rng(seed)
    count, held_out = options.rows, options.rows // 5
    owners = prolific(rng, options.persons, count)
    owners = np.concatenate([owners, options.persons + np.arange(held_out)])
    people = options.persons + held_out
    level, typical = rng.normal(0, 0.7, people), rng.random((people, len(FEATURES) - 1))
    own = rng.random((len(owners), len(FEATURES) - 1))
    x = np.column_stack([np.ones(len(owners)), 0.6 * typical[owners] + 0.4 * own])
    weights = rng.normal(0, 2.5, len(FEATURES) - 1)
    psi = (x[:, 1:] - 0.5) @ weights + level[owners] - 1
    y = rng.random(len(owners)) < 1 / (1 + np.exp(-psi))

    def rows(chosen, persons=None):
        return vips.Table(x[chosen], y[chosen], FEATURES, 4.0, persons=persons)

    train = np.arange(len(owners)) < count
    return rows(train), rows(train, owners[train]), rows(~train), np.bincount(owners).max()


def scores(model, records, plan, score, seeds):
    return [score(vips.fit(model, records, plan, seed=seed)) for seed in range(seeds)]


def compare(title, unit, model, data, score, options):
    """Print the table of one kind of data."""
    rows, persons, _, most = data
    print(f"\n{title}: {len(rows):,} {unit}s of {len(persons):,} persons, {most} of one of them")
    print(f"{'ε':>5}  {f'one {unit}':>18}  {'one person':>18}  {f'one {unit}, noise × {most}':>24}")
    for epsilon in options.epsilon:
        cells = []
        for records, factor in ((rows, 1), (persons, 1), (rows, most)):
            plan = model.recommend(records=len(records), epsilon=epsilon, delta=options.delta, epochs=16)
            if (
                factor > 1 and plan.sampling_rate < 1
            ):  # only on full batches do k rows of a person move sums k times as far
                cells.append("–")
                continue
            plan = plan.replace(noise_multiplier=factor * plan.noise_multiplier)
            values = scores(model, records, plan, score, options.seeds)
            cells.append(f"{np.mean(values):.4g} ± {np.std(values):.2g}")
        print(f"{epsilon:5g}  {cells[0]:>18}  {cells[1]:>18}  {cells[2]:>24}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--authors", type=int, default=4_000)
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--persons", type=int, default=10_000)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 4.0])
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    texts = corpus(options, 0)
    unigram = np.bincount(texts[0].indices, texts[0].counts, len(texts[0].vocabulary))
    model = vips.LDA(options.topics, texts[0].vocabulary, 60)
    compare(
        "Completion perplexity (smaller is better; unigram "
        f"{unigram_perplexity(unigram, texts[2], 'completion'):.0f})",
        "document",
        model,
        texts,
        lambda fit: vips.perplexity(fit, texts[2]),
        options,
    )
    table = panel(options, 0)
    compare(
        "AUC (larger is better)",
        "row",
        vips.BayesianLogistic(FEATURES, 4.0),
        table,
        lambda fit: vips.auc(fit, table[2]),
        options,
    )


if __name__ == "__main__":
    main()
