"""Generators of data with known truth, of any size, reproducible by seed."""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse
from scipy.special import expit

import sample_data
from sample_data.themes import THEMES
from vips_core import validate
from vips_core.kernels import Array
from vips_core.records import Documents, Images, Table

TOPIC_CONCENTRATION = 0.1  # Dirichlet parameter of each topic in a document: small, for few topics
THEME_MASS = 0.6  # share of a topic's words that come from its theme; the rest are common words
# Records drawn at a time, to bound memory. Changing a value changes the data of every seed.
DOCUMENT_CHUNK, PATIENT_CHUNK, IMAGE_CHUNK = 4_000, 1_000, 1_000
SIDE = 28  # pixels of an image, as in MNIST

AGE_BANDS = {
    "age under 45": 0.15,
    "age 45-54": 0.15,
    "age 55-64": 0.22,
    "age 65-74": 0.25,
    "age 75-84": 0.16,
    "age 85 and over": 0.07,
}
RECORDED_CAP = 97  # most drugs and conditions of a patient that count in full, a public number
COHORT_NORM_BOUND = (RECORDED_CAP + 3) ** 0.5  # norm at the cap, with intercept, sex and age band
POSITIVE_SHARE = 0.14  # expected share of patients with a stroke
RISK_SPREAD = 0.9  # standard deviation of the patients' true log odds
COMORBIDITY_GROUPS = 20  # groups of features that tend to occur together


@dataclass(frozen=True)
class Topics:
    """The truth behind a generated corpus.

    Attributes
    ----------
    names
        The one or two themes of each topic.
    word_probabilities
        Array of (topics, words), whose rows sum to 1.
    """

    names: tuple[str, ...]
    word_probabilities: Array


