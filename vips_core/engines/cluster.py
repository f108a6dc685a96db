"""The choice of engine: threads of this process, or the workers of a Dask cluster.

Workers compute raw partial sums, which cross the network. So every address except this machine's own must
use TLS, unless the user insists (`insecure`).
"""

import contextlib
import ipaddress
import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vips_core import validate
from vips_core.engines.base import Engine, sums_here
from vips_core.files import MOST_KEY, bounded

SECONDS_TO_CONNECT = 10.0  # timeout for reaching the scheduler
LOCAL = re.compile(r"local\[(\d{1,4})\]")
# Settings of local[N]. Raw sums are never written to a disk. Profiling is off and housekeeping rarer than by
# Dask's defaults, which took 3 % of two cores. Memory is not returned after every sum (as by Dask's
# MALLOC_TRIM_THRESHOLD_), because this made a sum take a quarter longer.
WORKERS = {
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.scheduler.work-stealing-interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "500ms",
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
        "MKL_NUM_THREADS": 1,
    },
}
# Environment variables through which background jobs find the cluster too.
ADDRESS, INSECURE = "VIPS_CLUSTER", "VIPS_CLUSTER_INSECURE"
CA, CERT, KEY = "VIPS_CLUSTER_TLS_CA", "VIPS_CLUSTER_TLS_CERT", "VIPS_CLUSTER_TLS_KEY"


@dataclass(frozen=True)
class Cluster:
    """The address of a Dask scheduler, and its TLS files.

    Parameters
    ----------
    address
        "tls://host:8786", "tcp://127.0.0.1:8786", or "local[N]" for N new processes on this machine.
    tls_ca, tls_cert, tls_key
        TLS files: certificate authority, and certificate and key of this process.
    insecure
        Whether raw sums may cross a network without TLS.

    Examples
    --------
    >>> Cluster("local[0]")
    Traceback (most recent call last):
    ...
    ValueError: the workers of local[N] must be a whole number of at least 1 and at most 1,000, got 0
    """

    address: str
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    insecure: bool = False

    def __post_init__(self) -> None:
        validate.text("cluster", self.address)
        if local := LOCAL.fullmatch(self.address):
            validate.whole("the workers of local[N]", int(local[1]), low=1, high=1000)
            return
        if not _is_address(self.address):
            allowed = "tls://host:port, tcp://host:port or local[N]"
            raise ValueError(f"cluster must be {allowed}, got {self.address!r}")
        require_private(self.address, self.insecure)
        if self.address.startswith("tls://"):
            for name in ("tls_ca", "tls_cert", "tls_key"):
                file = getattr(self, name)
                if file is None or not os.path.isfile(file):
                    got = validate.shown(file)
                    raise ValueError(f"a tls:// address needs {name}, a readable file, got {got}")
                bounded(Path(file), MOST_KEY)

    @classmethod
    def from_environment(cls) -> "Cluster":
        """Return the cluster that `VIPS_CLUSTER` names."""
        if not os.environ.get(ADDRESS):
            raise ValueError(f"no cluster is known: set {ADDRESS}, or give --cluster")
        ca, cert, key = (os.environ.get(name) for name in (CA, CERT, KEY))
        return cls(os.environ[ADDRESS], ca, cert, key, os.environ.get(INSECURE) == "1")

    def to_environment(self) -> None:
        """Set `VIPS_CLUSTER` and the related variables for this process and its children."""
        values = {ADDRESS: self.address, CA: self.tls_ca, CERT: self.tls_cert, KEY: self.tls_key}
        os.environ.update({name: value for name, value in values.items() if value is not None})
        os.environ[INSECURE] = "1" if self.insecure else "0"


@contextlib.contextmanager
def engine_of(cluster: Any) -> Iterator[Engine]:
    """Yield the engine of a run, and leave the cluster when the run ends.

    Parameters
    ----------
    cluster
        None for this process; an address, a `Cluster` or a `distributed.Client`.
    """
    if cluster is None:
        yield sums_here
        return
    with client_of(cluster) as client:
        from vips_core.engines.dask import Dask

        yield Dask(client, insecure=isinstance(cluster, Cluster) and cluster.insecure).sums


@contextlib.contextmanager
def client_of(cluster: Any) -> Iterator[Any]:
    """Yield a Dask client; a client made here is closed at the end."""
    try:
        import dask
        import distributed
    except ImportError:
        raise ValueError("a cluster needs Dask: install vips-explorer[cluster]") from None
    if isinstance(cluster, distributed.Client):
        yield cluster
        return
    known = Cluster(cluster) if isinstance(cluster, str) else cluster
    if local := LOCAL.fullmatch(known.address):
        with (
            dask.config.set(WORKERS),
            distributed.LocalCluster(
                n_workers=int(local[1]),
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
                protocol="tls://",
                security=distributed.Security.temporary(),  # keeps out other users of this machine
            ) as scheduler,
            distributed.Client(scheduler, direct_to_workers=True) as client,
        ):
            yield client
        return
    tls = {"tls_ca_file": known.tls_ca, "tls_client_cert": known.tls_cert, "tls_client_key": known.tls_key}
    try:
        needs_tls = known.address.startswith("tls://")
        security = distributed.Security(**tls, require_encryption=True) if needs_tls else None
        client = distributed.Client(known.address, security=security, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"the scheduler at {known.address} cannot be reached: {reason}") from None
    with client:
        yield client


def require_private(address: str, insecure: bool) -> None:
    """Refuse a network address without TLS, unless the user insists."""
    if insecure or address.startswith(("tls://", "inproc://")) or _is_loopback(address):
        return
    raise ValueError(
        f"{address} is on a network without TLS, where others could read raw sums: use a tls:// address with "
        "--tls-ca, --tls-cert and --tls-key, or insist with --insecure-cluster"
    )


def _is_address(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("tcp", "tls") and bool(parts.hostname) and parts.port is not None
    except ValueError:
        return False


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
