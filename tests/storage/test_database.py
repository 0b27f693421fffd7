"""How databases are opened: pragmas, read-only readers, wrong addresses, newer versions, several processes at once."""

import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from storage.database import FILE_NAME
from storage.errors import Damaged, NewerVersion, StoreError, Unavailable
from storage.store import Store
from tests.storage.conftest import Server, make_run


def pragmas(connection: Connection) -> dict[str, object]:
    names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    return {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names}


def test_every_connection_logs_ahead_syncs_fully_and_checks_keys(folder: Path) -> None:
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}
    with Store.open(None, folder) as store:
        assert store._write(pragmas) == wanted
        with store._read() as connection:
            assert pragmas(connection) == wanted


def test_a_write_holds_the_write_lock_from_its_start(folder: Path) -> None:
    with Store.open(None, folder) as store:
        other = sqlite3.connect(folder / FILE_NAME, timeout=0, isolation_level=None, check_same_thread=False)

        def work(_connection: Connection) -> None:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")

        store._write(work)
        other.execute("BEGIN IMMEDIATE")
        other.close()


def test_a_writer_waits_for_another_process(folder: Path) -> None:
    with Store.open(None, folder) as store:
        other = sqlite3.connect(folder / FILE_NAME, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        begun = threading.Event()

        def release() -> None:
            begun.wait()
            other.execute("COMMIT")

        thread = threading.Thread(target=release)
        thread.start()
        begun.set()
        store.add_runs([make_run()])
        thread.join()
        other.close()
        assert len(store.queue()) == 1


def test_readers_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError), store._read() as connection:
        connection.execute(text("DELETE FROM runs"))


def test_all_statements_of_a_read_see_one_moment(store: Store) -> None:
    with store._read() as connection:
        before = connection.execute(text("SELECT count(*) FROM runs")).scalar()
        store.add_runs([make_run()])
        assert connection.execute(text("SELECT count(*) FROM runs")).scalar() == before == 0
    assert len(store.queue()) == 1


def test_a_write_inside_a_write_is_refused(store: Store) -> None:
    with pytest.raises(RuntimeError, match="inside a write"):
        store._write(lambda _connection: store.add_runs([make_run()]))
    assert store.queue() == ()


def test_one_failed_write_does_not_stop_the_next(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        store._write(lambda _connection: 1 / 0)
    with pytest.raises(StoreError):
        store._write(lambda connection: connection.execute(text("SELECT nothing FROM nowhere")))
    assert len(store.add_runs([make_run()])) == 1


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://localhost/x", "not supported"),
        ("no address", "cannot be read"),
        ("postgresql://postgres@127.0.0.1:1/x", "server|connection"),
    ],
)
def test_an_address_that_leads_nowhere_is_unavailable(tmp_path: Path, url: str, says: str) -> None:
    with pytest.raises(Unavailable, match=says):
        Store.open(url, tmp_path)


def test_a_database_server_that_has_no_such_database_says_so(server: Server, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="nowhere"):
        Store.open(server.address("nowhere"), tmp_path)


def test_a_lost_connection_is_made_again(server: Server, tmp_path: Path) -> None:
    url = server.create()
    with Store.open(url, tmp_path) as store:
        store.add_runs([make_run()])
        mine = url.rpartition("/")[2]
        server.administrator.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [mine])
        store.add_runs([make_run()])
        assert len(store.queue()) == 2


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"This is a letter, not a database. " * 200)
    with pytest.raises(Damaged, match="backup"):
        Store.open(None, tmp_path)


def test_a_data_folder_that_is_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"")
    with pytest.raises(Unavailable):
        Store.open(None, tmp_path / "data")


def test_a_database_of_a_newer_version_is_refused_untouched(folder: Path) -> None:
    with sqlite3.connect(folder / FILE_NAME) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(NewerVersion, match="newest"):
        Store.open(None, folder)
    with sqlite3.connect(folder / FILE_NAME) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]
    connection.close()


def test_stores_opened_at_once_make_one_schema(tmp_path: Path, server: Server) -> None:
    for url in (None, server.create()):
        start = threading.Barrier(4)
        opened: list[Store] = []

        def work(url: str | None = url, start: threading.Barrier = start, opened: list[Store] = opened) -> None:
            start.wait()
            opened.append(Store.open(url, tmp_path))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened) == 4
        for store in opened:
            store.add_runs([make_run()])
        assert len(opened[0].queue()) == 4
        for store in opened:
            store.close()


def test_only_the_runs_of_this_installation_are_interrupted_on_a_server(server: Server, tmp_path: Path) -> None:
    url = server.create()
    with Store.open(url, tmp_path / "here") as here, Store.open(url, tmp_path / "there") as there:
        here.add_runs([make_run(), make_run()])
        mine, other = here.claim(["cpu"]), there.claim(["cpu"])
        assert mine is not None and other is not None
        assert [run.id for run in here.recover()] == [mine.id]
        assert [run.id for run in there.recover()] == [other.id]
