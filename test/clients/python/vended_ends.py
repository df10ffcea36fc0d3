"""Credentials that end within seconds: pylance works on with new ones, and the old ones open nothing."""

import time

import lance
import lance.namespace
from lance_namespace import DescribeTableRequest

from checks import NAMESPACE, SERVER, check, equal, refused, rows, run

client = lance.namespace.RestNamespace(
    **{"uri": SERVER["url"], "header.x-api-key": SERVER["key"]}
)
table = [*NAMESPACE, "long"]
neighbour = [*NAMESPACE, "neighbour"]
DENIED = ("AccessDenied", "Access Denied", "403", "ExpiredToken")


def write(name, first, mode):
    return lance.write_dataset(rows(first, 10), namespace_client=client, table_id=name, mode=mode)


def described(name):
    return client.describe_table(DescribeTableRequest(id=name, vend_credentials=True))


@check
def a_client_works_longer_than_its_credentials():
    write(table, 0, "create")
    until = int(described(table).storage_options["expires_at_millis"]) / 1000 + 2
    dataset = lance.dataset(namespace_client=client, table_id=table)
    count = 10
    while time.time() < until:
        dataset.insert(rows(count, 10))
        count += 10
        equal(dataset.count_rows(), count)


@check
def those_of_a_table_do_not_open_its_neighbour():
    write(neighbour, 0, "create")
    options = described(table).storage_options
    location = described(neighbour).location
    refused(lambda: lance.dataset(location, storage_options=options).count_rows(), *DENIED)


@check
def the_old_ones_open_nothing():
    found = described(table)
    options = found.storage_options
    equal(lance.dataset(found.location, storage_options=options).count_rows() > 0, True)
    time.sleep(max(0, int(options["expires_at_millis"]) / 1000 - time.time()) + 2)
    refused(lambda: lance.dataset(found.location, storage_options=options).count_rows(), *DENIED)


run()
