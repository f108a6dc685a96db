"""What the chosen runs would cost before any of them is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard import stored
from dashboard.background import Later, compute_ahead
from dashboard.components.price import Price, price
from dashboard.model_page import train
from dashboard.model_page.definition import ModelPage
from vips_core.jobs.request import Request
from vips_core.jobs.submission import plan_for
from vips_core.records import DataSet
from vips_core.store.forecast import Forecast, forecast
from vips_core.store.rows import DataRow


@dataclass(frozen=True)
class Offer:
    """What the chosen runs would cost.

    Attributes
    ----------
    prices
        By method, those that add noise behind the wall.
    forecast
        What they would make of a private data set's budget.
    problem
        Why there is no offer; empty where there is one.
    """

    prices: Mapping[str, Price]
    forecast: Forecast | None = None
    problem: str = ""

    @property
    def fits(self) -> bool:
        """Whether a private data set's budget allows it."""
        return self.forecast is not None and self.forecast.fits


def make_offer(page: ModelPage, row: DataRow, later: Later) -> Offer | None:
    """Return the offer, or None while it is being computed."""
    try:
        prices = later.soon(_prices, _priced(page, train.requests(page)), stored.data(row.name))
    except ValueError as problem:
        return Offer({}, problem=str(problem))
    if prices is None:
        return None
    runs = [item.plan.events() for item in prices.values()]
    return Offer(prices, forecast(stored.store().ledger(row.name), runs) if row.private else None)


def foresee_example(page: ModelPage, row: DataRow) -> None:
    """Have the ready example priced before it is asked for: its runs can then start at once."""
    if row.name != page.example["data"]:
        return
    usual = {parameter.name: parameter.default for parameter in page.parameters}
    values = usual | {"delta": stored.suggested_delta(row)} | dict(page.example)
    compute_ahead(_prices, _priced(page, train.requests(page, values.__getitem__)), stored.data(row.name))


def _priced(page: ModelPage, requests: Sequence[Request]) -> tuple[str, ...]:
    """Return, as config files, the requests of runs that add noise behind the wall."""
    methods = page.task.methods
    return tuple(
        request.to_toml()
        for request in requests
        if request.private and not methods[request.method].refused_on_private
    )


def _prices(requests: tuple[str, ...], data_set: DataSet) -> dict[str, Price]:
    """Return the prices of runs by method; their requests are given as config files."""
    prices = {}
    for request in map(Request.from_toml, requests):
        model = request.task.model(request.method, request.values, data_set.train)
        prices[request.method] = price(plan_for(request, model, len(data_set.train)))
    return prices
