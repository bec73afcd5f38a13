# SPDX-License-Identifier: MIT
"""Run by ../monetdb: generate TABLES FACTOR | load|query|change|sums TABLES DB."""
import glob
import os
import re
import sys
import zlib

what, tables, where = sys.argv[1:4]


def generate():
    import duckdb
    import duckdb_extension_tpch as extension
    c = duckdb.connect()
    c.execute("LOAD '%s'" % glob.glob(os.path.dirname(
        extension.__file__) + "/extensions/*/tpch.duckdb_extension")[0])
    c.execute("CALL dbgen(sf=%s)" % where)
    names = [r[0] for r in c.execute("SHOW TABLES").fetchall()]
    with open(tables + "/schema.sql", "w") as f:
        for name in names:
            cols = c.execute("DESCRIBE " + name).fetchall()
            f.write("CREATE TABLE %s (%s);\n" % (name, ", ".join(
                "%s %s" % (x[0], re.sub(r"DECIMAL\(.*\)", "DOUBLE", x[1]))
                for x in cols)))
            c.execute("COPY %s TO '%s/%s.csv' (DELIMITER '|', HEADER false)" %
                      (name, tables, name))
    with open(tables + "/queries.sql", "w") as f:
        for number, text in c.execute("FROM tpch_queries()").fetchall():
            f.write(text.strip().rstrip(";") + "\n;;\n")


def connect():
    import monetdbe
    return monetdbe.connect(where)


def load():
    c = connect()
    cur = c.cursor()
    for line in open(tables + "/schema.sql"):
        name = line.split()[2]
        cur.execute(line.replace("VARCHAR", "STRING"))
        cur.execute("COPY INTO %s FROM '%s/%s.csv' USING DELIMITERS '|', E'\\n'"
                    ", '\"' NULL AS ''" % (name, tables, name))
    c.commit()
    count(cur)
    c.close()


def count(cur):
    for line in open(tables + "/schema.sql"):
        name = line.split()[2]
        cur.execute("SELECT count(*) FROM " + name)
        print(name, cur.fetchall())


def rounded(row):
    return tuple("%.4g" % x if isinstance(x, float) else str(x) for x in row)


def query():
    c = connect()
    cur = c.cursor()
    count(cur)
    done = 0
    for i, text in enumerate(open(tables + "/queries.sql").read()
                             .split("\n;;\n")[:-1], 1):
        try:
            cur.execute(text)
            rows = [rounded(r) for r in cur.fetchall()]
        except Exception as e:  # the same one on both sides, or it differs
            print("Q%d" % i, type(e).__name__, str(e)[:120])
            continue
        done += 1
        print("Q%d" % i, len(rows), "%08x" % zlib.crc32(repr(rows).encode()))
    c.close()
    if done < 20:
        sys.exit("only %d of the queries ran" % done)


def change():
    c = connect()
    cur = c.cursor()
    for text in (
            "UPDATE lineitem SET l_quantity = l_quantity + 1 "
            "WHERE l_orderkey % 7 = 0",
            "DELETE FROM orders WHERE o_orderkey % 11 = 0",
            "INSERT INTO lineitem SELECT * FROM lineitem "
            "WHERE l_orderkey % 2 = 1",
            "CREATE TABLE wide AS SELECT l.*, o.o_totalprice FROM lineitem l, "
            "orders o WHERE l_orderkey = o_orderkey WITH DATA",
            "ALTER TABLE wide ADD COLUMN more DOUBLE",
            "UPDATE wide SET more = l_extendedprice * o_totalprice"):
        cur.execute(text)
        c.commit()
    cur.execute("SELECT count(*), sum(l_quantity), sum(more) FROM wide")
    print([rounded(r) for r in cur.fetchall()])
    c.close()


def sums():
    """A checksum of every column of every table, each value mixed with its
    row's key. The sums are whole numbers below 2^53, exact in any order."""
    c = connect()
    cur = c.cursor()
    cur.execute("SELECT t.name, c.name FROM sys.tables t, sys.columns c WHERE "
                "t.id = c.table_id AND NOT t.system ORDER BY t.name, c.number")
    keys = {}
    for table, column in cur.fetchall():
        key = keys.setdefault(table, column)
        cur.execute("SELECT count(*), sum(cast(hash(%s) %% 999983 AS double) * "
                    "(hash(%s) %% 101)) FROM %s" % (column, key, table))
        print(table, column, ["%d" % x for x in cur.fetchall()[0]])
    c.close()


globals()[what]()
