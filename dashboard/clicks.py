"""Keep clicks and downloads that Streamlit would drop when a page is redrawn."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.state import get_session_state
from streamlit.runtime.state.safe_session_state import SafeSessionState

KEPT = 60.0  # seconds for which a file stays available after its button was redrawn


@contextlib.contextmanager
def uninterrupted(session: SafeSessionState | None = None) -> Iterator[None]:
    """Finish a `with` block before newer input of the visitor, for which Streamlit would abandon it."""
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


# Streamlit never resumes what it abandons here: a click right before newer input, or the rest of a
# callback, so that half of a request would be done.
SafeSessionState.on_script_will_rerun = _take_all_input  # type: ignore[method-assign, assignment]

_unused = MediaFileManager._get_inactive_file_ids


def _long_unused(manager: MediaFileManager, ids: set[str]) -> set[str]:
    """Return the ids that have been unused for long; `ids` are all that are unused now."""
    now, before = time.monotonic(), getattr(manager, "unused_since", {})
    since = {one: before.get(one, now) for one in ids}
    long = {one for one, start in since.items() if now - start > KEPT}
    # A file of the same content has the same id: one that is made again begins anew.
    manager.unused_since = {one: since[one] for one in ids - long}  # type: ignore[attr-defined]
    return long


def _removable(manager: MediaFileManager) -> set[str]:
    buttons = set(manager._deferred_callables)
    buttons.difference_update(*(files.values() for files in manager._files_by_session_and_coord.values()))
    removable = _long_unused(manager, _unused(manager) | buttons)
    for one in buttons & removable:
        manager._drop_deferred_id(one)
    return removable - buttons


# A browser may request a file through a button that was just redrawn, and fetch it after the pages of other
# visitors ended: by then Streamlit has forgotten both.
MediaFileManager._get_inactive_file_ids = _removable  # type: ignore[method-assign, assignment]
MediaFileManager._remove_orphaned_deferred_callables = lambda self: None  # type: ignore[method-assign]
