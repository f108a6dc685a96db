"""Who gets in: whoever opens the printed address, and no page of another site, name or port."""

import base64
import http.client
import http.server
import os
import threading
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

expect.set_options(timeout=60_000)
TITLE = "Learn from many, reveal no one"
REFUSED = "Open the address that vips-explorer printed."
OTHER_HOST = '"The dashboard answers only at 127.0.0.1 and localhost."'
OTHER_SITE = '"The dashboard takes no requests from other sites."'
EVERYWHERE = [
    ("GET", "/"),
    ("GET", "/plan"),
    ("GET", "/favicon.png"),
    ("GET", "/_stcore/host-config"),
    ("GET", "/_stcore/metrics"),
    ("GET", "/_stcore/agent/openapi.json"),
    ("POST", "/_stcore/agent/interact"),
    ("GET", "/media/a.csv"),
    ("GET", "/component/a/index.html"),
    ("PUT", "/_stcore/upload_file/session/file"),
    ("DELETE", "/_stcore/upload_file/session/file"),
    ("WebSocket", "/_stcore/stream"),
]
# What an attacker's page tries: to read answers, to change something, to open a WebSocket.
ATTACK = """async address => {
    const status = async (path, options) => {
        try { return (await fetch(address + path, {credentials: 'include', ...options})).status }
        catch { return 'unreadable' }
    }
    const socket = new WebSocket(address.replace('http', 'ws') + '/_stcore/stream', ['streamlit'])
    const opened = new Promise(told => {
        socket.onopen = () => told('open')
        socket.onerror = () => told('refused')
    })
    const image = new Image()
    const shown = new Promise(told => {
        image.onload = () => told('shown')
        image.onerror = () => told('hidden')
    })
    image.src = address + '/favicon.png?not=cached'
    return {
        read: await status('/_stcore/host-config'),
        upload: await status('/_stcore/upload_file/a/b', {method: 'PUT', body: 'x'}),
        socket: await opened,
        image: await shown,
    }
}"""
FRAME = """address => new Promise(told => {
    const frame = document.createElement('iframe')
    frame.onload = told
    frame.src = address
    document.body.append(frame)
})"""


def answer(started, method, path, **headers):
    """Return status and body of the answer to a raw request; 101 is an open WebSocket."""
    connection = http.client.HTTPConnection(urlsplit(started.address).netloc, timeout=30)
    if method == "WebSocket":
        key = base64.b64encode(os.urandom(16)).decode()
        headers |= {"Upgrade": "websocket", "Connection": "Upgrade"}
        headers |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
    connection.request("GET" if method == "WebSocket" else method, path, headers=headers)
    response = connection.getresponse()
    body = "" if response.status == 101 else response.read().decode(errors="replace")
    connection.close()
    return response.status, body


@pytest.fixture
def own(started):
    """Headers of the dashboard's own pages."""
    cookie = started.cookie()
    host = urlsplit(started.address).netloc
    return {"Host": host, "Origin": f"http://{host}", "Cookie": f"{cookie['name']}={cookie['value']}"}


