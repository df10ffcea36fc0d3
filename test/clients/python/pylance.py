"""Lance datasets and the REST namespace of pylance."""

import lance
import lance.namespace
from lance_namespace import (
    CountTableRowsRequest,
    CreateNamespaceRequest,
    DescribeTableRequest,
    DropNamespaceRequest,
    DropTableRequest,
    ListNamespacesRequest,
    ListTablesRequest,
    ListTableVersionsRequest,
)

from checks import NAMESPACE, REFERENCE, SERVER, check, equal, more, rows, run

client = lance.namespace.RestNamespace(
    **{"uri": SERVER["url"], "header.x-api-key": SERVER["key"]}
)
here = [*NAMESPACE, "datasets"]
goods = [*here, "goods"]


@check
def creates_and_lists_namespaces():
    client.create_namespace(CreateNamespaceRequest(id=here))
    listed = client.list_namespaces(ListNamespacesRequest(id=NAMESPACE)).namespaces
    equal(here[-1] in listed, True)


@check
def writes_a_dataset():
    lance.write_dataset(rows(0, 100), namespace_client=client, table_id=goods, mode="create")
    lance.write_dataset(rows(100, 10), namespace_client=client, table_id=goods, mode="append")
    equal(client.list_tables(ListTablesRequest(id=here)).tables, ["goods"])
    described = client.describe_table(DescribeTableRequest(id=goods))
    equal(described.location is not None, True)


@check
def reads_a_dataset():
    dataset = lance.dataset(namespace_client=client, table_id=goods)
    equal(dataset.count_rows(), 110)
    versions = client.list_table_versions(ListTableVersionsRequest(id=goods)).versions
    equal(sorted(version.version for version in versions), [1, 2])


@more
def counts_at_the_server():
    if SERVER["queries_lance"]:
        equal(client.count_table_rows(CountTableRowsRequest(id=goods)).count, 110)


@check
def drops_a_dataset():
    client.drop_table(DropTableRequest(id=goods))
    client.drop_namespace(DropNamespaceRequest(id=here))


run()
