"""Writers of one SQLite database in WAL mode with synchronous=FULL, each with a connection of its own.

sqlite_writers.py DATABASE WRITERS COUNT: as many threads, each of which waits for a line of input, then commits COUNT rows.
Writers take turns by a lock in the file DATABASE.turn: without it they would sleep in SQLite's busy handler.
"""
import fcntl
import sqlite3
import sys
import threading

database, writers, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
start = threading.Barrier(writers + 1)
failures = []


def write():
    try:
        connection = sqlite3.connect(database, timeout=60, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        turn = open(database + ".turn", "a")
        start.wait()
        start.wait()
        for _ in range(count):
            fcntl.flock(turn, fcntl.LOCK_EX)
            try:
                connection.execute("INSERT INTO record(name, body) VALUES ('T', ?)", ("x" * 400,))
            finally:
                fcntl.flock(turn, fcntl.LOCK_UN)
    except BaseException as error:  # told to the parent by the exit code
        failures.append(error)
        start.abort()


threads = [threading.Thread(target=write) for _ in range(writers)]
for thread in threads:
    thread.start()
start.wait()
print("ready", flush=True)
sys.stdin.readline()
start.wait()
for thread in threads:
    thread.join()
if failures:
    sys.exit(f"{failures[0]!r}")
