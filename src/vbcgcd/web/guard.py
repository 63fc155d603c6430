"""Who may ask: the token, the Host and the Origin of a request, and the headers that every answer carries.

A page of another site can make a visitor's browser send requests here. So a request counts only if it names
this server as its Host (a rebound DNS name does not), if it carries the cookie or the token, and, where it
changes something, if it comes from a page of this server.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Wrong tokens within so many seconds before further ones are not even looked at.
MOST_WRONG, WITHIN = 10, 60.0
#: Bytes of a request that is no file.
LONGEST_BODY = 4 * 2**20
#: Days that a browser is remembered.
REMEMBERED = 30
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), interest-cohort=()",
}
_SAFE = frozenset({"GET", "HEAD"})

__all__ = ["HEADERS", "Guard", "Refusal"]


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Guard:
    """Middleware in front of everything.

    Parameters
    ----------
    app : ASGI application
    token : str
        What the first address carries.
    hosts : frozenset of str
        Values of the header Host that mean this server, in lower case.
    port : int
        Browsers share cookies among the ports of a machine, so the name of ours has it.
    read_only : bool
        Refuse whatever changes the workspace.
    harmless : frozenset of str
        Paths of requests that change nothing although they are no GET.
    secure : bool
        Whether browsers reach it by https, through a proxy.
    """

    app: App
    token: str
    hosts: frozenset[str]
    port: int
    read_only: bool = False
    harmless: frozenset[str] = frozenset()
    secure: bool = False
    _wrong: deque[float] = field(default_factory=deque, repr=False)

    @property
    def cookie_name(self) -> str:
        """Name of the cookie."""
        return f"vbcgcd-{self.port}"

    @property
    def cookie_value(self) -> str:
        """What the cookie holds: it tells that the token was known, and not the token."""
        return hmac.new(self.token.encode(), b"vbcgcd cookie", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message.get("headers", ())}
                added = [
                    (name.lower().encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.lower().encode() not in present
                ]
                if b"cache-control" not in present:
                    added.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*message.get("headers", ()), *added]}
            await send(message)

        entrance = self._entrance(scope, headers)
        if entrance is not None:
            await _answer(guarded, entrance.status, entrance.reason, entrance.headers, scope)
            return
        refusal = self._refusal(scope, headers) or _too_long(scope, headers)
        if refusal is not None:
            await _answer(guarded, refusal.status, refusal.reason, refusal.headers, scope)
            return
        await self.app(scope, receive, guarded)

    def _entrance(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        """The first address: the token becomes a cookie, and leaves the address."""
        query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if scope["method"] not in _SAFE or not given or scope["path"].startswith("/api/"):
            return None
        host = self._foreign_host(headers)
        if host is not None:
            return host
        refusal = self._check_token(given[0])
        if refusal is not None:
            return refusal
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # A path that begins with two slashes would be the address of another host.
        path = "/" + re.sub(r"[\\\x00-\x20\x7f]", "/", scope["path"]).lstrip("/")
        cookie = (
            f"{self.cookie_name}={self.cookie_value}; Path=/; HttpOnly; SameSite=Strict; "
            f"Max-Age={REMEMBERED * 86400}" + ("; Secure" if self.secure else "")
        )
        target = f"{path}?{rest}" if rest else path
        return Refusal(303, "", (("location", target), ("set-cookie", cookie)))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        foreign = self._foreign_host(headers)
        if foreign is not None:
            return foreign
        bearer = headers.get("authorization", "")
        by_token = bearer.lower().startswith("bearer ")
        if by_token:
            refusal = self._check_token(bearer[7:].strip())
            if refusal is not None:
                return refusal
        elif not self._has_cookie(headers):
            return Refusal(
                401,
                "Open the address that 'vbcgcd serve' printed, with its token; this browser has not been let "
                "in yet.",
            )
        if scope["method"] in _SAFE:
            return None
        if not self._own_origin(headers, by_token=by_token):
            return Refusal(403, "This request comes from a page of another site; it was not carried out.")
        if self.read_only and scope["path"] not in self.harmless:
            return Refusal(403, "This workspace is served read-only; nothing can be changed here.")
        return None

    def _foreign_host(self, headers: dict[str, str]) -> Refusal | None:
        if headers.get("host", "").lower() in self.hosts:
            return None
        return Refusal(
            421, "This server does not answer under that name; use the address that 'vbcgcd serve' printed."
        )

    def _check_token(self, given: str) -> Refusal | None:
        now = time.monotonic()
        while self._wrong and now - self._wrong[0] > WITHIN:
            self._wrong.popleft()
        if hmac.compare_digest(given.encode(), self.token.encode()):
            return None  # whoever knows it is let in, however many others guess
        if len(self._wrong) >= MOST_WRONG:
            wait = max(1, round(WITHIN - (now - self._wrong[0])))
            return Refusal(
                429,
                f"Too many wrong tokens; try again in {wait} seconds.",
                (("retry-after", str(wait)),),
            )
        self._wrong.append(now)
        return Refusal(401, "That token is wrong; use the address that 'vbcgcd serve' printed.")

    def _has_cookie(self, headers: dict[str, str]) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self.cookie_value.encode())

    def _own_origin(self, headers: dict[str, str], *, by_token: bool) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            scheme, _, host = origin.partition("://")
            return scheme in ("http", "https") and host.lower() in self.hosts
        # Browsers name the origin of whatever may change something; a script with the token need not.
        return by_token or headers.get("sec-fetch-site") == "same-origin"


def _too_long(scope: Scope, headers: dict[str, str]) -> Refusal | None:
    """Decisions are short; files have a limit of their own. A body must say how long it is."""
    if scope["method"] in _SAFE or scope["path"].startswith("/api/v1/uploads/"):
        return None
    length = headers.get("content-length", "0" if "transfer-encoding" not in headers else "")
    if not length.isascii() or not length.isdigit() or int(length) > LONGEST_BODY:
        return Refusal(413, f"A request may have up to {LONGEST_BODY // 2**20} MB, and must say its length.")
    return None


async def _answer(
    send: Send, status: int, reason: str, headers: tuple[tuple[str, str], ...], scope: Scope
) -> None:
    api = scope["path"].startswith("/api/")
    body = json.dumps({"error": reason}) if api else reason + "\n" if reason else ""
    kind = "application/json" if api else "text/plain; charset=utf-8"
    data = body.encode()
    fields = [(b"content-type", kind.encode()), (b"content-length", str(len(data)).encode())]
    fields += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else data})
