"""Input of visitors, and requested files, that Streamlit would drop."""

import time

import pytest
from streamlit.runtime import media_file_manager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.safe_session_state import SafeSessionState

from dashboard import clicks


def test_newer_input_waits_for_callbacks():
    """With Streamlit's own state, whose checks for newer input are what abandons a callback."""
    heard = []

    class Callbacks(SessionState):
        def on_script_will_rerun(self, *args, **named):
            session["clicked"] = True
            heard.append(session["clicked"])

    def look():
        raise RerunException(RerunData())

    session = SafeSessionState(Callbacks(), look)
    session.on_script_will_rerun(None)
    assert heard == [True]
    with pytest.raises(RerunException):  # now the newer input has its turn
        session["clicked"]


@pytest.fixture
def files(monkeypatch):
    """Streamlit's files of one visitor, and a clock to move."""
    monkeypatch.setattr(media_file_manager, "_get_session_id", lambda: "visitor")
    start = time.monotonic()
    monkeypatch.setattr(clicks.time, "monotonic", lambda: start + files.later)
    files = media_file_manager.MediaFileManager(MemoryMediaFileStorage("/media"))
    files.later = 0.0
    return files


def draw(files):
    """Draw a page with a download, as a run of Streamlit does; return its button as the browser knows it."""
    files.clear_session_refs()
    button = files.add_deferred(lambda: b"report", "text/html", "1.2", file_name="report.html")
    files.remove_orphaned_files()
    return button


def test_a_button_that_was_drawn_anew_still_gives_its_file(files):
    old = draw(files)
    new = draw(files)
    assert old != new
    address = files.execute_deferred(old)
    for _ in range(3):  # pages of other visitors end before the browser fetches the file
        files.remove_orphaned_files()
    assert files.read_file(address.rsplit("/", 1)[1].split(".")[0]).content == b"report"


def test_files_that_nobody_can_ask_for_any_more_are_forgotten(files):
    old = draw(files)
    new = draw(files)
    address = files.execute_deferred(new)
    files.remove_orphaned_files()
    for periods in (1, 2, 3):
        files.later = periods * (clicks.KEPT + 1)
        files.remove_orphaned_files()
    with pytest.raises(MediaFileStorageError, match="not found"):
        files.execute_deferred(old)
    assert files.read_file(address.rsplit("/", 1)[1].split(".")[0]) is None
    assert files.execute_deferred(new)  # which is on the page


def test_a_file_that_is_asked_for_again_is_kept_again(files):
    button = draw(files)
    files.execute_deferred(button)
    for later in (0, clicks.KEPT + 1):
        files.later = later
        files.remove_orphaned_files()
    address = files.execute_deferred(button)  # the same content: the same file
    for _ in range(3):
        files.remove_orphaned_files()
    assert files.read_file(address.rsplit("/", 1)[1].split(".")[0]).content == b"report"
