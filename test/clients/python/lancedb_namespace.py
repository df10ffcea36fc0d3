"""LanceDB over a namespace (`connect_namespace`), which speaks the namespace dialect and writes Lance files itself."""

import lancedb

from checks import NAMESPACE, SERVER, check, equal, more, refused, rows, run

properties = {"uri": SERVER["url"], "headers.x-api-key": SERVER["key"]}
db = lancedb.connect_namespace("rest", properties)
pushed = lancedb.connect_namespace(
    "rest", properties, namespace_client_pushdown_operations=["QueryTable"]
)
here = [*NAMESPACE, "files"]


@check
def creates_and_lists_namespaces():
    db.create_namespace(here)
    equal(here[-1] in db.list_namespaces(NAMESPACE).namespaces, True)
    db.describe_namespace(here)


@check
def writes_a_table():
    goods = db.create_table("goods", rows(0, 100), namespace_path=here)
    equal(goods.count_rows(), 100)
    goods.add(rows(100, 10))
    equal(list(db.table_names(namespace_path=here)), ["goods"])


@check
def opens_a_table():
    goods = db.open_table("goods", namespace_path=here)
    equal(goods.count_rows(), 110)
    equal(goods.search([42.2, 0.0]).limit(1).to_list()[0]["id"], 42)
    equal(goods.schema, rows(0, 1).schema)


@more
def changes_a_table():
    goods = db.open_table("goods", namespace_path=here)
    goods.delete("id >= 100")
    goods.update(where="id = 1", values={"name": "renamed"})
    equal(goods.count_rows("name = 'renamed'"), 1)
    equal(db.open_table("goods", namespace_path=here).count_rows(), 100)


@more
def queries_at_the_server():
    if SERVER["queries_lance"]:
        goods = pushed.open_table("goods", namespace_path=here)
        equal(goods.search([42.2, 0.0]).limit(1).to_list()[0]["id"], 42)
        equal(len(goods.search().where("id < 5").to_list()), 5)


@check
def drops_a_table():
    db.drop_table("goods", namespace_path=here)
    refused(lambda: db.open_table("goods", namespace_path=here), "not found", "does not exist")
    db.drop_namespace(here)


run()
