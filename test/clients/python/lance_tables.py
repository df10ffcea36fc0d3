"""Lance tables that the service makes: LanceDB changes them through it, pylance opens their folders through the catalog."""

from datetime import timedelta

import lance
import lance.namespace
import lancedb
import pyarrow as pa
from lance_namespace import CreateNamespaceRequest, DescribeTableRequest
from lancedb.index import FTS, BTree, IvfFlat

from checks import NAMESPACE, SERVER, check, equal, more, rows, run

db = lancedb.connect("db://tests", api_key=SERVER["key"], host_override=SERVER["url"])
client = lance.namespace.RestNamespace(
    **{"uri": SERVER["url"], "header.x-api-key": SERVER["key"]}
)
here = [*NAMESPACE, "lance"]
WAIT = timedelta(seconds=120)


def served():
    """The table as a client of the service."""
    return db.open_table("goods", namespace_path=here)


def opened(version=None):
    """The table as pylance opens it."""
    return lance.dataset(namespace_client=client, table_id=[*here, "goods"], version=version)


def sorted_rows(table):
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def agree(count):
    """Both sides have the same rows, columns and version."""
    found = opened().to_table()
    equal(found.num_rows, count)
    equal(sorted_rows(found), sorted_rows(served().search().to_arrow()))
    equal(found.schema.names, served().schema.names)
    equal(opened().version, served().version)


def like_goods(first, count):
    """Rows for the table in its present columns."""
    made = rows(first, count)
    for name in opened().schema.names[len(made.schema) :]:
        made = made.append_column(name, pa.array(range(count), opened().schema.field(name).type))
    return made


@check
def pylance_opens_what_a_create_wrote():
    client.create_namespace(CreateNamespaceRequest(id=here, properties={"table.format": "lance"}))
    db.create_table("goods", rows(0, 100), namespace_path=here)
    equal(opened().schema.field("vector").type, rows(0, 1).schema.field("vector").type)
    agree(100)
    location = client.describe_table(DescribeTableRequest(id=[*here, "goods"])).location
    equal(lance.dataset(location).count_rows(), 100)


@check
def pylance_reads_after_each_change():
    goods = served()
    goods.add(rows(100, 20))
    agree(120)
    goods.update(where="id = 1", values={"name": "renamed"})
    equal(opened().count_rows("name = 'renamed'"), 1)
    agree(120)
    goods.delete("id >= 110")
    agree(110)
    merge = goods.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(rows(105, 10))
    agree(115)


@more
def pylance_reads_changed_columns():
    goods = served()
    goods.add_columns({"twice": "id * 2"})
    agree(115)
    equal(opened().to_table(columns=["twice"], filter="id = 7").to_pylist(), [{"twice": 14}])
    goods.alter_columns({"path": "twice", "rename": "double"})
    agree(115)
    goods.drop_columns(["double"])
    agree(115)


@check
def tags_are_the_same_on_both_sides():
    served().tags.create("service", 1)
    equal((opened("service").version, opened("service").count_rows()), (1, 100))
    opened().tags.create("pylance", 2)
    goods = served()
    equal({name: tag["version"] for name, tag in goods.tags.list().items()}, {"service": 1, "pylance": 2})
    goods.checkout("pylance")
    equal(goods.count_rows(), 120)
    goods.tags.update("pylance", 1)
    equal(opened("pylance").version, 1)
    opened().tags.delete("pylance")
    equal(list(served().tags.list()), ["service"])
    served().tags.delete("service")
    equal(opened().tags.list(), {})


@check
def the_service_reads_after_pylance():
    served()
    lance.write_dataset(
        like_goods(200, 5), namespace_client=client, table_id=[*here, "goods"], mode="append"
    )
    agree(120)
    equal(served().search([202.2, 0.0]).limit(1).to_list()[0]["id"], 202)


@more
def the_service_reads_each_change_of_pylance():
    opened().update({"name": "'by pylance'"}, where="id = 200")
    agree(120)
    opened().delete("id = 201")
    agree(119)
    merge = opened().merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(like_goods(203, 5))
    agree(122)
    opened().add_columns({"thrice": "id * 3"})
    agree(122)
    opened().drop_columns(["thrice"])
    opened().optimize.compact_files()
    agree(122)


@more
def indices_of_the_service_are_used_by_pylance():
    goods = served()
    goods.create_index("id", config=BTree(), wait_timeout=WAIT)
    goods.create_index("name", config=FTS(), wait_timeout=WAIT)
    goods.create_index("vector", config=IvfFlat(num_partitions=2), wait_timeout=WAIT)
    found = opened()
    equal(
        sorted(index.name for index in found.describe_indices()), ["id_idx", "name_idx", "vector_idx"]
    )
    equal("ScalarIndexQuery" in found.scanner(filter="id = 7").explain_plan(), True)
    equal(found.to_table(filter="id = 7")["id"].to_pylist(), [7])
    near = found.to_table(nearest={"column": "vector", "q": [42.2, 0.0], "k": 1, "nprobes": 2})
    equal(near["id"].to_pylist(), [42])
    equal(found.to_table(full_text_query="renamed")["id"].to_pylist(), [1])


@more
def indices_of_pylance_are_used_by_the_service():
    served().drop_index("id_idx")
    equal("ScalarIndexQuery" in opened().scanner(filter="id = 7").explain_plan(), False)
    opened().create_scalar_index("id", "BTREE", name="by_id")
    goods = served()
    equal(sorted(index.name for index in goods.list_indices()), ["by_id", "name_idx", "vector_idx"])
    query = goods.search().where("id = 7")
    equal("ScalarIndexQuery" in query.explain_plan(), True)
    equal([row["id"] for row in query.to_list()], [7])
    opened().drop_index("by_id")
    equal(sorted(index.name for index in served().list_indices()), ["name_idx", "vector_idx"])


@more
def restored_versions_are_the_same_on_both_sides():
    served().restore(1)
    agree(100)
    opened(2).restore()
    agree(120)


@more
def branches_are_the_same_on_both_sides():
    served().branches.create("service")
    branch = opened().checkout_version(("service", None))
    equal(branch.count_rows(), 120)
    opened().create_branch("pylance")
    equal(sorted(served().branches.list()), ["pylance", "service"])
    equal(served().branches.checkout("pylance").count_rows(), 120)


@check
def drops_what_it_made():
    db.drop_table("goods", namespace_path=here)
    db.drop_namespace(here)


run()
