"""Databases with damage: refused by name or opened, never another exception (anchor A11; `bench reliability` changes 200 bytes)."""

from pathlib import Path

import pytest

from app.bench.reliability_damage import change_bytes
from storage.database import FILE_NAME
from storage.errors import Damaged
from storage.store import Store
from tests.storage.conftest import make_run


def test_a_changed_byte_never_gives_another_exception(tmp_path: Path) -> None:
    report = change_bytes(tmp_path, changes=50)
    assert report.faults == []
    assert report.opened + report.refused == 50
    assert report.opened > 25
    assert report.refused > 0


def test_a_truncated_database_is_refused_with_a_hint(folder: Path) -> None:
    with Store.open(None, folder) as store:
        store.add_runs([make_run() for _ in range(50)])
    data = (folder / FILE_NAME).read_bytes()
    (folder / FILE_NAME).write_bytes(data[: len(data) // 2])
    with pytest.raises(Damaged, match="backup"):
        Store.open(None, folder)


def test_damage_inside_the_file_is_reported(folder: Path) -> None:
    with Store.open(None, folder) as store:
        store.add_runs([make_run(title="a rather long title to be found in the file")])
    data = bytearray((folder / FILE_NAME).read_bytes())
    place = data.index(b"a rather long title")
    data[place - 60 : place - 20] = b"\xff" * 40
    (folder / FILE_NAME).write_bytes(data)
    with Store.open(None, folder) as store:
        assert any("database" in fault for fault in faults_of(store))


def faults_of(store: Store) -> list[str]:
    try:
        return store.integrity()
    except Damaged as error:
        return [str(error)]
