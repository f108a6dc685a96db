"""The gate in front of the dashboard, request by request."""

from http.cookies import SimpleCookie

import pytest

from dashboard.access import Gate

TOKEN = "a-token-of_this-start"
HERE = "127.0.0.1:8501"
OWN = {"host": HERE, "origin": f"http://{HERE}", "cookie": f"vips-explorer-8501={TOKEN}"}


async def _dashboard(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"private"})


def ask(path="/", headers=None, method="GET", query="", kind="http"):
    """Return status, headers and body of the answer."""
    scope = {
        "type": kind,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
        "extensions": {"websocket.http.response": {}},
    }
    if kind == "http":
        scope["method"] = method
    sent = []

    async def send(message):
        sent.append(message)

    gate = Gate(_dashboard, token=TOKEN, port=8501, hosts=["127.0.0.1", "localhost"])
    with pytest.raises(StopIteration):  # it never waits, so it needs no event loop: Playwright may have one
        gate(scope, None, send).send(None)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], head, sent[1]["body"]


def without(name, headers=OWN):
    return {key: value for key, value in headers.items() if key != name}


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "path", ["/", "/plan", "/_stcore/stream", "/_stcore/upload_file/a/b", "/media/a.csv"]
)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (OWN, 200),
        (OWN | {"host": "localhost:8501", "origin": "http://localhost:8501"}, 200),
        (OWN | {"host": "localhost:9000", "origin": "http://localhost:9000"}, 200),  # forwarded by ssh
        (without("cookie"), 401),
        (OWN | {"cookie": "vips-explorer-8501="}, 401),
        (OWN | {"cookie": "vips-explorer-8501=the-token-of-an-earlier-start"}, 401),
        (OWN | {"cookie": f"vips-explorer-8501={TOKEN[:-1]}"}, 401),
        (OWN | {"cookie": "vips-explorer-8501=é"}, 401),
        (OWN | {"cookie": f"vips-explorer-8502={TOKEN}"}, 401),  # of a dashboard at another port
        (OWN | {"host": "evil.example:8501", "origin": "http://evil.example:8501"}, 403),
        (OWN | {"host": "127.0.0.1.evil.example:8501", "origin": "http://127.0.0.1.evil.example:8501"}, 403),
        (OWN | {"host": "127x0y0z1:8501", "origin": "http://127x0y0z1:8501"}, 403),
        (OWN | {"host": "localhost:8501.evil.example", "origin": "http://localhost:8501.evil.example"}, 403),
        (without("host"), 403),
        (OWN | {"origin": "http://127.0.0.1:3000"}, 403),
        (OWN | {"origin": "http://localhost:8501"}, 403),
        (OWN | {"origin": "https://127.0.0.1:8501"}, 403),
        (OWN | {"origin": "http://127.0.0.1:85010"}, 403),
        (OWN | {"origin": "null"}, 403),
    ],
)
def test_nothing_passes_without_token_own_host_and_own_origin(headers, status, path, kind):
    answer, _, body = ask(path, headers, kind=kind)
    assert answer == status
    assert (body == b"private") == (status == 200)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_what_can_change_something_must_tell_its_origin(method):
    assert ask("/_stcore/upload_file/a/b", without("origin"), method)[0] == 403
    assert ask("/_stcore/upload_file/a/b", OWN, method)[0] == 200
    assert ask("/_stcore/stream", without("origin"), kind="websocket")[0] == 403
    assert ask("/media/a.csv", without("origin"))[0] == 200


def test_the_health_check_needs_no_token_but_a_host():
    assert ask("/_stcore/health", {"host": HERE})[0] == 200
    assert ask("/_stcore/health", {"host": "evil.example"})[0] == 403
    assert ask("/_stcore/health/", {"host": HERE})[0] == 401


@pytest.mark.parametrize(
    ("path", "query", "clean"),
    [
        ("/", f"token={TOKEN}", "/"),
        ("/plan", f"token={TOKEN}", "/plan"),
        ("/plan", f"sigma=1.5&token={TOKEN}&data=a%26b&empty=", "/plan?sigma=1.5&data=a%26b&empty="),
        ("/runs", f"token={TOKEN}&runs=a&runs=b", "/runs?runs=a&runs=b"),
        ("//evil.example/", f"token={TOKEN}", "/evil.example/"),
        ("/\\evil.example", f"token={TOKEN}", "/%5Cevil.example"),
        ("/a\r\nset-cookie: b", f"token={TOKEN}", "/a%0D%0Aset-cookie%3A%20b"),
    ],
)
def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(path, query, clean):
    status, headers, body = ask(path, {"host": HERE}, query=query)
    assert (status, body) == (200, b"")
    assert headers["refresh"] == f"0; url={clean}"
    assert (headers["referrer-policy"], headers["cache-control"]) == ("no-referrer", "no-store")
    [cookie] = SimpleCookie(headers["set-cookie"]).values()
    assert (cookie.key, cookie.value, cookie["path"]) == ("vips-explorer-8501", TOKEN, "/")
    assert (cookie["httponly"], cookie["samesite"], cookie["domain"]) == (True, "strict", "")


def test_the_token_opens_nothing_but_the_address_of_a_page():
    query = f"token={TOKEN}"
    assert ask("/", {"host": HERE}, query="token=wrong")[0] == 401
    assert "set-cookie" not in ask("/", {"host": HERE}, query="token=wrong")[1]
    assert ask("/", without("cookie"), "POST", query)[0] == 401
    assert ask("/_stcore/stream", without("cookie"), query=query, kind="websocket")[0] == 401
    assert ask("/", {"host": "evil.example"}, query=query)[0] == 403
    # An outdated bookmark of someone who holds the cookie.
    assert ask("/plan", OWN, query="token=wrong")[1]["refresh"] == "0; url=/plan"


def test_a_refusal_is_one_sentence():
    status, headers, body = ask("/plan", {"host": HERE, "accept": "text/html,*/*"})
    assert (status, headers["cache-control"]) == (401, "no-store")
    assert headers["content-type"].startswith("text/html")
    assert b"<p>Open the address that vips-explorer printed.</p>" in body
    assert TOKEN.encode() not in body
    status, headers, body = ask("/_stcore/host-config", {"host": HERE})
    assert headers["content-type"] == "application/json"
    assert body == b'"Open the address that vips-explorer printed."'


def test_other_sites_may_neither_frame_nor_load_anything():
    for headers in (OWN, {"host": HERE}):
        head = ask("/", headers)[1]
        assert head["content-security-policy"] == "frame-ancestors 'self'"
        assert head["cross-origin-resource-policy"] == "same-origin"
