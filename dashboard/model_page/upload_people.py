"""Own data whose people are known already: the question what they are, and the visitor's answer."""

from collections.abc import Hashable
from dataclasses import dataclass

import streamlit as st

from dashboard import state
from dashboard.components import layout
from vips_core.store.pools import KnownPeople

_SHARE = "Yes: share one budget"
_OTHERS = "No: other people"
_STUDY = "No: another study with the same identifiers"
_REASON = "It goes into the ledger and into every report."
_NAMED = (
    "Its identifiers are then compared with those of no other study. Reports name the study with the unit of "
    "protection."
)


@dataclass(frozen=True)
class Answer:
    """What a visitor says of people who are known already; nothing, where nobody asked.

    Attributes
    ----------
    chosen
        The option, None where none was chosen.
    text
        The reason, or the name of the study.
    """

    chosen: str | None = None
    text: str = ""

    @property
    def share_budget(self) -> bool:
        """Whether the records join the budgets that were named."""
        return self.chosen == _SHARE

    @property
    def separate(self) -> str:
        """Why they are other people; `ValueError` where that was said without a reason."""
        if self.chosen == _OTHERS and not self.text.strip():
            raise ValueError("say why they are other people")
        return self.text if self.chosen == _OTHERS else ""

    @property
    def person_namespace(self) -> str | None:
        """The study that numbers them; `ValueError` where it has no name."""
        if self.chosen == _STUDY and not self.text.strip():
            raise ValueError("name the study that numbers these people")
        return self.text if self.chosen == _STUDY else None


def remember(model: str, asked_of: Hashable, known: KnownPeople) -> None:
    """Keep what was found in the files, until they are registered or others take their place."""
    state.visit[_key(model)] = (asked_of, known.found, known.may_share)


def forget(model: str) -> None:
    """Forget the question: it is answered, or given up."""
    state.visit[_key(model)] = None


def ask(model: str, asked_of: Hashable, person: str | None) -> Answer:
    """Ask what the people are, where these very files hold some that are known, and return the answer."""
    of, found, may_share = state.visit.get(_key(model)) or (None, "", False)
    if of != asked_of:
        return Answer()
    if may_share:
        st.warning(layout.plain(f"{found[0].upper()}{found[1:]}."), icon=":material/group:")
    else:
        layout.problem(found)
    options = [_SHARE] * may_share + [_OTHERS] + [_STUDY] * (person is not None)
    chosen = st.radio("Are they the same people?", options, index=None, key="same-people")
    if chosen == _OTHERS:
        return Answer(chosen, st.text_input("Why they are other people", key="separate", help=_REASON))
    if chosen == _STUDY:
        return Answer(chosen, st.text_input("Name of this study", max_chars=64, key="study", help=_NAMED))
    return Answer(chosen)


def _key(model: str) -> str:
    return f"known-people:{model}"