@pytest.mark.parametrize(("method", "path"), EVERYWHERE)
def test_no_route_answers_without_token_own_host_and_own_origin(started, own, method, path):
    port = urlsplit(started.address).port
    anonymous = {name: value for name, value in own.items() if name != "Cookie"}
    evil = {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"}
    assert answer(started, method, path, **anonymous) == (401, f'"{REFUSED}"')
    assert answer(started, method, path, **own | {"Cookie": own["Cookie"][:-1]}) == (401, f'"{REFUSED}"')
    assert answer(started, method, path, **anonymous | evil) == (403, OTHER_HOST)
    assert answer(started, method, path, **own | evil) == (403, OTHER_HOST)
    for origin in ("http://localhost:3000", "http://127.0.0.1:3000", "null"):
        assert answer(started, method, path, **own | {"Origin": origin}) == (403, OTHER_SITE)
    body = answer(started, method, path, **own)[1]
    assert body not in (f'"{REFUSED}"', OTHER_HOST, OTHER_SITE)


def test_own_pages_and_the_health_check_are_answered(started, own):
    assert answer(started, "WebSocket", "/_stcore/stream", **own) == (101, "")
    assert answer(started, "GET", "/_stcore/host-config", **own)[0] == 200
    assert answer(started, "GET", "/_stcore/health") == (200, "ok")


def stranger(chromium):
    """A browser that has never opened the printed address."""
    return chromium.new_context(storage_state=None)


@pytest.fixture
def attacker():
    """Another server on this machine, with empty pages, that keeps the cookies it is sent."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.cookies.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Attack</title>")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty) as other:
        other.cookies = []
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        yield other
        other.shutdown()
        thread.join()


def test_the_printed_address_opens_the_page_and_leaves_no_token(chromium, server, started):
    context = stranger(chromium)
    page = context.new_page()
    page.goto(started.at("/"))
    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    assert page.url == f"{server}/"
    assert page.evaluate("[document.referrer, document.cookie.includes('vips')]") == ["", False]
    history = context.new_cdp_session(page).send("Page.getNavigationHistory")["entries"]
    assert [entry["url"] for entry in history] == ["about:blank", f"{server}/"]
    page.reload()
    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    tab = context.new_page()
    tab.goto(f"{server}/plan")
    expect(tab.get_by_role("heading", name="Plan a privacy budget")).to_be_visible()
    context.close()


def test_the_token_keeps_page_and_values(chromium, server, started):
    context = stranger(chromium)
    page = context.new_page()
    page.goto(started.at("/plan?sigma=2.5"))
    expect(page.get_by_label("Noise σ, exact")).to_have_value("2.5")
    assert "sigma=2.5" in page.url
    assert "token" not in page.url
    context.close()


def test_a_link_from_another_site_opens_the_page(chromium, server, started, attacker):
    context = stranger(chromium)
    page = context.new_page()
    page.goto(f"http://localhost:{attacker.server_port}/")
    page.evaluate("address => { location.href = address }", started.at("/"))
    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    context.close()


def test_without_the_token_there_is_one_sentence(chromium, server):
    context = stranger(chromium)
    page = context.new_page()
    assert page.goto(f"{server}/plan").status == 401
    assert page.get_by_role("main").inner_text().split("\n")[-1] == REFUSED
    page.goto(f"{server}/?token=wrong")
    expect(page.get_by_text(REFUSED)).to_be_visible()
    assert context.cookies() == []
    context.close()


def test_dns_rebinding_reaches_nothing(chromium, server):
    """The attacker's name resolves to 127.0.0.1: its page and the dashboard have the same origin."""
    evil = server.replace("127.0.0.1", "evil.example")
    context = chromium.new_context()
    page = context.new_page()
    assert page.goto(f"{evil}/plan").status == 403
    got = page.evaluate(ATTACK, evil)
    assert got == {"read": 403, "upload": 403, "socket": "refused", "image": "hidden"}
    context.close()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_page_at_another_port_reaches_nothing(chromium, server, started, attacker, name):
    """To a browser it is the same site, so even a strict cookie is sent."""
    address = server.replace("127.0.0.1", name)
    context = stranger(chromium)
    page = context.new_page()
    page.goto(started.at("/").replace("127.0.0.1", name))
    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    page.goto(f"http://{name}:{attacker.server_port}/")
    assert started.cookie()["name"] in attacker.cookies[0]
    got = page.evaluate(ATTACK, address)
    assert got == {"read": "unreadable", "upload": "unreadable", "socket": "refused", "image": "hidden"}
    context.close()


def test_a_page_at_another_port_cannot_frame_the_dashboard(chromium, server, attacker):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"http://127.0.0.1:{attacker.server_port}/")
    page.evaluate(FRAME, server)
    assert page.frames[1].url == "chrome-error://chromewebdata/"
    context.close()
