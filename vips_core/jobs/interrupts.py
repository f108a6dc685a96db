"""Ctrl-C and SIGTERM as something to look at, where an exception or an end at any moment would do harm."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def noted_interrupts(
    note: Callable[[threading.Event], object] = threading.Event.set,
) -> Iterator[threading.Event]:
    """Let Ctrl-C do `note` with the event that is returned, by default set it, rather than raise.

    So does SIGTERM, by which batch systems end what has run for long enough, where nothing else handles it.
    """
    noted = threading.Event()
    with contextlib.ExitStack() as afterwards:
        if threading.current_thread() is threading.main_thread():  # signals reach no other
            for number in (signal.SIGINT, signal.SIGTERM):
                before = signal.getsignal(number)
                if number == signal.SIGINT or before == signal.SIG_DFL:
                    signal.signal(number, lambda number, frame: note(noted))
                    afterwards.callback(signal.signal, number, before)
        yield noted


def stop_after_step(stopped: threading.Event) -> None:
    """Let the first Ctrl-C end a run after its step, with results; a second one ends it at once."""
    if stopped.is_set():
        raise KeyboardInterrupt
    stopped.set()
    with contextlib.suppress(OSError):  # a reader who has left ends no work
        print("\nStopping after this step; press Ctrl-C again to stop now.", file=sys.stderr, flush=True)
