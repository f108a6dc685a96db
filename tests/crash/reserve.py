"""Several processes request reservations at the same time; prints "reserved" or "refused" for each.

Each asks for all data sets in turn, so that the first one, which may get everything, takes from each.
"""

import os
import sys
from pathlib import Path

from vips_core.jobs.request import Request
from vips_core.jobs.submission import submit
from vips_core.store.store import Store

REQUEST = {"model": "sbn", "hidden": 2, "epsilon": 0.25, "delta": 1e-5, "epochs": 12}


def ask(home: Path, times: int, names: list[str]) -> None:
    store = Store(home)
    while times:
        try:
            submit(store, Request.from_mapping(REQUEST | {"data": names[times % len(names)]}))
            answer = b"reserved\n"
        except ValueError as error:
            if str(error).endswith("seconds: try again"):  # on a loaded machine the others take their time
                continue
            answer = b"refused\n" if "does not fit in the budget" in str(error) else f"{error}\n".encode()
        os.write(1, answer)
        times -= 1


def main() -> None:
    home, processes, times = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    children, names = [], sys.argv[4:] or ["flips"]
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                ask(home, times, names)
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    failed = [pid for pid in children if os.waitpid(pid, 0)[1]]
    sys.exit(len(failed))


if __name__ == "__main__":
    main()
