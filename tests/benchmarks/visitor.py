"""A visitor who acts at random and fast, for `tests.benchmarks.random_acts`: every act has its effect."""

import random
import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

LIMIT = 120_000  # milliseconds, generous for busy machines
HEADINGS = {
    "Plan": "Plan a privacy budget",
    "Topics": "Topics of documents",
    "Risk": "Risk from features",
    "Images": "Images from hidden causes",
}
# Label, name in the address, and values that are far from the ends of the slider.
_SPENDING = (
    ("Epochs", "epochs", ("2.0", "3.0", "7.5")),
    ("δ", "delta", ("1e-06", "2e-06", "5e-07")),
)
_EPSILON = ("Target ε", "epsilon", ("0.5", "2.0", "3.3"))
NUMBERS = {
    "Plan": (("Noise σ", "sigma", ("1.5", "2.0", "3.3")), *_SPENDING),
    "Topics": (_EPSILON, *_SPENDING),
    "Risk": (_EPSILON, *_SPENDING),
    "Images": (_EPSILON, *_SPENDING),
}


class Visitor:
    """Acts on the pages of a served dashboard, as a seeded generator chooses."""

    def __init__(self, page: Page, seed: int) -> None:
        self.page, self.random, self.place = page, random.Random(seed), "Plan"
        self.acts = 0
        self.usual: dict[tuple[str, str], str] = {}  # what pages show without values in the address

    def open(self, server: str) -> None:
        """Open the first page."""
        self.page.goto(f"{server}/plan")
        self.look()

    def look(self) -> None:
        """Check that the page is the requested one, and shows nothing that should not be there."""
        heading = self.page.get_by_role("heading", level=1, name=HEADINGS[self.place])
        expect(heading).to_be_visible(timeout=LIMIT)
        expect(self.page.get_by_text("Traceback")).to_have_count(0)
        for label, name, _ in NUMBERS[self.place]:
            shown = self.page.get_by_label(f"{label}, exact", exact=True)
            expect(shown).to_have_count(1, timeout=LIMIT)  # the previous page is gone
            self.usual.setdefault((self.place, name), shown.input_value())
            self._await_value(name, lambda value, shown=shown: float(shown.input_value()) == float(value))

    def act(self) -> None:
        """Do some things right after one another, then see the effect of each."""
        kind = self.random.choice(["numbers", "numbers", "numbers", "page", "page", "back"])
        if kind == "page":
            self.place = self.random.choice([name for name in HEADINGS if name != self.place])
            self.page.get_by_test_id("stTopNavLink").filter(has_text=self.place).first.click()
            self.acts += 1
        elif kind == "back":
            self.page.go_back()
            path = urlsplit(self.page.url).path.strip("/").capitalize()
            self.place = path if path in HEADINGS else self.place
            self.acts += 1
        else:
            self._numbers()
        self.look()

    def _numbers(self) -> None:
        effects = []
        numbers = list(NUMBERS[self.place])
        self.random.shuffle(numbers)
        for label, name, values in numbers[: self.random.randint(1, len(numbers))]:
            before = self.value(name)
            if before in values and self.random.random() < 0.5:
                slider = self.page.get_by_role("slider", name=label, exact=False).first
                slider.focus()
                slider.press(self.random.choice(["ArrowLeft", "ArrowRight"]))
                effects.append((name, lambda value, before=before: value != before))
            else:
                wanted = self.random.choice([value for value in values if value != before])
                entry = self.page.get_by_label(f"{label}, exact", exact=True)
                entry.fill(wanted)
                entry.press("Enter")
                effects.append((name, lambda value, wanted=wanted: value == wanted))
            self.acts += 1
        for name, is_there in effects:
            self._await_value(name, is_there)

    def value(self, name: str) -> str | None:
        """Return a value of the page from its address, which may leave out defaults."""
        default = self.usual.get((self.place, name))
        return parse_qs(urlsplit(self.page.url).query).get(name, [default])[0]

    def _await_value(self, name, is_there) -> None:
        for _ in range(LIMIT // 50):
            value = self.value(name)
            if value is not None and is_there(value):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(
            f"act {self.acts} on {self.place} had no effect: {name} is {value}, {self.page.url}"
        )


def share(visitor: Visitor, page: Page) -> None:
    """Check that a visitor's address gives another visitor the same page."""
    page.goto(visitor.page.url)
    other = Visitor(page, 0)
    other.place = visitor.place
    other.look()
    values = {name: visitor.value(name) for _, name, _ in NUMBERS[visitor.place]}
    assert re.sub(r"\?.*", "", page.url) == re.sub(r"\?.*", "", visitor.page.url)
    assert {name: other.value(name) for name in values} == values
