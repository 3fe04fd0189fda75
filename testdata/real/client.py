"""Writes to a Milvus, notes what it answers, and compares copies with the notes.

    client.py write PORT NOTES SEED      makes collections and writes; NOTES gets every moment's rows
    client.py compare PORT NOTES MOMENT SUFFIX
                                         each collection of that moment against the one with the suffix
    client.py older PORT                 makes collections and writes
    client.py later PORT NOTES           writes more to them; NOTES gets the rows of this run alone
    client.py drop PORT SUFFIX           drops the collections with the suffix

NOTES is JSON: {"moments": [{"until": hybrid timestamp, "collections": {name: {partition: [row, ...]}}}]}.
"""
import json
import random
import sys
import time

import numpy
from pymilvus import Collection, CollectionSchema, DataType, FieldSchema, connections, utility

BATCH = 40


def field(name, kind, **more):
    return FieldSchema(name, kind, **more)


def schemas():
    """Every type of 2.3, both kinds of keys, a dynamic field, a partition key."""
    vector = field("vector", DataType.FLOAT_VECTOR, dim=4)
    yield "types", CollectionSchema([
        field("id", DataType.INT64, is_primary=True), field("bool", DataType.BOOL), field("i8", DataType.INT8),
        field("i16", DataType.INT16), field("i32", DataType.INT32), field("i64", DataType.INT64),
        field("f32", DataType.FLOAT), field("f64", DataType.DOUBLE), field("text", DataType.VARCHAR, max_length=400),
        field("json", DataType.JSON), field("list", DataType.ARRAY, element_type=DataType.INT64, max_capacity=9),
        field("words", DataType.ARRAY, element_type=DataType.VARCHAR, max_capacity=5, max_length=30), vector,
    ], enable_dynamic_field=True), 2
    yield "texts", CollectionSchema([
        field("key", DataType.VARCHAR, is_primary=True, max_length=60),
        field("part", DataType.VARCHAR, max_length=20, is_partition_key=True), field("bits", DataType.BINARY_VECTOR, dim=16),
    ]), 1
    yield "parts", CollectionSchema([field("id", DataType.INT64, is_primary=True), field("n", DataType.INT32), vector]), 2
    yield "upserts", CollectionSchema([field("id", DataType.INT64, is_primary=True), field("n", DataType.INT64), vector]), 1


