"""The web server: one ASGI application with the guard in front, the studio's own routes, and the Gradio page at "/".

Order, from outside: headers, guard, routes under /studio, page. The page's files are static and hold no generated content.

It deliberately starts no engine and reads no method: it is handed an open `app.api.Studio`.
"""

import asyncio
import ipaddress
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path

import gradio as gr
import psutil
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from starlette.staticfiles import StaticFiles

from app.api import Studio
from app.errors import AccessError, ResourceError
from ui import bench_routes, endpoints, refusals, routes
from ui.content_policy import PageHeaders
from ui.drafts import Drafts
from ui.panels import history, models, queue, verify
from ui.security import LOOPBACK, Guard, Policy, is_loopback
from ui.studio import build_page
from ui.theme import theme

logger = logging.getLogger(__name__)

WEB = Path(__file__).resolve().parent / "web"
_ONE_DAY = 24 * 3600


class ServerOptions(BaseModel):
    """Where the server listens and whom it lets in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    listen: str = "127.0.0.1"
    port: int = Field(7860, ge=0, le=65535)
    auth: tuple[tuple[str, str], ...] = ()
    """(name, password) of each account."""
    host_names: tuple[str, ...] = ()
    """Further names this server is reached by (behind a proxy, or in a local network)."""
    max_upload_bytes: int = Field(512 * 2**20, gt=0)
    data: Path | None = None
    """Folder for Gradio's temporary files; below it "page-cache" is used. None: Gradio's own choice."""


def check_options(options: ServerOptions) -> None:
    """AccessError if the server could be reached from other machines without an account."""
    if not is_loopback(options.listen) and not options.auth:
        raise AccessError(
            f"Listening on {options.listen} would open the studio to other machines without a password.",
            "Anyone who reaches this machine could run models and read every output.",
            "Add --auth NAME:PASSWORD, or leave --listen out to stay on this machine.",
        )
    if any(not name or not password or ":" in name for name, password in options.auth):
        raise AccessError("An account needs a name without a colon and a password.", "", "Write --auth NAME:PASSWORD.")


def build_app(studio: Studio, options: ServerOptions) -> FastAPI:
    """The whole application for an open studio. `options.port` must be the port it is reached at."""
    check_options(options)
    _quiet_gradio(options.data)
    app = FastAPI(title="Diptych", docs_url=None, redoc_url=None, openapi_url=None)
    drafts = Drafts(studio)
    for router in (
        routes.router(studio), bench_routes.router(studio, drafts), endpoints.router(studio), history.router(studio), queue.router(studio),
        models.router(studio), verify.router(studio),
    ):  # fmt: skip
        app.include_router(router)
    for folder in ("js", "css", "views"):
        app.mount(f"/studio/static/{folder}", StaticFiles(directory=WEB / folder), name=folder)
    app.include_router(refusals.router())
    refusals.word(app)
    gr.mount_gradio_app(
        app, build_page(studio, drafts), path="/", server_name=options.listen, server_port=options.port, footer_links=[], run_history=False,
        show_error=False, max_file_size=options.max_upload_bytes, ssr_mode=False, enable_monitoring=False, pwa=False, mcp_server=False,
        theme=theme(),
        app_kwargs={"docs_url": None, "redoc_url": None, "openapi_url": None},
    )  # fmt: skip
    accounts = dict(options.auth) or None
    policy = Policy(port=options.port, hosts=_hosts(options), accounts=accounts, max_upload_bytes=options.max_upload_bytes)
    app.add_middleware(Guard, policy=policy)
    app.add_middleware(PageHeaders, tags=head_of_page())
    return app


def serve(studio: Studio, options: ServerOptions, started: Callable[[str], None] | None = None) -> None:
    """Serve until interrupted; `started` gets the address once the socket is open. Port 0 takes a free one."""
    check_options(options)
    opened = _open_socket(options)
    options = options.model_copy(update={"port": opened.getsockname()[1]})
    config = uvicorn.Config(
        build_app(studio, options), log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2, ws="none"
    )
    logging.getLogger("uvicorn.error").addFilter(_tells_news)
    server = _Announcing(config, address(options), started)
    try:
        server.run(sockets=[opened])
    finally:
        opened.close()


def address(options: ServerOptions) -> str:
    """What to type into a browser."""
    host = "127.0.0.1" if options.listen in ("0.0.0.0", "localhost") else "::1" if options.listen == "::" else options.listen
    return f"http://{f'[{host}]' if ':' in host else host}:{options.port}/"


def head_of_page() -> str:
    """The tags of the page's own styles and scripts; views are found, so that adding one is adding a file."""
    styles = ["css/tokens.css", "css/page.css", *(f"css/{path.name}" for path in sorted((WEB / "css").glob("*.css")))]
    styles += [f"views/{path.name}" for path in sorted((WEB / "views").glob("*.css"))]
    scripts = ["js/app.js", *(f"views/{path.name}" for path in sorted((WEB / "views").glob("*.js")))]
    tags = [f'<link rel="stylesheet" href="/studio/static/{name}">' for name in dict.fromkeys(styles)]
    tags += [f'<script type="module" src="/studio/static/{name}"></script>' for name in scripts]
    return '<link rel="icon" href="data:,">' + "".join(tags)


def _tells_news(record: logging.LogRecord) -> bool:
    """A page's open stream that ends with the server is no error."""
    cut_off = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cut_off and "timeout graceful shutdown exceeded" not in record.getMessage()


class _Announcing(uvicorn.Server):
    """uvicorn that says once when it is ready."""

    def __init__(self, config: uvicorn.Config, where: str, started: Callable[[str], None] | None) -> None:
        super().__init__(config)
        self._where = where
        self._announce = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._announce is not None:
            self._announce(self._where)


def _open_socket(options: ServerOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.listen else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((options.listen, options.port))
    except OSError as error:
        opened.close()
        raise ResourceError(
            f"Port {options.port} on {options.listen} cannot be used.", error.strerror or str(error), "Choose another with --port."
        ) from error
    return opened


def _hosts(options: ServerOptions) -> frozenset[str]:
    """The names this server answers to: loopback, the address it listens on, and those the user named."""
    named = {name.strip("[]").lower() for name in options.host_names}
    if is_loopback(options.listen):
        return LOOPBACK | named | {options.listen}
    try:
        everywhere = ipaddress.ip_address(options.listen).is_unspecified
    except ValueError:
        everywhere = False
    if not everywhere:
        return LOOPBACK | named | {options.listen.lower()}
    addresses = {entry.address.partition("%")[0] for entries in psutil.net_if_addrs().values() for entry in entries}
    return LOOPBACK | named | {socket.gethostname().lower()} | {one for one in addresses if _is_address(one)}


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _quiet_gradio(data: Path | None) -> None:
    """No telemetry, and temporary files below the data folder instead of a shared one."""
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    if data is not None:
        folder = data / "page-cache"
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["GRADIO_TEMP_DIR"] = str(folder)
