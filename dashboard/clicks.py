"""No click is lost: what Streamlit would drop of a visitor's input, and of the files that are asked for."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.state import get_session_state
from streamlit.runtime.state.safe_session_state import SafeSessionState

KEPT = 60.0  # seconds for which a file can be had after its button was drawn anew


@contextlib.contextmanager
def uninterrupted(session: SafeSessionState | None = None) -> Iterator[None]:
    """Let newer input of the visitor, for which Streamlit abandons what it runs, wait for a `with` block."""
    session = session or get_session_state()
    look = session._yield_callback
    object.__setattr__(session, "_yield_callback", lambda: None)  # its own __setattr__ writes to the state
    try:
        yield
    finally:
        object.__setattr__(session, "_yield_callback", look)


_take_input = SafeSessionState.on_script_will_rerun


def _take_all_input(session: SafeSessionState, *args: Any, **named: Any) -> None:
    with uninterrupted(session):
        _take_input(session, *args, **named)


# Streamlit never takes up again what it abandons here: a click that newer input follows at once, or the rest
# of a callback, so that half of what the visitor asked for would be done.
SafeSessionState.on_script_will_rerun = _take_all_input  # type: ignore[method-assign, assignment]

_unused = MediaFileManager._get_inactive_file_ids


def _long_unused(manager: MediaFileManager, ids: set[str]) -> set[str]:
    """Return those ids that have been unused for long; `ids` are all that are unused now."""
    now, before = time.monotonic(), getattr(manager, "unused_since", {})
    since = {one: before.get(one, now) for one in ids}
    manager.unused_since = since  # type: ignore[attr-defined]
    return {one for one, start in since.items() if now - start > KEPT}


def _removable(manager: MediaFileManager) -> set[str]:
    buttons = set(manager._deferred_callables)
    buttons.difference_update(*(files.values() for files in manager._files_by_session_and_coord.values()))
    removable = _long_unused(manager, _unused(manager) | buttons)
    for one in buttons & removable:
        manager._drop_deferred_id(one)
    return removable - buttons


# A browser may ask for a file by the button that it shows, while the page is drawn anew with another, and
# fetch it when the pages of other visitors have ended: by then Streamlit has forgotten both.
MediaFileManager._get_inactive_file_ids = _removable  # type: ignore[method-assign, assignment]
MediaFileManager._remove_orphaned_deferred_callables = lambda self: None  # type: ignore[method-assign]
