# SPDX-License-Identifier: MIT
"""tpcc_job.py make DB WAREHOUSES | run DB THREADS SECONDS MMAP | check DB

Three of TPC-C's transactions; money is in cents, keys are one number each. What was
committed is counted in DB.count, apart from the database."""
import json
import random
import sqlite3
import sys
import threading
import time

ITEMS, DISTRICTS, CUSTOMERS, UNDELIVERED = 100_000, 10, 3000, 900
MOST = 1 << 24  # orders of a district
SCHEMA = """
CREATE TABLE warehouse(w INTEGER PRIMARY KEY, ytd, tax, address);
CREATE TABLE district(d INTEGER PRIMARY KEY, ytd, tax, next_o, address);
CREATE TABLE customer(c INTEGER PRIMARY KEY, d, last, balance, paid, payments, data);
CREATE TABLE item(i INTEGER PRIMARY KEY, price, name, data);
CREATE TABLE stock(s INTEGER PRIMARY KEY, quantity, ytd, orders, dist, data);
CREATE TABLE orders(o INTEGER PRIMARY KEY, c, entered, carrier, lines);
CREATE TABLE new_order(o INTEGER PRIMARY KEY);
CREATE TABLE order_line(l INTEGER PRIMARY KEY, i, supply, quantity, amount, dist);
CREATE TABLE history(h INTEGER PRIMARY KEY, c, d, amount, data);
"""
INDEXES = """
CREATE INDEX by_name ON customer(d, last);
CREATE INDEX by_customer ON orders(c);
"""
NAMES = "BAR OUGHT ABLE PRI PRES ESE ANTI CALLY ATION EING".split()
HEX = "0123456789abcdef"


def text(r, n):
    return "%0*x" % (n, r.getrandbits(4 * n))


