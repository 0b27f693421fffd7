"""The engine of a Ray cluster: the lanes and workers of this machine's engine, with the workers living on the cluster.

What it does: for each GPU of the cluster (or once, where there is none) keeps an actor that starts the same worker process on its node and
passes messages on; everything else, events and records included, is `app.engine.local`.
Where: Ray's own scheduling places the actors; `ray://host:port` is its client protocol.
What it does not do: it copies no checkpoints and no code: both must be at the same paths on every node. Ray is an extra and is imported
only here.
"""

import logging
import os
import queue
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.engine.active import Shop
from app.engine.devices import CLAIMABLE, probe
from app.engine.lane import Lane
from app.engine.local import SHUTDOWN_SECONDS, LocalEngine
from app.engine.process import ROOT, Deliver, WorkerLink, WorkerProcess
from app.engine.protocol import DeviceInfo, EngineOptions, Sign
from app.engine.wire import Message
from app.engine.worker import WorkerOptions
from app.errors import ResourceError
from app.registry import Registry
from storage.store import Store
from storage.values import RunRow

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0


class HostedWorker:
    """The actor: a worker process on its node, and the messages it sent."""

    def __init__(self, options: str) -> None:
        self._messages: queue.SimpleQueue[tuple[Message, list[bytes]]] = queue.SimpleQueue()
        self._folder = Path(tempfile.mkdtemp(prefix="diptych-worker-"))
        self._started = threading.Event()
        # The kernel ends the worker with the thread that started it, and Ray's threads come and go: this one stays.
        threading.Thread(target=self._host, args=(WorkerOptions.model_validate_json(options),), daemon=True).start()
        self._started.wait()

    def _host(self, options: WorkerOptions) -> None:
        ended = threading.Event()

        def take(_: WorkerLink, message: Message, blobs: list[bytes]) -> None:
            self._messages.put((message, blobs))
            if message["type"] == "gone":
                ended.set()

        self._process = WorkerProcess(options.model_copy(update={"parent": os.getpid()}), take, self._folder)
        self._started.set()
        ended.wait()

    def pid(self) -> int:
        """The worker's process number on its node."""
        return self._process.pid

    def send(self, message: Message) -> None:
        """Pass a command on."""
        self._process.send(message)

    def poll(self, seconds: float) -> list[tuple[Message, list[bytes]]]:
        """What has arrived; waits for the first at most `seconds`."""
        try:
            received = [self._messages.get(timeout=seconds)]
        except queue.Empty:
            return []
        while not self._messages.empty():
            received.append(self._messages.get())
        return received

    def kill(self) -> None:
        """End the worker; "gone" follows."""
        self._process.kill()

    def log(self) -> str:
        """The worker's last lines."""
        return self._process.log()


class RemoteWorker:
    """The link to a HostedWorker."""

    def __init__(self, ray: Any, actor: Any, deliver: Deliver) -> None:
        self._ray, self._actor, self._deliver = ray, actor, deliver
        self.pid: int = ray.get(actor.pid.remote())
        self._listener = threading.Thread(target=self._listen, name=f"ray-worker-{self.pid}", daemon=True)
        self._listener.start()

    def send(self, message: Message) -> None:
        """See WorkerLink."""
        self._actor.send.remote(message)

    def kill(self) -> None:
        """See WorkerLink."""
        self._actor.kill.remote()

    def log(self) -> str:
        """See WorkerLink."""
        try:
            return str(self._ray.get(self._actor.log.remote(), timeout=1.0))
        except self._ray.exceptions.RayError:
            return ""

    def join(self, seconds: float) -> None:
        """Wait until the worker's last message has come."""
        self._listener.join(seconds)

    def _listen(self) -> None:
        while True:
            try:
                received = self._ray.get(self._actor.poll.remote(POLL_SECONDS))
            except self._ray.exceptions.RayError as error:
                logger.warning("a worker's node is gone: %s", error)
                received = [({"type": "gone", "how": "its node is gone", "signal": None}, [])]
            for message, blobs in received:
                self._deliver(self, message, blobs)
                if message["type"] == "gone":
                    self._ray.kill(self._actor)
                    return


class RayEngine(LocalEngine):
    """See the module, and LocalEngine. `address` None starts a cluster on this machine."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        data: Path,
        assets: Path | None = None,
        finish: Callable[[RunRow], None] | None = None,
        sign: Sign | None = None,
        options: EngineOptions | None = None,
        *,
        address: str | None = None,
        processors: int | None = None,
    ) -> None:
        self._ray = _connect(address, processors)
        self._gpus = int(self._ray.cluster_resources().get("GPU", 0))
        self._links: list[RemoteWorker] = []
        super().__init__(store, registry, data, assets, finish, sign, options, self._cluster_devices())
        self._kind = "ray"

    def shutdown(self) -> None:
        """See Engine."""
        super().shutdown()
        for link in self._links:
            link.join(SHUTDOWN_SECONDS)
        self._ray.shutdown()

    def _cluster_devices(self) -> tuple[DeviceInfo, ...]:
        """One node's devices stand for all: a lane's worker sees one GPU, as cuda:0."""
        asked = self._ray.remote(probe).options(num_cpus=0, num_gpus=1 if self._gpus else 0, runtime_env=_runtime())
        found: tuple[DeviceInfo, ...] = self._ray.get(asked.remote())
        return found

    def _make_lanes(self) -> tuple[Lane, ...]:
        shop: Shop = self._shop()
        return tuple(Lane(shop, f"ray-{number}", CLAIMABLE) for number in range(max(1, self._gpus)))

    def _spawn(self, options: WorkerOptions, deliver: Deliver) -> WorkerLink:
        hosted = self._ray.remote(HostedWorker).options(
            num_cpus=0 if self._gpus else 1, num_gpus=1 if self._gpus else 0, max_concurrency=4, runtime_env=_runtime()
        )
        link = RemoteWorker(self._ray, hosted.remote(options.model_dump_json()), deliver)
        self._links.append(link)
        return link


def _runtime() -> dict[str, Any]:
    return {"env_vars": {"PYTHONPATH": str(ROOT)}}


def _connect(address: str | None, processors: int | None) -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ResourceError("The Ray engine needs Ray.", "It is an extra and is not installed.", "Install it: pip install ray") from error
    try:
        ray.init(address=address, num_cpus=processors, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        what = f"The Ray cluster at {address or 'this machine'} did not answer."
        raise ResourceError(what, str(error), "Check its address; ray:// needs Ray's client: pip install ray[client]") from error
    return ray
