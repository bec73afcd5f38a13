# SPDX-License-Identifier: MIT
"""Run by ../pyarrow: make|use DIR ROWS."""
import sys
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

mode, where, rows = sys.argv[1], sys.argv[2] + "/", int(sys.argv[3])


def batches():
    rng = np.random.default_rng(3)
    for at in range(0, rows, 100000):
        i = np.arange(at, min(at + 100000, rows))
        yield pa.record_batch([
            pa.array(i), pa.array(rng.random(len(i))),
            pa.array(np.char.mod("name %d", i % 1000)),
            pa.array(rng.integers(0, 50, len(i)).astype(np.int32)),
        ], names=["id", "x", "s", "k"])


def make():
    writer = pwriter = None
    for b in batches():
        if not writer:
            writer = ipc.new_file(where + "t.arrow", b.schema)
            pwriter = pq.ParquetWriter(where + "t.parquet", b.schema)
        writer.write_batch(b)
        pwriter.write_batch(b)
    writer.close()
    pwriter.close()


def say(name, t):
    g = t.group_by("k").aggregate([("id", "sum"), ("x", "max"), ("s", "count")])
    print(name, t.num_rows, pc.sum(t["id"]), pc.min(t["x"]), pc.max(t["s"]),
          sorted(g.to_pylist(), key=lambda r: r["k"])[:3])


def use():
    with pa.memory_map(where + "t.arrow") as m:
        table = ipc.open_file(m).read_all()
        table.validate(full=True)
        say("arrow", table)
        picked = table.take(np.random.default_rng(1).integers(0, rows, 5000))
        say("picked", picked)
        m.seek(4096 * 3 + 17)
        print("read", zlib.crc32(m.read(100000)), m.size())
        feather.write_feather(table.slice(rows // 3, rows // 5),
                              where + "slice.feather",
                              compression="uncompressed")
        with pa.OSFile(where + "copy", "wb") as f:
            f.write(table["id"].chunk(0).buffers()[1])
    say("feather", feather.read_table(where + "slice.feather", memory_map=True))
    say("parquet", pq.read_table(where + "t.parquet", memory_map=True))
    w = pa.create_memory_map(where + "new", 16 << 20)
    for at in range(0, 16 << 20, 1 << 20):
        w.seek(at)
        w.write(bytes([at >> 20]) * 700000)
    w.flush()
    w.resize(24 << 20)
    w.seek((24 << 20) - 5)
    w.write(b"tail!")
    w.close()
    with pa.memory_map(where + "new", "r+") as m:
        m.seek(12345)
        m.write(b"overwritten")
        m.seek(0)
        print("new", zlib.crc32(m.read()))


make() if mode == "make" else use()
