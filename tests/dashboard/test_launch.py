"""The command's entry point: settings, port, and what the core does."""

from pathlib import Path

import pytest

import dashboard
from dashboard import launch

HOME = Path(dashboard.__file__).parent


def test_launch_passes_every_setting_as_a_flag():
    arguments = launch.arguments(8765)
    assert arguments[-1] == "--server.port=8765"
    for flag in (
        "--server.address=127.0.0.1",
        "--browser.gatherUsageStats=false",
        "--client.showErrorDetails=none",
        "--server.maxUploadSize=200",
    ):
        assert flag in arguments
    assert any(flag.startswith("--theme.dark.backgroundColor=#") for flag in arguments)
    with pytest.raises(ValueError, match="port must be from 1 to 65535"):
        launch.serve(0)


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
