"""The generated Python client of the namespace specification."""

import lance_namespace_urllib3_client as generated
import pyarrow as pa
from lance_namespace_urllib3_client import api, models

from checks import NAMESPACE, REFERENCE, SERVER, check, equal, eventually, more, refused, rows, run, stream

client = generated.ApiClient(
    generated.Configuration(host=SERVER["url"], api_key={"ApiKeyAuth": SERVER["key"]})
)
client.set_default_header("x-api-key", SERVER["key"])
namespaces = api.NamespaceApi(client)
tables = api.TableApi(client)
data = api.DataApi(client)
indices = api.IndexApi(client)
tags = api.TagApi(client)
branches = api.BranchApi(client)

here = [*NAMESPACE, "generated"]
HERE = "$".join(here)
GOODS = f"{HERE}$goods"


#: How the specification says that no vector is searched for.
NO_VECTOR = models.QueryTableRequestVector(single_vector=[])


def query(vector=NO_VECTOR, **more):
    request = models.QueryTableRequest(k=10, vector=vector, **more)
    return pa.ipc.open_file(data.query_table(GOODS, request)).read_all()


@check
def creates_and_lists_namespaces():
    namespaces.create_namespace(HERE, models.CreateNamespaceRequest())
    namespaces.create_namespace(f"{HERE}$inner", models.CreateNamespaceRequest(id=[*here, "inner"]))
    equal(namespaces.list_namespaces(HERE).namespaces, ["inner"])
    namespaces.describe_namespace(HERE, models.DescribeNamespaceRequest())
    namespaces.namespace_exists(HERE, models.NamespaceExistsRequest())
    namespaces.drop_namespace(f"{HERE}$inner", models.DropNamespaceRequest())
    refused(
        lambda: namespaces.describe_namespace(f"{HERE}$none", models.DescribeNamespaceRequest()),
        "Not Found",
    )


@check
def creates_and_describes_a_table():
    created = data.create_table(GOODS, stream(rows(0, 100)))
    equal(created.version, 1)
    equal(namespaces.list_tables(HERE).tables, ["goods"])
    described = tables.describe_table(
        GOODS, models.DescribeTableRequest(), load_detailed_metadata=True
    )
    equal([field.name for field in described.var_schema.fields], ["id", "name", "vector"])
    tables.table_exists(GOODS, models.TableExistsRequest())
    equal(isinstance(tables.list_all_tables().tables, list), True)


@check
def counts_and_queries_rows():
    equal(data.count_table_rows(GOODS, models.CountTableRowsRequest()), 100)
    equal(data.count_table_rows(GOODS, models.CountTableRowsRequest(predicate="id < 7")), 7)
    equal(query(filter="id >= 98")["id"].to_pylist(), [98, 99])
    near = models.QueryTableRequest(
        k=1,
        vector=models.QueryTableRequestVector(single_vector=[42.2, 0.0]),
        columns=models.QueryTableRequestColumns(column_names=["id"]),
    )
    found = pa.ipc.open_file(data.query_table(GOODS, near)).read_all()
    equal(found["id"].to_pylist(), [42])


@more
def queries_rows_with_an_empty_vector():
    found = query(models.QueryTableRequestVector(), filter="id >= 98")
    equal(found["id"].to_pylist(), [98, 99])


@more
def explains_plans():
    asked = models.QueryTableRequest(k=1, vector=NO_VECTOR)
    explained = data.explain_table_query_plan(
        GOODS, models.ExplainTableQueryPlanRequest(query=asked)
    )
    equal(len(explained) > 0, True)
    analyzed = models.AnalyzeTableQueryPlanRequest(k=1, vector=NO_VECTOR)
    equal(len(data.analyze_table_query_plan(GOODS, analyzed)) > 0, True)


@check
def inserts_updates_merges_and_deletes():
    data.insert_into_table(GOODS, stream(rows(100, 20)), mode="append")
    updated = data.update_table(
        GOODS, models.UpdateTableRequest(predicate="id = 1", updates=[["name", "'renamed'"]])
    )
    equal(updated.updated_rows, 1)
    data.delete_from_table(GOODS, models.DeleteFromTableRequest(predicate="id >= 110"))
    merged = data.merge_insert_into_table(
        GOODS,
        ["id"],
        stream(rows(105, 10)),
        when_matched_update_all=True,
        when_not_matched_insert_all=True,
    )
    equal((merged.num_updated_rows, merged.num_inserted_rows), (5, 5))
    equal(data.count_table_rows(GOODS, models.CountTableRowsRequest()), 115)


