"""Tables in a bucket that pylance writes and reads with credentials of the catalog, and none of its own."""

import lance
import lance.namespace
from lance_namespace import DescribeTableRequest

from checks import NAMESPACE, SERVER, check, equal, refused, rows, run

client = lance.namespace.RestNamespace(
    **{"uri": SERVER["url"], "header.x-api-key": SERVER["key"]}
)
table = [*NAMESPACE, "vended"]


def write(first, count, mode):
    return lance.write_dataset(rows(first, count), namespace_client=client, table_id=table, mode=mode)


def opened(version=None):
    return lance.dataset(namespace_client=client, table_id=table, version=version)


@check
def a_table_is_written_and_read():
    equal(write(0, 100, "create").count_rows(), 100)
    equal(opened().count_rows(), 100)


@check
def further_versions_are_committed():
    write(100, 50, "append")
    equal(opened().count_rows(), 150)
    opened().delete("id < 10")
    equal(opened().count_rows(), 140)
    dataset = opened()
    dataset.create_scalar_index("id", "BTREE")
    equal(opened().to_table(filter="id = 120").num_rows, 1)
    dataset = opened()
    dataset.optimize.compact_files()
    equal(opened().count_rows(), 140)
    equal(opened(1).count_rows(), 100)


@check
def a_tag_is_written_by_the_catalog_alone():
    refused(lambda: opened().tags.create("v", 1), "AccessDenied", "Access Denied", "403")


@check
def the_credentials_end():
    options = client.describe_table(
        DescribeTableRequest(id=table, vend_credentials=True)
    ).storage_options
    equal(options["expires_at_millis"].isdigit(), True)


run()
