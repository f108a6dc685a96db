"""Some processes that ask for reservations at the same time; prints "reserved" or "refused" for each."""

import os
import sys
from pathlib import Path

from vips_core.runs.request import Request
from vips_core.runs.store import Store

REQUEST = Request.from_mapping(
    {"model": "sbn", "data": "flips", "hidden": 2, "epsilon": 0.25, "delta": 1e-5, "epochs": 12}
)


def ask(home: Path, times: int) -> None:
    store = Store(home)
    for _ in range(times):
        try:
            store.submit(REQUEST)
            answer = b"reserved\n"
        except ValueError as error:
            answer = b"refused\n" if "does not fit in the budget" in str(error) else f"{error}\n".encode()
        os.write(1, answer)


def main() -> None:
    home, processes, times = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    children = []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                ask(home, times)
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    failed = [pid for pid in children if os.waitpid(pid, 0)[1]]
    sys.exit(len(failed))


if __name__ == "__main__":
    main()