@more
def keeps_versions_tags_and_branches():
    versions = tables.list_table_versions(GOODS).versions
    equal(len(versions) >= 5, True)
    described = tables.describe_table_version(
        GOODS, models.DescribeTableVersionRequest(version=1)
    )
    equal(described.version.version, 1)
    tags.create_table_tag(GOODS, models.CreateTableTagRequest(tag="begin", version=1))
    equal(tags.list_table_tags(GOODS).tags["begin"].version, 1)
    tags.update_table_tag(GOODS, models.UpdateTableTagRequest(tag="begin", version=2))
    found = tags.get_table_tag_version(GOODS, models.GetTableTagVersionRequest(tag="begin"))
    equal(found.version, 2)
    tags.delete_table_tag(GOODS, models.DeleteTableTagRequest(tag="begin"))
    branches.create_table_branch(GOODS, models.CreateTableBranchRequest(name="draft"))
    equal(list(branches.list_table_branches(GOODS).branches), ["draft"])
    branches.delete_table_branch(GOODS, models.DeleteTableBranchRequest(name="draft"))


@more
def builds_indices():
    indices.create_table_scalar_index(
        GOODS, models.CreateTableIndexRequest(column="id", index_type="BTREE")
    )
    indices.create_table_index(
        GOODS,
        models.CreateTableIndexRequest(
            column="vector", index_type="IVF_FLAT", distance_type="l2", num_partitions=2
        ),
    )

    def listed():
        found = indices.list_table_indices(GOODS, models.ListTableIndicesRequest()).indexes
        return sorted(index.index_name for index in found)

    eventually(listed, ["id_idx", "vector_idx"])
    stats = indices.describe_table_index_stats(
        GOODS, "id_idx", models.DescribeTableIndexStatsRequest()
    )
    equal(stats.num_indexed_rows + stats.num_unindexed_rows, 115)
    indices.drop_table_index(GOODS, "id_idx")


@more
def changes_columns_and_metadata():
    data.alter_table_add_columns(
        GOODS,
        models.AlterTableAddColumnsRequest(
            new_columns=[models.AddColumnsEntry(name="twice", expression="id * 2")]
        ),
    )
    tables.alter_table_alter_columns(
        GOODS,
        models.AlterTableAlterColumnsRequest(
            alterations=[models.AlterColumnsEntry(path="twice", rename="double")]
        ),
    )
    tables.alter_table_drop_columns(GOODS, models.AlterTableDropColumnsRequest(columns=["double"]))
    changed = tables.update_table_schema_metadata(GOODS, {"owner": "sales"})
    equal(changed["owner"], "sales")
    stats = tables.get_table_stats(GOODS, models.GetTableStatsRequest())
    # The reference server counts deleted rows, too.
    equal(stats.num_rows, 131 if REFERENCE else 115)


@more
def restores_versions():
    tables.restore_table(GOODS, models.RestoreTableRequest(version=1))
    equal(data.count_table_rows(GOODS, models.CountTableRowsRequest()), 100)


@more
def renames_a_table():
    call = lambda: tables.rename_table(GOODS, models.RenameTableRequest(new_table_name="renamed"))
    if REFERENCE:
        refused(call, "rename_table not implemented")
    else:
        call()
        tables.rename_table(
            f"{HERE}$renamed", models.RenameTableRequest(new_table_name="goods")
        )


@more
def declares_and_deregisters_a_table():
    declared = tables.declare_table(f"{HERE}$declared", models.DeclareTableRequest())
    equal(declared.location is not None, True)
    tables.describe_table(f"{HERE}$declared", models.DescribeTableRequest())
    tables.deregister_table(f"{HERE}$declared", models.DeregisterTableRequest())


@check
def drops_tables_and_namespaces():
    tables.drop_table(GOODS)
    refused(
        lambda: tables.describe_table(GOODS, models.DescribeTableRequest()), "Not Found"
    )
    namespaces.drop_namespace(HERE, models.DropNamespaceRequest())


run()