def corpus(
    documents: int, words_per_document: int, topics: int, vocabulary_size: int, seed: int
) -> tuple[Documents, Topics]:
    """Draw a corpus from latent Dirichlet allocation with readable topics.

    Parameters
    ----------
    documents, words_per_document
        Number of documents, and the length of each.
    topics
        At most 210; the first 20 have one theme each, the others two.
    vocabulary_size
        At least the number of theme words, at most the number of theme words and common English words.
    seed
        The same seed gives the same corpus.

    Returns
    -------
    Documents, Topics
        The documents and their true topics.

    Examples
    --------
    >>> documents, truth = corpus(5, 10, topics=2, vocabulary_size=100, seed=0)
    >>> len(documents), truth.names
    (5, ('health', 'law'))
    """
    for name, size in (("documents", documents), ("words_per_document", words_per_document)):
        validate.whole(name, size, low=1)
    rng = np.random.default_rng(seed)
    truth, vocabulary = _topics(topics, vocabulary_size, rng)
    cumulative = np.cumsum(truth.word_probabilities, axis=1)
    cumulative[:, -1] = 1.0
    lengths, indices, counts = [], [], []
    for start in range(0, documents, DOCUMENT_CHUNK):
        rows = min(DOCUMENT_CHUNK, documents - start)
        mixtures = rng.dirichlet(np.full(topics, TOPIC_CONCENTRATION), size=rows)
        words_by_topic = rng.multinomial(words_per_document, mixtures)
        cells = [
            np.repeat(np.arange(rows) * vocabulary_size, words_by_topic[:, k])
            + np.searchsorted(cumulative[k], rng.random(words_by_topic[:, k].sum()), side="right")
            for k in range(topics)
        ]
        cell, count = np.unique(np.concatenate(cells), return_counts=True)
        lengths.append(np.bincount(cell // vocabulary_size, minlength=rows))
        indices.append((cell % vocabulary_size).astype(np.int32))
        counts.append(count.astype(np.int32))
    indptr = np.concatenate([[0], *lengths]).cumsum()
    return Documents(indptr, _joined(indices), _joined(counts), vocabulary), truth


def _joined(chunks: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Join the chunks and empty their list; the result is read-only, so a corpus takes it without a copy."""
    joined = np.concatenate(chunks)
    chunks.clear()
    joined.setflags(write=False)
    return joined


def _topics(topics: int, vocabulary_size: int, rng: np.random.Generator) -> tuple[Topics, tuple[str, ...]]:
    """Draw topics with one theme each and, after all themes are used, with halves of two themes each."""
    pairs = [(name,) for name in THEMES] + list(itertools.combinations(THEMES, 2))
    validate.whole("topics", topics, low=1, high=len(pairs))
    chosen = pairs[:topics]
    theme_words = dict.fromkeys(word for names in chosen for name in names for word in THEMES[name])
    vocabulary = tuple(dict.fromkeys([*theme_words, *sample_data.english_words()]))
    validate.whole("vocabulary_size", vocabulary_size, low=len(theme_words), high=len(vocabulary))
    vocabulary = vocabulary[:vocabulary_size]
    number = {word: index for index, word in enumerate(vocabulary)}
    # Common words: Zipf's law over a shuffled vocabulary, perturbed for each topic.
    common = rng.permutation(1.0 / (10.0 + np.arange(vocabulary_size)))
    beta = common * rng.gamma(0.5, size=(topics, vocabulary_size))
    beta *= (1 - THEME_MASS) / beta.sum(axis=1, keepdims=True)
    for k, names in enumerate(chosen):
        for place, name in enumerate(names):
            words = THEMES[name][place :: len(names)]
            weight = 1.0 / (5.0 + np.arange(len(words)))
            beta[k, [number[word] for word in words]] += THEME_MASS / len(names) * weight / weight.sum()
    return Topics(tuple(" and ".join(names) for names in chosen), beta), vocabulary


def stroke_cohort(patients: int = 12_586, features: int = 4_146, seed: int = 0) -> tuple[Table, Array]:
    """Draw patients with drugs, conditions and strokes, by default as many as in the paper's data.

    The columns are "intercept", "male", the age bands, then drugs and conditions from common to rare. Latent
    comorbidity makes the features of a group occur together. About one patient in seven has a stroke, by a
    logistic model whose weights are returned.

    Parameters
    ----------
    patients, features
        Numbers of rows and columns.
    seed
        The same seed gives the same cohort.

    Returns
    -------
    Table, numpy.ndarray
        The patients, as a sparse table with the norm bound `COHORT_NORM_BOUND`, and the true weights.

    Examples
    --------
    >>> rows, weights = stroke_cohort(patients=50, features=40, seed=0)
    >>> rows.x.shape, weights.shape
    ((50, 40), (40,))
    """
    validate.whole("patients", patients, low=1)
    names = ["intercept", "male", *AGE_BANDS]
    recorded = validate.whole("features", features, low=len(names) + 10) - len(names)
    rng = np.random.default_rng(seed)
    names += [f"{('drug', 'condition')[j % 2]} {j // 2 + 1}" for j in range(recorded)]
    prevalence = 0.25 * (1.0 + np.arange(recorded) / 10.0) ** -0.85
    log_odds = np.log(prevalence / (1 - prevalence))
    group = rng.integers(COMORBIDITY_GROUPS, size=recorded)
    loading = rng.gamma(4.0, 0.2, size=recorded)

    relevant = rng.random(recorded) < 0.1
    effects = relevant * rng.normal(0.05, 0.42, size=recorded)
    weights = np.concatenate([[0.0, 0.2], np.linspace(-0.8, 0.8, len(AGE_BANDS)), effects])

    blocks = []
    for start in range(0, patients, PATIENT_CHUNK):
        rows = min(PATIENT_CHUNK, patients - start)
        age = rng.choice(len(AGE_BANDS), size=rows, p=list(AGE_BANDS.values()))
        frailty = rng.normal(0.2 * (age[:, None] - 2.5), 0.5, size=(rows, 1))
        comorbidity = rng.normal(0.0, 1.0, size=(rows, COMORBIDITY_GROUPS)) - 0.5
        logits = log_odds + frailty + loading * comorbidity[:, group]
        has = rng.random((rows, recorded)) < 1.0 / (1.0 + np.exp(-logits))
        personal = np.column_stack([np.ones(rows), rng.random(rows) < 0.5, np.eye(len(AGE_BANDS))[age]])
        blocks.append(sparse.csr_array(np.hstack([personal, has])))
    x = sparse.vstack(blocks, format="csr")
    # Without this, the random weights of the few common features would determine the task's difficulty.
    weights *= RISK_SPREAD / max(float(np.std(x @ weights)), 1e-3)
    risk = x @ weights
    # The intercept makes the mean probability equal to the expected share.
    weights[0] = optimize.brentq(lambda shift: np.mean(expit(risk + shift)) - POSITIVE_SHARE, -50.0, 50.0)
    y = rng.random(patients) < 1.0 / (1.0 + np.exp(-(risk + weights[0])))
    return Table(x, y, tuple(names), COHORT_NORM_BOUND), weights


def digits(images: int, seed: int) -> tuple[Images, NDArray[np.uint8]]:
    """Draw 28 × 28 images of digits that look handwritten.

    Parameters
    ----------
    images
        Number of images.
    seed
        The same seed gives the same images.

    Returns
    -------
    Images, numpy.ndarray
        The images and their labels.

    Examples
    --------
    >>> drawn, labels = digits(3, seed=0)
    >>> drawn.shape, labels
    ((28, 28), array([8, 6, 5], dtype=uint8))
    """
    validate.whole("images", images, low=1)
    rng = np.random.default_rng(seed)
    labels = rng.integers(10, size=images).astype(np.uint8)
    bits = np.empty((images, SIDE * SIDE // 8), dtype=np.uint8)
    for start in range(0, images, IMAGE_CHUNK):
        chunk = labels[start : start + IMAGE_CHUNK]
        pixels = np.empty((len(chunk), SIDE * SIDE), dtype=np.bool_)
        for digit in range(10):
            shown = chunk == digit
            pixels[shown] = _draw_digit(digit, int(shown.sum()), rng)
        bits[start : start + IMAGE_CHUNK] = np.packbits(pixels, axis=1)
    return Images(bits, (SIDE, SIDE)), labels


def _draw_digit(digit: int, images: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw `images` images of a digit with random size, slant, shift, thickness and wobble."""
    steps = (np.arange(SIDE) + 0.5 - SIDE / 2) / 10.0  # a digit spans -1 to 1, which is 20 pixels
    x, y = (axis.reshape(-1) for axis in np.meshgrid(steps, steps))
    size = rng.uniform(0.8, 1.05, size=(images, 1, 2)) * [0.9, 1.0]
    shift = rng.normal(0.0, 0.1, size=(images, 1, 2))
    slant = rng.normal(0.15, 0.2, size=(images, 1))
    thickness = rng.uniform(0.1, 0.2, size=(images, 1))
    drawn = np.zeros((images, SIDE * SIDE), dtype=np.bool_)
    for stroke in _strokes(digit):
        points = stroke * size + shift + rng.normal(0.0, 0.025, size=(images, len(stroke), 2))
        points[:, :, 0] -= slant * points[:, :, 1]  # y points down, so the top of the digit leans right
        for start, stop in itertools.pairwise(np.moveaxis(points, 1, 0)[..., None]):
            drawn |= _squared_distance(x, y, start, stop) < thickness**2
    return drawn


def _squared_distance(x: Array, y: Array, start: Array, stop: Array) -> Array:
    """Return each point's squared distance to each image's segment, whose ends have shape (images, 2, 1)."""
    along_x, along_y = stop[:, 0] - start[:, 0], stop[:, 1] - start[:, 1]
    from_x, from_y = x - start[:, 0], y - start[:, 1]
    position = (from_x * along_x + from_y * along_y) / np.maximum(along_x**2 + along_y**2, 1e-12)
    np.clip(position, 0.0, 1.0, out=position)
    distance: Array = (from_x - position * along_x) ** 2 + (from_y - position * along_y) ** 2
    return distance


def _strokes(digit: int) -> list[Array]:
    """Return the pen strokes of a digit as polylines of (x, y), with y pointing down."""

    def arc(x: float, y: float, width: float, height: float, start: float, stop: float) -> Array:
        angle = np.radians(np.linspace(start, stop, 2 + round(abs(stop - start) / 30)))
        return np.column_stack([x + width * np.cos(angle), y + height * np.sin(angle)])

    def line(*points: tuple[float, float]) -> Array:
        return np.array(points)

    strokes = {
        0: [arc(0, 0, 0.6, 1, 0, 360)],
        1: [line((-0.3, -0.6), (0.05, -1), (0.05, 1))],
        2: [np.vstack([arc(0, -0.5, 0.55, 0.5, -170, 30), line((-0.6, 0.95), (0.65, 0.95))])],
        3: [arc(-0.05, -0.5, 0.55, 0.5, -150, 90), arc(-0.05, 0.5, 0.6, 0.5, -90, 150)],
        4: [line((-0.1, -1), (-0.6, 0.2), (0.65, 0.2)), line((0.3, -0.5), (0.25, 1))],
        5: [
            np.vstack([line((0.55, -0.95), (-0.4, -0.95), (-0.45, -0.1)), arc(0, 0.4, 0.55, 0.58, -120, 140)])
        ],
        6: [np.vstack([line((0.4, -1), (-0.2, -0.45)), arc(0, 0.45, 0.55, 0.55, 190, -170)])],
        7: [line((-0.55, -0.9), (0.6, -0.9), (0, 1))],
        8: [arc(0, -0.5, 0.45, 0.48, 90, 450), arc(0, 0.5, 0.55, 0.5, -90, 270)],
        9: [np.vstack([arc(0, -0.45, 0.5, 0.52, 0, -360), line((0.45, 0.1), (0.3, 1))])],
    }
    return strokes[digit]
