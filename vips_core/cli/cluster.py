"""Options that say on which cluster the work is done."""

import argparse

from vips_core.engines.cluster import Cluster


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Declare the address of a cluster and its TLS."""
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="tls://host:port, tcp://127.0.0.1:port or local[N]"
    )
    for name, what in (("ca", "authority"), ("cert", "own certificate"), ("key", "own key")):
        parser.add_argument(f"--tls-{name}", metavar="FILE", help=f"TLS of the cluster: {what}")
    parser.add_argument(
        "--insecure-cluster", action="store_true", help="let raw sums cross a network without TLS"
    )


def chosen_cluster(options: argparse.Namespace) -> Cluster | None:
    """Return the cluster that the options name, which runs of this process and its children then find."""
    if options.cluster is None:
        return None
    files = (options.tls_ca, options.tls_cert, options.tls_key)
    cluster = Cluster(options.cluster, *files, options.insecure_cluster)
    cluster.to_environment()
    return cluster
