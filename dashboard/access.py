"""Who may reach the dashboard: its own pages, at a name of this machine, in a browser that holds the token.

Streamlit alone checks Host and Origin of its WebSocket only, and accepts any page at any port of `localhost`.
"""

import re
from collections.abc import Sequence
from html import escape
from secrets import compare_digest
from urllib.parse import quote, urlencode

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEALTH = "/_stcore/health"  # needs no token: it says only that something runs here
_READ = ("GET", "HEAD")
_NO_TOKEN = "Open the address that vips-explorer printed."
# To a browser, pages at other ports are the same site: it sends the cookie when they frame or load something.
_CONFINED = [
    (b"content-security-policy", b"frame-ancestors 'self'"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_NOT_KEPT = {"Cache-Control": "no-store"}
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>VIPS Explorer</title>
<link rel="icon" href="data:,">
<style>
:root {{ color-scheme: light dark }}
main {{ font: 1.1rem/1.5 system-ui, sans-serif; max-width: 34rem; margin: 20vh auto; padding: 0 1rem }}
h1 {{ font-size: 1.5rem }}
</style>
<main><h1>VIPS Explorer</h1><p>{}</p></main>
</html>
"""


class Gate:
    """Middleware that checks every request and WebSocket of the dashboard.

    The address with the token is exchanged for a cookie, which everything but the health check needs. The
    Host must be one of `hosts`. The Origin, which browsers send with all that can change something, must be
    the dashboard itself.

    Parameters
    ----------
    app : ASGIApp
        The dashboard.
    token : str
        Secret, new at each start of the dashboard.
    port : int
        Port of the dashboard. The cookie's name contains it, because browsers share cookies between ports.
    hosts : Sequence[str]
        Names of this machine. An attacker's own name may resolve to 127.0.0.1 as well (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, token: str, port: int, hosts: Sequence[str]) -> None:
        self._app, self._token = app, token
        self._cookie = f"vips-explorer-{port}"
        # Any port, because ssh may forward another one. A browser cannot be made to send a false one.
        self._host = re.compile(rf"({'|'.join(map(re.escape, hosts))})(:[0-9]+)?")
        self._other_host = f"The dashboard answers only at {' and '.join(hosts)}."

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the dashboard, or answer it here."""
        answer = None if scope["type"] == "lifespan" else self._answer(HTTPConnection(scope))

        async def send_confined(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_CONFINED]
            await send(message)

        await (answer or self._app)(scope, receive, send_confined)

    def _answer(self, request: HTTPConnection) -> Response | None:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        method = request.scope.get("method")  # a WebSocket has none
        if not self._host.fullmatch(host):
            return _refusal(request, 403, self._other_host)
        if origin != f"http://{host}" and not (origin is None and method in _READ):
            return _refusal(request, 403, "The dashboard takes no requests from other sites.")
        if request.scope["path"] == _HEALTH:
            return None
        holds_cookie = self._is_token(request.cookies.get(self._cookie, ""))
        given = request.query_params.get("token")
        if method == "GET" and given is not None and (holds_cookie or self._is_token(given)):
            return self._exchange(request)
        return None if holds_cookie else _refusal(request, 401, _NO_TOKEN)

    def _exchange(self, request: HTTPConnection) -> Response:
        """Set the cookie and have the browser load the same address without the token.

        Not by a redirect: a browser that followed a link from another site, such as a notebook's terminal,
        would follow the redirect without the strict cookie.
        """
        others = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
        path = "/" + quote(request.scope["path"].lstrip("/"))  # "//name" would be another host
        address = f"{path}?{urlencode(others)}" if others else path
        headers = {"Refresh": f"0; url={address}", "Referrer-Policy": "no-referrer", **_NOT_KEPT}
        answer = HTMLResponse(headers=headers)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return answer

    def _is_token(self, text: str) -> bool:
        return compare_digest(text.encode(), self._token.encode())


def _refusal(request: HTTPConnection, status: int, sentence: str) -> Response:
    if "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(_PAGE.format(escape(sentence)), status, _NOT_KEPT)
    return JSONResponse(sentence, status, _NOT_KEPT)  # Streamlit shows it in a tab that lost its server
