"""Hooks of schemathesis: what it sends as the bodies and answers that the OpenAPI document does not describe."""

import io

import pyarrow as pa
import schemathesis
from hypothesis import strategies as st

TYPES = [pa.int64(), pa.int32(), pa.utf8(), pa.float64(), pa.bool_(), pa.list_(pa.float32(), 2)]


def _stream(names, types, rows):
    fields = [pa.field(name, type_) for name, type_ in zip(names, types)]
    schema = pa.schema(fields)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema) as writer:
        if rows is not None:
            columns = [pa.nulls(rows, field.type) for field in fields]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    return sink.getvalue()


def _whole():
    names = st.lists(st.sampled_from(["id", "a", "b", "vector", "_rowid", ""]), max_size=4, unique=True)
    types = st.lists(st.sampled_from(TYPES), min_size=4, max_size=4)
    return st.builds(_stream, names, types, st.one_of(st.none(), st.integers(0, 5)))


def _damaged():
    def cut(body, at, byte):
        place = at % len(body)
        return body[:place] + bytes([byte]) + body[place + 1 : len(body) - at % 7]

    return st.builds(cut, _whole(), st.integers(0, 10_000), st.integers(0, 255))


# Streams as clients send them, damaged ones, and bytes that are none.
ARROW = st.one_of(_whole(), _whole(), _damaged(), st.binary(max_size=64))

schemathesis.openapi.media_type("application/vnd.apache.arrow.stream", ARROW)
for answered in ("application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream"):
    schemathesis.deserializer(answered)(lambda context, response: None)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Half of the requests are about the table and the namespace that are there."""
    known = {"id": "t", "index_name": "id_idx"}
    path = context.operation.path
    # What takes the table away is tried on others.
    if any(path.endswith("{id}" + end) for end in ("/drop", "/deregister", "/rename", "/rename/to/{target}")):
        return path_parameters
    if path_parameters and len(str(path_parameters.get("id", ""))) % 2 == 0:
        if "/namespace/" in path:
            known["id"] = "n"
        return {**path_parameters, **{k: v for k, v in known.items() if k in path_parameters}}
    return path_parameters


@schemathesis.hook
def map_query(context, query):
    """Another delimiter only changes what the path means."""
    return {k: v for k, v in query.items() if k != "delimiter" or len(str(v)) % 4 == 0} if query else query


@schemathesis.hook
def map_body(context, body):
    """Random ids in a body contradict the path, and nothing else would be tried."""
    if isinstance(body, dict) and "id" in body and len(body) % 3:
        return {k: v for k, v in body.items() if k not in ("id", "branch")}
    return body
