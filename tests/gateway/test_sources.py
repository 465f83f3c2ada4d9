"""DuckDB, PostgreSQL and files, for real: the same table, the same answers, and nothing but reading."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import psycopg
import pytest

from shoal import datasets
from shoal.engines.columns import to_plain
from shoal.errors import TableError, Unavailable
from shoal.gateway.config import GatewayConfig
from shoal.gateway.mediator import Gateway
from shoal.gateway.sources import DataSource, DuckDBSource, FileSource, PostgresSource, select
from tests.gateway.conftest import Memory

pytestmark = pytest.mark.service

HOSTILE = 'people"; DROP TABLE people; --'
REQUESTS = [
    "SELECT * FROM people",
    "SELECT sex, race FROM people",
    "SELECT age, salary FROM people WHERE age >= 30 ORDER BY age DESC LIMIT 3",
    "SELECT race, count(*) AS n, avg(age) AS mean FROM people GROUP BY race",
]


def test_the_one_statement_is_built_from_quoted_names() -> None:
    assert select("t", ['a"b', "c; --"]) == 'SELECT "a""b", "c; --" FROM "t"'


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "people.duckdb"
    employees = datasets.employees().to_arrow()  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE people AS SELECT * FROM employees")
    return path


def test_duckdb_reads_a_file(database: Path) -> None:
    source = DuckDBSource(database)
    assert source.columns("people") == tuple(datasets.employees().columns)
    assert sorted(source.read("people").rows()) == sorted(datasets.employees().rows())


def test_duckdb_cannot_write_or_reach_files(database: Path) -> None:
    source = DuckDBSource(database)
    for statement in (
        "DELETE FROM people",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SET enable_external_access = true",
    ):
        with pytest.raises(Unavailable):
            source.use(lambda db, statement=statement: db.execute(statement).fetchall(), "people")  # type: ignore[misc]


def test_a_hostile_name_is_a_name(database: Path) -> None:
    with pytest.raises(Unavailable) as error:
        DuckDBSource(database).read(HOSTILE)
    assert "DROP" not in str(error.value).replace(HOSTILE, "")
    assert DuckDBSource(database).read("people").height == 6


def test_a_changed_table_has_another_version(database: Path) -> None:
    source, memory = DuckDBSource(database), duckdb.connect()
    memory.execute("CREATE TABLE people AS SELECT 1 AS age")
    inside = DuckDBSource(memory)
    before, held = source.version("people"), inside.version("people")
    assert (source.version("people"), inside.version("people")) == (before, held)
    with duckdb.connect(str(database)) as db:
        db.execute("DELETE FROM people WHERE name = 'Alice'")
    memory.execute("UPDATE people SET age = 2")
    assert source.version("people") != before
    assert inside.version("people") != held


def test_files_keep_the_types_that_shoal_gives_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("zip,age\n02139,20\n02138,30\n")
    datasets.employees().write_parquet(tmp_path / "b.parquet")
    source = FileSource({"a": tmp_path / "a.csv", "b": tmp_path / "b.parquet"})
    assert source.read("a")["zip"].to_list() == ["02139", "02138"]
    assert source.read("b").equals(datasets.employees())


def test_what_is_not_there_is_told_without_its_address(tmp_path: Path) -> None:
    secret = "postgresql://me:hunter2@127.0.0.1:1/db"
    sources: list[DataSource] = [FileSource({"people": tmp_path / "no.csv"}), DuckDBSource(tmp_path / "no.duckdb")]
    for source in (*sources, PostgresSource(secret, timeout=2)):
        for ask in (source.read, source.version):
            with pytest.raises(Unavailable) as error:
                ask("people")
            assert "hunter2" not in str(error.value) and str(tmp_path) not in str(error.value)


@pytest.fixture
def filled(server: str) -> str:
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS people CASCADE")
        db.execute("CREATE TABLE people (name text, marital_status text, age int, race text, sex text, salary text)")
        for row in datasets.employees().rows():
            db.execute("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s)", row)
    return server


def test_postgresql_reads_and_cannot_write(filled: str) -> None:
    source = PostgresSource(filled)
    assert sorted(source.read("people").rows()) == sorted(datasets.employees().rows())
    with pytest.raises(Unavailable):
        source.fetch("people", "DELETE FROM people")
    with pytest.raises(Unavailable) as error:
        source.fetch("people", "SELECT name::int FROM people")
    assert "Alice" not in str(error.value)
    with pytest.raises(Unavailable):
        source.read(HOSTILE)
    assert source.read("people").height == 6


def test_postgresql_versions_follow_the_content(filled: str) -> None:
    source = PostgresSource(filled)
    before = source.version("people")
    with psycopg.connect(filled, autocommit=True) as db:
        db.execute("UPDATE people SET age = age + 1 WHERE name = 'Alice'")
        changed = source.version("people")
        db.execute("UPDATE people SET age = age - 1 WHERE name = 'Alice'")  # its place on the disk differs now
    assert changed != before == source.version("people")


def test_a_table_is_hashed_again_only_after_a_write(filled: str) -> None:
    source = PostgresSource(filled)
    scans: list[str] = []
    real = source.fetch
    source.fetch = lambda table, *told: scans.extend(told) or real(table, *told)  # type: ignore[method-assign,func-returns-value]
    before = source.version("people")
    scans.clear()
    assert [source.version("people") for _ in range(5)] == [before] * 5
    assert not scans
    with psycopg.connect(filled) as db:
        db.execute("UPDATE people SET age = 99 WHERE name = 'Alice'")
        assert source.version("people") == before  # not yet committed
        db.commit()
        assert source.version("people") != before
    with psycopg.connect(filled, autocommit=True) as db:
        db.execute("CREATE OR REPLACE VIEW seen AS SELECT * FROM people")
    source.version("seen")
    scans.clear()
    source.version("seen")
    assert scans  # what a view shows may be another server's


def test_a_connection_that_was_cut_is_made_anew(filled: str) -> None:
    source = PostgresSource(filled)
    before = source.version("people")
    source.version("people")
    with psycopg.connect(filled, autocommit=True) as db:
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert source.version("people") == before


def test_postgresql_keeps_types(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS kinds")
        db.execute("CREATE TABLE kinds (i int, d numeric, f float8, t text, b boolean, day date, long numeric)")
        db.execute(
            "INSERT INTO kinds VALUES (1, 1.5, 2.5, 'x', true, '2020-01-02', 0.12345678901234567), "
            "(NULL, NULL, NULL, NULL, NULL, NULL, 1.5)"
        )
    frame = PostgresSource(server).read("kinds")
    assert [str(kind) for kind in frame.dtypes[:6]] == ["Int64", "Float64", "Float64", "String", "Boolean", "Date"]
    assert sorted(frame["long"]) == ["0.12345678901234567", "1.5"]


def test_the_same_answers_from_each_database(
    filled: str, database: Path, tmp_path: Path, opened: Callable[..., Gateway]
) -> None:
    policy = datasets.policy("employees")
    datasets.employees().reverse().write_parquet(tmp_path / "people.parquet")  # the order of records tells nothing
    sources: list[DataSource] = [
        DuckDBSource(database),
        PostgresSource(filled),
        FileSource({"people": tmp_path / "people.parquet"}),
    ]
    for text in REQUESTS:
        answers: list[pl.DataFrame] = []
        for number, source in enumerate(sources):
            gateway = opened(source, policy)
            gateway.config = gateway.config.replace(clients={f"{number} {text}"[:60]: {}})
            answers.append(gateway.ask(f"{number} {text}"[:60], text).table)
        assert all(answer.equals(answers[0]) for answer in answers), text


ADULT = [
    "SELECT sex, race FROM adult WHERE race <> 'Other'",
    "SELECT * FROM adult WHERE age >= 40 LIMIT 500",
    "SELECT age, education, occupation FROM adult WHERE age < 30 AND sex = 'Female' ORDER BY age DESC LIMIT 200",
    "SELECT education, count(*) AS n, avg(age) AS mean, min(age) AS least FROM adult GROUP BY education",
    "SELECT workclass, sex, count(*) AS n FROM adult WHERE workclass IS NOT NULL GROUP BY workclass, sex",
]


def test_the_same_answers_on_adult(server: str, tmp_path: Path, opened: Callable[..., Gateway]) -> None:
    adult = datasets.adult()
    arrow = adult.to_arrow()  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect(str(tmp_path / "adult.duckdb")) as db:
        db.execute("CREATE TABLE adult AS SELECT * FROM arrow")
    kinds = [f'"{name}" {"bigint" if kind.is_integer() else "text"}' for name, kind in adult.schema.items()]
    with psycopg.connect(server, autocommit=True) as pg:
        pg.execute("DROP TABLE IF EXISTS adult")
        pg.execute(f"CREATE TABLE adult ({', '.join(kinds)})")
        with pg.cursor().copy("COPY adult FROM STDIN") as copy:
            for row in adult.sample(fraction=1.0, shuffle=True, seed=1).rows():
                copy.write_row(row)
    policy = datasets.policy("adult")
    light = {name: column.replace(weight=1) for name, column in policy.quasi_identifiers.items()}
    policy = policy.replace(quasi_identifiers=light, threshold=2, algorithm={"name": "mondrian"})
    gateways = [
        opened(source, tables={"adult": {"policy": policy}})
        for source in (DuckDBSource(tmp_path / "adult.duckdb"), PostgresSource(server))
    ]
    for number, text in enumerate(ADULT):
        found = []
        for gateway, client in zip(gateways, ("ann", "bob"), strict=True):
            found.append(gateway.ask(client, text, request=str(number)))
        assert [one.decisions[0].action for one in found] == ["release" if number == 0 else "anonymize"] * 2
        assert found[0].table.height > 1 and found[0].table.equals(found[1].table), text


def test_a_server_that_does_not_answer_holds_up_one_request_only(tmp_path: Path) -> None:
    """The owner beside it answers; later requests do not wait for it anew."""
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls, and says nothing
        hung = PostgresSource(f"postgresql://x@127.0.0.1:{silent.getsockname()[1]}/x", timeout=2)
        said = {"database": {"duckdb": "not opened"}, "tables": {"people": {"policy": datasets.policy("employees")}}}
        config = GatewayConfig(
            owners={"south": said, "north": said}, clients={"ann": {}}, ledger=str(tmp_path / "ledger.sqlite")
        )
        gateway = Gateway(config, sources={"south": hung, "north": Memory(people=datasets.employees())})
        gateway.ask("ann", "SELECT sex FROM people")
        began = time.monotonic()
        answer = gateway.ask("ann", "SELECT sex FROM people")
        assert time.monotonic() - began < 1
        assert (answer.table.height, list(answer.refusals)) == (6, ["south"])


def test_settings_of_the_url_are_kept(server: str) -> None:
    """Otherwise a table of the same name in another schema would be read."""
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("CREATE SCHEMA ward")
        db.execute("CREATE TABLE ward.same AS SELECT 1 AS here")
        db.execute("CREATE TABLE same AS SELECT 2 AS there")
    assert PostgresSource(f"{server}?options=-csearch_path%3Dward").read("same").columns == ["here"]
    assert PostgresSource(server).read("same").columns == ["there"]


def test_types_that_only_postgresql_has(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("CREATE TABLE others AS SELECT gen_random_uuid() AS key, 'Infinity'::numeric AS figure")
    with pytest.raises(TableError, match="figure: holds infinite values"):  # told by whoever looks at the column
        to_plain(PostgresSource(server).read("others")["figure"])
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("UPDATE others SET figure = NULL")
    (row,) = PostgresSource(server).read("others").rows()
    assert (len(row[0]), row[1]) == (36, None)


def test_a_table_with_values_that_cannot_be_published_is_not_there(
    tmp_path: Path, opened: Callable[..., Gateway]
) -> None:
    table = datasets.employees().with_columns(pl.lit(float("inf")).alias("rate"))
    table.write_parquet(tmp_path / "people.parquet")
    policy = datasets.policy("employees").replace(others="keep")
    gateway = opened(FileSource({"people": tmp_path / "people.parquet"}), policy)
    with pytest.raises(Unavailable, match="no owner of this table can be reached"):
        gateway.ask("ann", REQUESTS[0])
