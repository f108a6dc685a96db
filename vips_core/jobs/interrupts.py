"""Ctrl-C as something to look at, where an exception at any moment would do harm."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def noted_interrupts(
    note: Callable[[threading.Event], object] = threading.Event.set,
) -> Iterator[threading.Event]:
    """Let Ctrl-C do `note` with the event that is returned, by default set it, rather than raise."""
    noted = threading.Event()
    with contextlib.ExitStack() as afterwards:
        if threading.current_thread() is threading.main_thread():  # signals reach no other
            before = signal.signal(signal.SIGINT, lambda number, frame: note(noted))
            afterwards.callback(signal.signal, signal.SIGINT, before)
        yield noted
