"""Logistic regression of other packages as installed, in the bench's form; none where they are not installed.

Opacus is DP-SGD by its own accountant: SGD with rate .05, gradients clipped to 1, batches of 256 and 20
epochs, none of them tuned. diffprivlib is private ERM at its defaults: ε-DP (δ = 0) for replacing a record,
not for zero-out neighbours. Both get the rivals' centred columns. diffprivlib 0.6.6 needs scikit-learn below
1.7.

python -m venv peers && peers/bin/pip install -e .[bench] opacus diffprivlib "scikit-learn<1.7"
peers/bin/python -m tests.benchmarks.utility.run peers.csv --methods Opacus diffprivlib
"""

import importlib.util
import warnings

import numpy as np
from scipy import sparse
from scipy.special import expit

from tests.benchmarks.utility.rivals import DELTA
from tests.benchmarks.utility.rivals_gradient import Centred
from vips_core.records import Table

BATCH, EPOCHS, RATE, CLIP = 256, 20, 0.05, 1.0


def columns(rows: Table) -> tuple[np.ndarray, Centred]:
    """Return dense centred columns without the constant, which the packages add."""
    people = Centred.of(rows)
    z = people.columns[:, :-1]
    return (z.toarray() if sparse.issparse(z) else z), people


def opacus(train: Table, test: Table, epsilon: float, seed: int) -> np.ndarray:
    """Return predictions of Opacus' DP-SGD."""
    import torch
    from opacus import PrivacyEngine

    torch.manual_seed(seed)
    z, people = columns(train)
    data = torch.utils.data.TensorDataset(torch.tensor(z).float(), torch.tensor(people.labels).float())
    model = torch.nn.Linear(z.shape[1], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that its random numbers are not secure
        model, optimiser, loader = PrivacyEngine().make_private_with_epsilon(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
            data_loader=torch.utils.data.DataLoader(data, batch_size=min(BATCH, len(train) // 4)),
            target_epsilon=epsilon,
            target_delta=DELTA,
            epochs=EPOCHS,
            max_grad_norm=CLIP,
        )
        for _ in range(EPOCHS):
            for x, y in loader:
                optimiser.zero_grad()
                torch.nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], y).backward()
                optimiser.step()
    with torch.no_grad():
        return expit(model(torch.tensor(columns(test)[0]).float())[:, 0].double().numpy())


def diffprivlib(train: Table, test: Table, epsilon: float, seed: int) -> np.ndarray:
    """Return predictions of diffprivlib's private ERM."""
    from diffprivlib.models import LogisticRegression

    z, people = columns(train)
    model = LogisticRegression(epsilon=epsilon, data_norm=people.longest, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that rows are clipped to the norm, and the solver stopped early
        model.fit(z, people.labels.astype(int))
    return model.predict_proba(columns(test)[0])[:, 1]


METHODS = {
    name: scores
    for name, package, scores in (("Opacus", "opacus", opacus), ("diffprivlib", "diffprivlib", diffprivlib))
    if importlib.util.find_spec(package)
}
