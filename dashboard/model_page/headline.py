"""What finished runs have come to, in a sentence."""

from collections.abc import Mapping

from dashboard.components.bounds import at_most
from dashboard.components.formats import signed
from dashboard.components.price import whole_run
from dashboard.model_page.definition import ModelPage
from dashboard.stored import Finished
from vips_core.models.task import NON_PRIVATE
from vips_core.store.rows import CANCELLED


def sentence(page: ModelPage, done: Mapping[str, Finished]) -> str | None:
    """Return the most important held-out score of each run, and what it is; None where nothing was held out.

    For instance: "**On held-out records, AUC is 0.770 by VIPS, improved at ε = 1.00, and 0.810 without
    privacy.** AUC says how often a case gets a higher risk …: larger is better."
    """
    name = next(
        (name for name in page.task.scores if all(name in item.result["held_out"] for item in done.values())),
        None,
    )
    if name is None:
        return None
    return f"**{page.headline(done) or _listed(page, done, name)}** {page.task.scores[name].explained()}"


def _listed(page: ModelPage, done: Mapping[str, Finished], name: str) -> str:
    scored = [_scored(page, method, item, name) for method, item in done.items()]
    listed = scored[0] if len(scored) == 1 else f"{', '.join(scored[:-1])}, and {scored[-1]}"
    return f"On held-out records, {name} is {listed}."


def _scored(page: ModelPage, method: str, item: Finished, name: str) -> str:
    score = signed(item.result["held_out"][name])
    if method == NON_PRIVATE:
        return f"{score} without privacy"
    return f"{score} by {page.labels[method]} at ε = {at_most(promised(item))}"


def promised(item: Finished) -> float | None:
    """ε that holds for what a run has released: of one that was stopped, the ε of the whole run."""
    if item.run.status == CANCELLED:
        return whole_run(item.run)
    spent = item.result["epsilon"]
    value: float | None = spent.get("pld", spent.get("pure"))
    return value
