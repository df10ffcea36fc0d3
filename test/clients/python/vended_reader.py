"""The table t of a bucket, which pylance reads with the credentials of a caller who may only read it."""

import lance
import lance.namespace
from lance_namespace import DescribeTableRequest

from checks import SERVER, check, equal, refused, run

client = lance.namespace.RestNamespace(
    **{"uri": SERVER["url"], "header.x-api-key": SERVER["key"]}
)


@check
def the_table_is_read():
    equal(lance.dataset(namespace_client=client, table_id=["t"]).count_rows(), 2)


@check
def nothing_is_written():
    described = client.describe_table(DescribeTableRequest(id=["t"], vend_credentials=True))
    options = described.storage_options
    denied = ("AccessDenied", "Access Denied", "403")
    more = lance.dataset(described.location, storage_options=options).to_table().slice(0, 1)
    refused(
        lambda: lance.write_dataset(
            more, described.location, mode="append", storage_options=options
        ),
        *denied,
    )
    equal(lance.dataset(described.location, storage_options=options).count_rows(), 2)


run()