def value(f, rng, key):
    """One value; key is the row's number."""
    t = f.dtype
    if f.is_primary:
        return key if t == DataType.INT64 else f"key {key} é"
    if f.name == "part":
        return f"p{key % 5}"
    if t == DataType.BOOL:
        return rng.random() < 0.5
    if t in (DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64):
        bits = {DataType.INT8: 7, DataType.INT16: 15, DataType.INT32: 31, DataType.INT64: 63}[t]
        return rng.randrange(-2**bits, 2**bits)
    if t == DataType.FLOAT:
        return float(numpy.float32(rng.gauss(0, 1e6)))
    if t == DataType.DOUBLE:
        return rng.gauss(0, 1e100)
    if t == DataType.VARCHAR:
        return "".join(rng.choice("abc äß\n\"'") for _ in range(rng.randrange(40)))
    if t == DataType.JSON:
        return {"n": rng.randrange(9), "deep": [{"a": None}, rng.random()]}
    if t == DataType.ARRAY:
        n = rng.randrange(5)
        return [rng.randrange(-2**62, 2**62) if f.name == "list" else f"w{rng.randrange(99)}" for _ in range(n)]
    if t == DataType.BINARY_VECTOR:
        return rng.randbytes(f.params["dim"] // 8)
    return [float(numpy.float32(rng.random())) for _ in range(f.params["dim"])]


class Writer:
    """Writes to all collections and knows the moments."""

    def __init__(self, seed):
        self.rng, self.next, self.moments, self.collections = random.Random(seed), 0, [], {}

    def create(self, name, schema, shards):
        c = Collection(name, schema, num_shards=shards)
        make_index(c)
        c.load()
        self.collections[name] = c

    def rows(self, c, keys):
        rows = [{f.name: value(f, self.rng, k) for f in c.schema.fields} for k in keys]
        if c.schema.enable_dynamic_field:
            for r in rows[::3]:
                r["extra"] = self.rng.randrange(1000)
        return rows

    def insert(self, name, n=BATCH, partition=None):
        keys = range(self.next, self.next + n)
        self.next += n
        c = self.collections[name]
        c.insert(self.rows(c, keys), partition_name=partition)
        return list(keys)

    def delete(self, name, keys, partition=None):
        c = self.collections[name]
        key = c.schema.primary_field
        literal = [k if key.dtype == DataType.INT64 else f"key {k} é" for k in keys]
        c.delete(f"{key.name} in {json.dumps(literal, ensure_ascii=False)}", partition_name=partition)

    def note(self):
        """The rows of now. What follows has a later timestamp."""
        time.sleep(0.05)
        until = int(time.time() * 1000) << 18
        time.sleep(0.05)
        self.moments.append({"until": until, "collections": {n: answers(c) for n, c in self.collections.items()}})
        print(f"moment {len(self.moments) - 1}: {until}", flush=True)


def make_index(c):
    for f in c.schema.fields:
        if f.dtype == DataType.FLOAT_VECTOR:
            c.create_index(f.name, {"index_type": "FLAT", "metric_type": "L2", "params": {}})
        elif f.dtype == DataType.BINARY_VECTOR:
            c.create_index(f.name, {"index_type": "BIN_FLAT", "metric_type": "HAMMING", "params": {}})


def plain(v):
    if isinstance(v, bytes):
        return v.hex()
    if isinstance(v, (numpy.floating, numpy.integer)):
        return v.item()
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    return [plain(x) for x in v] if isinstance(v, (list, tuple)) or type(v).__module__ == "google._upb._message" else v


def answers(c):
    """All rows by partition name; by "" where a partition key decides."""
    key = c.schema.primary_field
    names = [None] if any(f.is_partition_key for f in c.schema.fields) else [p.name for p in c.partitions]
    out = {}
    for name in names:
        rows = c.query(f"{key.name} >= 0" if key.dtype == DataType.INT64 else f'{key.name} >= ""',
                       output_fields=["*"], consistency_level="Strong", partition_names=name and [name])
        rows = [json.loads(json.dumps(plain(r))) for r in rows]
        out[name or ""] = sorted(rows, key=lambda r: str(r[key.name]))
    return out


def write(notes, seed):
    w = Writer(seed)
    for s in schemas():
        w.create(*s)
    parts = w.collections["parts"]
    for name in ("red", "blue", "gone"):
        parts.create_partition(name)
    keys = {n: w.insert(n) for n in ("types", "texts", "upserts")}
    red, gone = w.insert("parts", partition="red"), w.insert("parts", partition="gone")
    blue, rest = w.insert("parts", partition="blue"), w.insert("parts")
    w.note()
    w.delete("types", keys["types"][:5])
    w.delete("texts", keys["texts"][3:9])
    w.delete("parts", red[:3] + blue[:2], partition="red")  # not those of blue
    w.delete("parts", rest[:4] + gone[:4])
    for c in w.collections.values():
        c.flush()
    again = w.rows(w.collections["types"], keys["types"][:3])
    w.collections["types"].insert(again)  # deleted keys come back
    for _ in range(3):
        w.collections["upserts"].upsert(w.rows(w.collections["upserts"], keys["upserts"][::2]))
    w.insert("types")
    w.note()
    parts.release()
    parts.drop_partition("gone")
    parts.create_partition("late")
    parts.load()
    w.insert("parts", partition="late")
    w.insert("texts")
    w.note()
    w.delete("upserts", keys["upserts"][:7])
    w.delete("types", keys["types"])  # the accident
    old = w.collections.pop("texts")
    old.drop()
    w.insert("upserts")
    w.note()
    with open(notes, "w") as f:
        json.dump({"moments": w.moments}, f)


LATER = 100_000  # keys of the second run begin here


def older():
    w = Writer(1)
    for s in schemas():
        w.create(*s)
    w.collections["parts"].create_partition("red")
    for name in w.collections:
        w.insert(name)


def number(key):
    return key if isinstance(key, int) else int(key.split()[1])


def later(notes):
    w = Writer(2)
    w.next = LATER
    w.collections = {name: Collection(name) for name, *_ in schemas()}
    for name in ("types", "texts", "upserts"):
        w.insert(name)
    red = w.insert("parts", partition="red")
    w.delete("parts", red[:3] + [1, 2])  # the last two are older than the log
    w.note()
    moment = w.moments[0]
    for name, partitions in moment["collections"].items():
        key = w.collections[name].schema.primary_field.name
        moment["collections"][name] = {p: [r for r in rows if number(r[key]) >= LATER] for p, rows in partitions.items()}
    with open(notes, "w") as f:
        json.dump({"moments": w.moments}, f)


def compare(notes, moment, suffix):
    with open(notes) as f:
        noted = json.load(f)["moments"][int(moment)]["collections"]
    wrong = 0
    for name, want in noted.items():
        c = Collection(name + suffix)
        make_index(c)
        c.load()
        have = answers(c)
        for partition in sorted(want.keys() | have.keys()):
            # A partition may be there before its time, and empty: the log does not say when it was made.
            a, b = want.get(partition, []), have.get(partition, [])
            if a != b or partition not in have:
                wrong += 1
                print(f"{name}, partition {partition!r}: {len(a)} rows then, {len(b)} in the copy")
                for x, y in zip(a, b):
                    if x != y:
                        print("  then", x, "\n  copy", y)
                        break
            else:
                print(f"{name}, partition {partition!r}: {len(a)} rows are equal")
    sys.exit(1 if wrong else 0)


def main():
    what, port, *rest = sys.argv[1:]
    connections.connect(host="127.0.0.1", port=port)
    if what == "drop":
        for name in utility.list_collections():
            if name.endswith(rest[0]):
                utility.drop_collection(name)
    else:
        {"write": write, "older": older, "later": later, "compare": compare}[what](*rest)


if __name__ == "__main__":
    main()
