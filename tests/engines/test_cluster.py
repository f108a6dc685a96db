"""Rules for the clusters that may compute raw sums."""

import distributed
import pytest

import vips_core as vips
from tests.models.test_contract import plan_for
from tests.toy import BetaBernoulli, coin_flips, tiny_cluster
from vips_core.engines.base import StepSums, sums_here
from vips_core.engines.cluster import Cluster, client_of, engine_of
from vips_core.privacy.noise import Randomness
from vips_core.privacy.sampling import Batch


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "local[2]", "local[1000]"]
)
def test_this_machine_needs_no_tls(address):
    assert Cluster(address).address == address


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "tcp://node7:8786", "tcp://[2001:db8::1]:8786"])
def test_a_network_needs_tls_or_insistence(address):
    with pytest.raises(ValueError, match="is on a network without TLS"):
        Cluster(address)
    assert Cluster(address, insecure=True).insecure


@pytest.mark.parametrize(
    "address", ["", "node7", "http://node7:80", "tcp://node7", "local[]", "tcp://a:b", 7]
)
def test_no_address(address):
    with pytest.raises(ValueError, match="cluster must be"):
        Cluster(address)


def test_tls_needs_its_files(tmp_path):
    (tmp_path / "ca.pem").touch()
    with pytest.raises(ValueError, match="a tls:// address needs tls_cert, a readable file, got None"):
        Cluster("tls://node7:8786", tls_ca=str(tmp_path / "ca.pem"))


def test_the_environment_names_a_cluster(monkeypatch):
    for name in ("VIPS_CLUSTER", "VIPS_CLUSTER_INSECURE"):
        monkeypatch.setenv(name, "")  # so that it is restored
    with pytest.raises(ValueError, match="no cluster is known: set VIPS_CLUSTER"):
        Cluster.from_environment()
    Cluster("tcp://node7:8786", insecure=True).to_environment()
    assert Cluster.from_environment() == Cluster("tcp://node7:8786", insecure=True)


def test_a_scheduler_that_is_not_there(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("vips_core.engines.cluster.SECONDS_TO_CONNECT", 0.3)
    data = coin_flips()
    with pytest.raises(ValueError, match="the scheduler at tcp://127.0.0.1:9 cannot be reached"):
        vips.fit(BetaBernoulli(12, 0.5), data, plan_for(data), cluster="tcp://127.0.0.1:9")


def test_what_a_worker_gets_shows_no_key():
    stream = Randomness.of(1)
    batch = Batch(10, plan_for(range(10)), stream)
    step = StepSums(None, None, {}, batch)
    shown = repr(batch) + repr(step) + str(step) + repr(stream)
    assert "object at" in shown
    assert "records" not in shown


def test_without_a_cluster_this_process_sums():
    with engine_of(None) as engine:
        assert engine is sums_here


def test_tls_from_end_to_end(tmp_path):
    distributed = pytest.importorskip("distributed")
    security = distributed.Security.temporary()
    own = security.get_tls_config_for_role("client")
    files = {}
    for name in ("ca_file", "cert", "key"):
        files[name] = tmp_path / f"{name}.pem"
        files[name].write_text(own[name])
    data, model = coin_flips(), BetaBernoulli(12, 0.5)
    plan = plan_for(data)
    with tiny_cluster(protocol="tls", host="127.0.0.1", security=security) as workers:
        cluster = Cluster(workers.scheduler_address, *map(str, files.values()))
        assert cluster.address.startswith("tls://")
        there = vips.fit(model, data, plan, seed=3, cluster=cluster)
    assert (there.params.on == vips.fit(model, data, plan, seed=3).params.on).all()


def test_nobody_else_on_this_machine_can_use_the_workers_of_local():
    with client_of("local[1]") as client:
        stranger = distributed.Security.temporary()  # has a certificate, but from another authority
        with pytest.raises(OSError, match="(?i)certificate|timed out"):
            distributed.Client(client.scheduler.address, security=stranger, timeout=1)
        assert client.submit(sum, [1, 2]).result() == 3
