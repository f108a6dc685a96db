"""The command's entry point: settings, port, and what the core does."""

from pathlib import Path

import pytest

import dashboard
from dashboard import launch

HOME = Path(dashboard.__file__).parent


def test_launch_passes_every_setting_on():
    settings = launch.settings(8765)
    expected = {
        "server.port": 8765,
        "server.address": "127.0.0.1",
        "server.allowedHosts": ["127.0.0.1", "localhost"],
        "server.maxUploadSize": 200,
        "browser.gatherUsageStats": False,
        "client.showErrorDetails": "none",
    }
    assert {name: settings[name] for name in expected} == expected
    assert settings["theme.dark.backgroundColor"].startswith("#")
    with pytest.raises(ValueError, match="port must be from 1 to 65535"):
        launch.serve(0)


def test_each_start_prints_an_address_with_a_new_token(monkeypatch, capsys):
    gates = []

    class App:
        def __init__(self, script, middleware):
            assert script == HOME / "app.py"
            gates.extend(middleware)

        def run(self, config):
            assert config == launch.settings(8765)

    monkeypatch.setattr("streamlit.starlette.App", App)
    monkeypatch.setattr(launch, "_is_free", lambda port: True)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("gc.set_threshold", lambda *_: None)
    for name in ("VIPS_WARM", "OPENBLAS_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    for _ in range(2):
        with pytest.raises(SystemExit):
            launch.serve(8765)
    tokens = [gate.kwargs["token"] for gate in gates]
    assert len(set(tokens)) == 2
    assert all(len(token) >= 43 for token in tokens)  # 32 bytes
    assert [gate.kwargs["hosts"] for gate in gates] == [["127.0.0.1", "localhost"]] * 2
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("http")]
    assert printed == [f"http://127.0.0.1:8765/?token={token}" for token in tokens]


@pytest.mark.parametrize(("given", "port"), [([], None), (["--port", "8765"], 8765)])
def test_the_command_opens_the_pages_at_once(given, port, monkeypatch):
    def serve(port=None):
        raise SystemExit(f"served at {port}")

    monkeypatch.setattr(launch, "serve", serve)
    monkeypatch.setattr(launch, "_is_free", lambda port: True)
    monkeypatch.setattr("sys.argv", ["vips-explorer", "dashboard", *given])
    with pytest.raises(SystemExit, match=f"served at {port}"):
        launch.main()


@pytest.mark.parametrize("given", [["dashboard", "--port", "0"], ["dashboard", "--port", "99999"]])
def test_the_command_leaves_the_rest_to_the_core(given, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["vips-explorer", *given])
    assert launch.main() == 2
    assert (
        capsys.readouterr().err == f"vips-explorer dashboard: port must be from 1 to 65535, got {given[-1]}\n"
    )


def test_checkout_and_wheel_share_one_settings_file():
    checkout = HOME.parent / ".streamlit" / "config.toml"
    assert checkout.resolve() == (HOME / "config.toml").resolve()
