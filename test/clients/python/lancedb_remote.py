"""The remote client of LanceDB (`db://`), which speaks the LanceDB dialect."""

from datetime import timedelta
from urllib.request import Request, urlopen

import lancedb
from lancedb.index import FTS, BTree, IvfFlat

from checks import NAMESPACE, REFERENCE, SERVER, check, equal, more, refused, rows, run

db = lancedb.connect("db://tests", api_key=SERVER["key"], host_override=SERVER["url"])
here = [*NAMESPACE, "remote"]
HEADERS = {"x-api-key": SERVER["key"], "content-type": "application/json"}


def table():
    return db.open_table("goods", namespace_path=here)


def ids(query):
    return [row["id"] for row in query.to_list()]


@check
def creates_and_lists_namespaces():
    db.create_namespace(here)
    db.create_namespace([*here, "inner"])
    equal(db.list_namespaces(here).namespaces, ["inner"])
    db.describe_namespace(here)
    db.drop_namespace([*here, "inner"])


@check
def creates_and_opens_a_table():
    db.create_table("goods", rows(0, 100), namespace_path=here)
    equal(db.table_names(namespace_path=here), ["goods"])
    equal(db.list_tables(here).tables, ["goods"])
    equal(table().schema, rows(0, 1).schema)
    equal(table().version >= 1, True)
    equal(table().count_rows(), 100)


@check
def fills_a_declared_table_by_creating_it():
    if REFERENCE:
        return  # the client cannot read how that server describes such a table
    declare = Request(f"{SERVER['url']}/v1/table/{'$'.join(here)}$declared/declare", b"{}", HEADERS)
    urlopen(declare).close()
    opened = db.open_table("declared", namespace_path=here)
    refused(lambda: opened.add(rows(0, 3)), "create_table with its first rows")
    db.create_table("declared", rows(0, 3), mode="overwrite", namespace_path=here)
    opened = db.open_table("declared", namespace_path=here)
    opened.add(rows(3, 2))
    equal(opened.count_rows(), 5)
    db.drop_table("declared", namespace_path=here)


@check
def counts_and_queries_rows():
    equal(table().count_rows("id < 10"), 10)
    equal(ids(table().search().where("id >= 98").select(["id"])), [98, 99])
    equal(len(table().search().limit(7).to_list()), 7)
    equal(table().head(3)["id"].to_pylist(), [0, 1, 2])
    found = table().search().where("id = 3").select({"twice": "id * 2"}).to_list()
    equal(found, [{"twice": 6}])


@check
def searches_vectors():
    near = table().search([42.2, 0.0]).limit(2).select(["id", "_distance"])
    equal(ids(near), [42, 43])
    filtered = table().search([42.2, 0.0]).where("id > 50", prefilter=True).limit(1)
    equal(ids(filtered), [51])
    cosine = table().search([1.0, 0.0]).distance_type("cosine").limit(3)
    equal(len(cosine.to_list()), 3)
    with_ids = table().search([5.0, 0.0]).with_row_id(True).limit(1).to_list()
    equal("_rowid" in with_ids[0], True)


@more
def explains_plans():
    plan = table().search([1.0, 0.0]).limit(3)
    equal(len(plan.explain_plan()) > 0, True)
    equal(len(plan.analyze_plan()) > 0, True)


@check
def adds_updates_merges_and_deletes():
    goods = table()
    goods.add(rows(100, 20))
    equal(goods.count_rows(), 120)
    updated = goods.update(where="id = 1", values={"name": "renamed"})
    equal(updated.rows_updated, 1)
    equal(goods.count_rows("name = 'renamed'"), 1)
    goods.delete("id >= 110")
    equal(goods.count_rows(), 110)
    merge = goods.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merged = merge.execute(rows(105, 10))
    equal((merged.num_updated_rows, merged.num_inserted_rows), (5, 5))
    equal(goods.count_rows(), 115)


@more
def keeps_versions_and_tags():
    goods = table()
    versions = goods.list_versions()
    equal(len(versions) >= 5, True)
    first = min(version["version"] for version in versions)
    goods.tags.create("begin", first)
    equal(goods.tags.list()["begin"]["version"], first)
    equal(goods.tags.get_version("begin"), first)
    goods.checkout(first)
    equal(goods.count_rows(), 100)
    goods.checkout_latest()
    equal(goods.count_rows(), 115)
    goods.tags.delete("begin")
    equal(goods.tags.list(), {})


@more
def builds_indices():
    goods = table()
    wait = timedelta(seconds=120)
    goods.create_index("id", config=BTree(), wait_timeout=wait)
    goods.create_index("name", config=FTS(), wait_timeout=wait)
    goods.create_index("vector", config=IvfFlat(num_partitions=2), wait_timeout=wait)
    listed = {index.name: index.columns for index in goods.list_indices()}
    equal(listed, {"id_idx": ["id"], "name_idx": ["name"], "vector_idx": ["vector"]})
    equal(goods.index_stats("id_idx").num_indexed_rows, 115)
    equal(goods.index_stats("none"), None)
    found = goods.search("number", query_type="fts").limit(5).select(["id", "_score"])
    equal(len(found.to_list()), 5)
    equal(ids(goods.search([42.2, 0.0]).limit(1)), [42])
    goods.drop_index("id_idx")
    equal(sorted(index.name for index in goods.list_indices()), ["name_idx", "vector_idx"])


@more
def changes_columns():
    goods = table()
    goods.add_columns({"twice": "id * 2"})
    equal(goods.search().where("id = 7").select(["twice"]).to_list(), [{"twice": 14}])
    goods.alter_columns({"path": "twice", "rename": "double"})
    goods.drop_columns(["double"])
    equal([field.name for field in table().schema], ["id", "name", "vector"])


@more
def tells_statistics():
    # The reference server counts deleted rows, too.
    equal(table().stats()["num_rows"], 131 if REFERENCE else 115)


@more
def restores_versions():
    goods = table()
    first = min(version["version"] for version in goods.list_versions())
    goods.restore(first)
    equal(goods.count_rows(), 100)


@more
def refuses_what_cannot_be_said():
    if REFERENCE:
        ordered = table().search().order_by([{"column_name": "id", "ascending": False}]).limit(1)
        refused(ordered.to_list, "order_by has no form in the namespace dialect")


@check
def says_that_a_table_is_not_there():
    refused(lambda: db.open_table("none", namespace_path=here), "not found")
    refused(
        lambda: db.create_table("goods", rows(0, 1), namespace_path=here), "already exists"
    )


@check
def drops_tables_and_namespaces():
    db.drop_table("goods", namespace_path=here)
    equal(db.table_names(namespace_path=here), [])
    db.drop_namespace(here)


run()
