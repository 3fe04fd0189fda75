"""Prints what pyarrow and DuckDB read from a Parquet file, as JSON.

{"pyarrow": {"types": {column: type}, "rows": [{column: value}]}, "duckdb": the same}
Bytes are written as hex, times in ISO 8601 (UTC), numbers that JSON lacks as text.
"""
import datetime
import json
import math
import sys

import duckdb
import pyarrow.parquet


def plain(v):
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [plain(x) for x in v]
    if isinstance(v, (bytes, bytearray)):
        return v.hex()
    if isinstance(v, datetime.datetime):
        return v.astimezone(datetime.timezone.utc).isoformat()
    if isinstance(v, float) and not math.isfinite(v):
        return str(v)
    return v


def by_pyarrow(path):
    table = pyarrow.parquet.read_table(path)
    return {"types": {f.name: str(f.type) for f in table.schema}, "rows": plain(table.to_pylist())}


def by_duckdb(path):
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    found = db.execute("SELECT * FROM read_parquet(?)", [path])
    names = [d[0] for d in found.description]
    types = [str(t) for t in db.sql("SELECT * FROM read_parquet('%s')" % path.replace("'", "''")).types]
    rows = [dict(zip(names, row)) for row in found.fetchall()]
    return {"types": dict(zip(names, types)), "rows": plain(rows)}


json.dump({"pyarrow": by_pyarrow(sys.argv[1]), "duckdb": by_duckdb(sys.argv[1])}, sys.stdout)
