"""Versions that pylance writes to a table's folder, past the catalog, which adopts them."""

import lance
import lance.namespace
from lance_namespace import (
    CreateNamespaceRequest,
    DeclareTableRequest,
    DescribeTableRequest,
    ListTableVersionsRequest,
)

from checks import NAMESPACE, SERVER, check, equal, more, refused, rows, run

client = lance.namespace.RestNamespace(
    **{"uri": SERVER["url"], "header.x-api-key": SERVER["key"]}
)
here = [*NAMESPACE, "adopted"]
client.create_namespace(CreateNamespaceRequest(id=here))


def declared(name, **request):
    """A declared table: its identifier, and its folder."""
    table = [*here, name]
    answer = client.declare_table(DeclareTableRequest(id=table, **request))
    return table, answer.location


def write_beside(folder, first, count):
    """Writes a version as a program does that knows no catalog."""
    lance.write_dataset(rows(first, count), folder, mode="create" if first == 0 else "append")


def append(table, first, count):
    lance.write_dataset(rows(first, count), namespace_client=client, table_id=table, mode="append")


def versions(table):
    found = client.list_table_versions(ListTableVersionsRequest(id=table)).versions
    return sorted(version.version for version in found)


def adopts_before(use, name):
    """Two versions beside the catalog, a use of the table that adopts them, and a commit by the catalog."""
    table, folder = declared(name)
    write_beside(folder, 0, 10)
    write_beside(folder, 10, 10)
    use(table)
    equal(versions(table), [1, 2])
    append(table, 20, 5)
    equal(versions(table), [1, 2, 3])
    equal(lance.dataset(namespace_client=client, table_id=table).count_rows(), 25)
    equal(lance.dataset(folder).count_rows(), 25)


@check
def adopts_when_versions_are_listed():
    adopts_before(lambda table: equal(versions(table), [1, 2]), "listed")


@more
def adopts_when_a_table_is_described():
    adopts_before(lambda table: client.describe_table(DescribeTableRequest(id=table)), "described")


@more
def adopts_before_a_commit():
    table, folder = declared("committed")
    write_beside(folder, 0, 10)
    write_beside(folder, 10, 10)
    append(table, 20, 5)
    equal(versions(table), [1, 2, 3])
    equal(lance.dataset(folder).count_rows(), 25)


@check
def does_not_adopt_what_a_rule_refuses():
    table, folder = declared("judged")
    write_beside(folder, 0, 10)
    write_beside(folder, 10, 20)
    write_beside(folder, 30, 5)
    equal(versions(table), [1])
    served = lance.dataset(namespace_client=client, table_id=table)
    equal((served.version, served.count_rows()), (1, 10))
    refused(lambda: append(table, 50, 5), "is not adopted", "Commit result for version 4 is unknown")
    equal(versions(table), [1])


@more
def adopts_every_version_where_the_table_says_so():
    table, folder = declared("shared", properties={"external_writes": "adopt"})
    write_beside(folder, 0, 10)
    append(table, 10, 10)
    write_beside(folder, 20, 10)
    equal(versions(table), [1, 2, 3])
    append(table, 30, 10)
    equal(lance.dataset(folder).count_rows(), 40)
    equal(lance.dataset(namespace_client=client, table_id=table).count_rows(), 40)


@more
def does_not_adopt_twice_where_the_table_does_not_say_so():
    table, folder = declared("kept")
    write_beside(folder, 0, 10)
    equal(versions(table), [1])
    write_beside(folder, 10, 10)
    equal(versions(table), [1])


run()
