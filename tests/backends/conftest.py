"""Shared pieces of the backend tests: one thread, and where the pocket checkpoints are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import backends


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Kernels split differently over threads; exactness is promised on one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def pocket() -> Path:
    """The folder of the pocket checkpoints."""
    return Path(next(iter(backends.__path__))).parent / "assets" / "pocket"