def name(n):
    return NAMES[n // 100] + NAMES[n // 10 % 10] + NAMES[n % 10]


def nurand(r, a, least, most):
    return (r.randint(0, a) | r.randint(least, most)) % (most - least + 1) + least


def order_key(d, o):
    return d * MOST + o


# ---- the data --------------------------------------------------------------

def district_of(db, r, d):
    db.execute("INSERT INTO district VALUES(?,?,?,?,?)",
               (d, CUSTOMERS * 1000, r.randrange(20), CUSTOMERS + 1, text(r, 80)))
    db.executemany("INSERT INTO customer VALUES(?,?,?,-1000,1000,1,?)", (
        (d * CUSTOMERS + c, d, name(c if c < 1000 else nurand(r, 255, 0, 999)),
         text(r, 500)) for c in range(CUSTOMERS)))
    db.executemany("INSERT INTO history(c,d,amount,data) VALUES(?,?,1000,?)",
                   ((d * CUSTOMERS + c, d, text(r, 20)) for c in range(CUSTOMERS)))
    owners = list(range(CUSTOMERS))
    r.shuffle(owners)
    orders, lines = [], []
    for o, c in enumerate(owners, 1):
        new, n = o > CUSTOMERS - UNDELIVERED, r.randint(5, 15)
        k = order_key(d, o)
        orders.append((k, d * CUSTOMERS + c, 0, None if new else r.randint(1, 10), n))
        lines += [(k * 16 + i, r.randrange(ITEMS), d // DISTRICTS, 5,
                   r.randint(1, 999999) if new else 0, text(r, 24)) for i in range(n)]
    db.executemany("INSERT INTO orders VALUES(?,?,?,?,?)", orders)
    db.executemany("INSERT INTO new_order VALUES(?)",
                   ((k[0],) for k in orders if k[3] is None))
    db.executemany("INSERT INTO order_line VALUES(?,?,?,?,?,?)", lines)


def make(path, warehouses):
    db, r = sqlite3.connect(path, isolation_level=None), random.Random(1)
    db.executescript("PRAGMA journal_mode=off; PRAGMA synchronous=off;" + SCHEMA)
    db.execute("BEGIN")
    db.executemany("INSERT INTO item VALUES(?,?,?,?)",
                   ((i, r.randint(100, 10000), text(r, 20), text(r, 40))
                    for i in range(ITEMS)))
    for w in range(warehouses):
        db.execute("INSERT INTO warehouse VALUES(?,?,?,?)",
                   (w, DISTRICTS * CUSTOMERS * 1000, r.randrange(20), text(r, 80)))
        db.executemany("INSERT INTO stock VALUES(?,?,0,0,?,?)", (
            (w * ITEMS + i, r.randint(10, 100), text(r, 240), text(r, 40))
            for i in range(ITEMS)))
        for d in range(DISTRICTS):
            district_of(db, r, w * DISTRICTS + d)
    db.execute("COMMIT")
    db.executescript(INDEXES + "PRAGMA journal_mode=wal;")
    db.close()


# ---- transactions ----------------------------------------------------------

class Terminal(threading.Thread):
    """One that does them until the end."""

    def __init__(self, path, mmap, seed, end, writer):
        super().__init__()
        self.path, self.mmap, self.end, self.writer = path, mmap, end, writer
        self.r, self.done, self.error = random.Random(seed), {}, None

    def run(self):
        try:
            self.db = sqlite3.connect(self.path, timeout=600, isolation_level=None)
            self.db.execute("PRAGMA mmap_size=%d" % self.mmap)
            self.db.execute("PRAGMA synchronous=normal")
            self.warehouses = self.one("SELECT count(*) FROM warehouse")[0]
            while time.monotonic() < self.end:
                p = self.r.random()
                what = (self.new_order if p < .48 else
                        self.payment if p < .95 else self.order_status)
                what()
                self.done[what.__name__] = self.done.get(what.__name__, 0) + 1
            with self.writer:  # the last one puts all of it into the database
                self.db.close()
        except Exception as e:  # told at the end
            self.error = repr(e)

    def one(self, sql, *args):
        return self.db.execute(sql, args).fetchone()

    def district(self):
        return self.r.randrange(self.warehouses * DISTRICTS)

    def customer(self, d):
        """By name, the one in the middle, or by number."""
        if self.r.random() < .6:
            all_ = self.db.execute("SELECT c FROM customer WHERE d=? AND last=? ORDER BY c", (
                d, name(nurand(self.r, 255, 0, 999)))).fetchall()
            return all_[len(all_) // 2][0]
        return d * CUSTOMERS + nurand(self.r, 1023, 0, CUSTOMERS - 1)

    def new_order(self):
        d, n = self.district(), self.r.randint(5, 15)
        w = d // DISTRICTS
        items = sorted({nurand(self.r, 8191, 0, ITEMS - 1) for _ in range(n)})
        c = d * CUSTOMERS + nurand(self.r, 1023, 0, CUSTOMERS - 1)
        with self.writer, self.db:
            self.db.execute("BEGIN IMMEDIATE")
            o, = self.one("SELECT next_o FROM district WHERE d=?", d)
            self.db.execute("UPDATE district SET next_o=? WHERE d=?", (o + 1, d))
            self.one("SELECT last, data FROM customer WHERE c=?", c)
            k = order_key(d, o)
            self.db.execute("INSERT INTO orders VALUES(?,?,?,NULL,?)", (k, c, 1, len(items)))
            self.db.execute("INSERT INTO new_order VALUES(?)", (k,))
            for at, i in enumerate(items):
                self.line(k * 16 + at, w, i)

    def line(self, k, w, i):
        home = w if self.r.random() < .99 else self.r.randrange(self.warehouses)
        many = self.r.randint(1, 10)
        price, = self.one("SELECT price FROM item WHERE i=?", i)
        left, dist = self.one("SELECT quantity, dist FROM stock WHERE s=?", home * ITEMS + i)
        left = left - many if left >= many + 10 else left - many + 91
        self.db.execute("UPDATE stock SET quantity=?, ytd=ytd+?, orders=orders+1 WHERE s=?",
                        (left, many, home * ITEMS + i))
        self.db.execute("INSERT INTO order_line VALUES(?,?,?,?,?,?)",
                        (k, i, home, many, many * price, dist[:24]))

    def payment(self):
        d, amount = self.district(), self.r.randint(100, 500000)
        with self.writer, self.db:
            self.db.execute("BEGIN IMMEDIATE")
            c = self.customer(d)
            for sql, key in (("UPDATE warehouse SET ytd=ytd+? WHERE w=?", d // DISTRICTS),
                             ("UPDATE district SET ytd=ytd+? WHERE d=?", d),
                             ("UPDATE customer SET balance=balance-?1, paid=paid+?1,"
                              " payments=payments+1 WHERE c=?2", c)):
                self.db.execute(sql, (amount, key))
            self.db.execute("INSERT INTO history(c,d,amount,data) VALUES(?,?,?,?)",
                            (c, d, amount, text(self.r, 20)))

    def order_status(self):
        c = self.customer(self.district())
        with self.db:
            self.db.execute("BEGIN")
            o, n = self.one("SELECT o, lines FROM orders WHERE c=? ORDER BY o DESC LIMIT 1", c)
            got = self.db.execute("SELECT i, amount FROM order_line WHERE l BETWEEN ? AND ?",
                                  (o * 16, o * 16 + 15)).fetchall()
        if len(got) != n:
            raise RuntimeError(f"order {o} has {len(got)} lines of {n}")


def run(path, threads, seconds, mmap):
    writer, began = threading.Lock(), time.monotonic()
    every = [Terminal(path, mmap, i, began + seconds, writer) for i in range(threads)]
    for t in every:
        t.start()
    for t in every:
        t.join()
    errors = [t.error for t in every if t.error]
    if errors:
        sys.exit("; ".join(errors))
    took = time.monotonic() - began
    done = {k: sum(t.done.get(k, 0) for t in every) for k in
            ("new_order", "payment", "order_status")}
    with open(path + ".count", "w", encoding="ascii") as f:
        json.dump(done, f)
    print(json.dumps({"sum": "all", "neworders": round(done["new_order"] / took, 1),
                      "payments": round(done["payment"] / took, 1), "seconds": took}))


# ---- consistency -----------------------------------------------------------

CONDITIONS = {  # of TPC-C 3.3.2; each finds what breaks it
    "1": "SELECT w FROM warehouse WHERE ytd <> (SELECT sum(ytd) FROM district WHERE d/10=w)",
    "2, 3": f"""SELECT d FROM district LEFT JOIN (SELECT o/{MOST} k, max(o) m FROM orders
 GROUP BY 1) a ON a.k=d LEFT JOIN (SELECT o/{MOST} k, max(o) m, min(o) l, count(*) n
 FROM new_order GROUP BY 1) b ON b.k=d WHERE next_o-1 IS NOT a.m%{MOST} OR a.m IS NOT b.m
 OR b.m-b.l+1 IS NOT b.n""",
    "4": "SELECT 1 WHERE (SELECT sum(lines) FROM orders) <> (SELECT count(*) FROM order_line)",
    "6": """SELECT o FROM (SELECT l/16 k, count(*) n, max(l%16) m FROM order_line GROUP BY 1)
 CROSS JOIN orders ON o=k WHERE lines<>n OR m<>n-1""",
    "5": """SELECT o FROM orders WHERE (carrier IS NULL) <> EXISTS
 (SELECT 1 FROM new_order n WHERE n.o=orders.o)""",
    "9": "SELECT d FROM district JOIN (SELECT d k, sum(amount) n FROM history GROUP BY 1) "
         "ON k=d WHERE ytd<>n",
    "10, 12": """SELECT customer.c FROM customer JOIN (SELECT c k, sum(amount) n, count(*) m
 FROM history GROUP BY 1) ON k=customer.c WHERE balance<>-n OR paid<>n OR payments<>m""",
    "stock": """SELECT s FROM (SELECT supply*100000+i k, sum(quantity) n, count(*) m
 FROM order_line JOIN orders ON o=l/16 WHERE entered=1 GROUP BY 1) CROSS JOIN stock ON s=k
 WHERE ytd<>n OR orders<>m""",
    "all stock": """SELECT 1 WHERE (SELECT sum(orders) FROM stock) <>
 (SELECT count(*) FROM order_line JOIN orders ON o=l/16 WHERE entered=1)""",
}


def check(path):
    db = sqlite3.connect(path)
    bad = [f"{k}: {x[:3]}" for k, sql in CONDITIONS.items() if (x := db.execute(sql).fetchall())]
    with open(path + ".count", encoding="ascii") as f:
        done = json.load(f)
    for what, sql in (("new_order", "SELECT count(*) FROM orders WHERE entered=1"),
                      ("payment", "SELECT count(*)-(SELECT count(*) FROM customer) "
                                  "FROM history")):
        n, = db.execute(sql).fetchone()
        if n != done[what]:
            bad.append(f"{what}: {n} of {done[what]}")
    ok, = db.execute("PRAGMA integrity_check").fetchone()
    print("; ".join(bad) or "consistent", ok)


if __name__ == "__main__":
    {"make": make, "run": run, "check": check}[sys.argv[1]](
        sys.argv[2], *map(int, sys.argv[3:]))
