"""Verifies ledgers by ledger-format.md alone. Arguments, or lines of standard input: ledger directories.
Prints a line for each: the verdict and the sequence number that it names. Needs: pip install blake3."""
import re, sys
from datetime import datetime
from pathlib import Path
from blake3 import blake3

CONTEXT, MOST, LONGEST = "loopx 2026-12-01 ledger record v1", 2**53 - 1, 1048576
NUMBER, HASH, NAME = rb"(0|[1-9][0-9]{0,15})", rb"([0-9a-f]{64})", rb"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?"
START, END = rb'\{"v":1,"seq":', rb',"hash":"' + HASH + rb'"\}'
LINE = re.compile(
    START + NUMBER + rb',"prev":"' + HASH + rb'","dur":' + NUMBER + rb',"ts":"([0-9-]{10}T[0-9:]{8}\.[0-9]{6}Z)"'
    rb',"actor":"(system|(?:agent|owner)/' + NAME + rb')","req":"([A-Za-z0-9][A-Za-z0-9._:/@+=-]{0,127})"'
    rb',"digest":"' + HASH + rb'","ev":\[.+\]' + END, re.DOTALL)
NEWER = re.compile(rb'\{"v":([1-9][0-9]{0,15}).*' + END, re.DOTALL)

def holds(line, stored):
    return blake3(line[:-75], derive_key_context=CONTEXT).hexdigest().encode() == stored

def record(line):  # (seq, hash, prev, dur, ts, actor, req) of a sound record, else None
    match = LINE.fullmatch(line) if len(line) < LONGEST else None
    if not match or not holds(line, match[8]):
        return None
    seq, prev, dur, ts, actor, req = int(match[1]), match[2], int(match[3]), match[4], match[5], match[6]
    try:
        year = datetime.strptime(ts.decode(), "%Y-%m-%dT%H:%M:%S.%fZ").year
    except ValueError:
        return None
    return (seq, match[8], prev, dur, ts, actor, req) if dur < seq <= MOST and year >= 1970 else None

def marks(head, boot):  # (number, hash) of each mark that counts; the append mark if of this boot; whether poisoned
    counted, fresh, poison = [], None, False
    for text, name, count in ((head[:189], b"append", 7), (head[189:401], b"synced", 9)):
        field = text.rstrip(b"\n").split(b" ")
        if len(field) == count and field[0] == name and blake3(text[:-17]).hexdigest()[:16].encode() == field[-1]:
            here, mark = field[-2] == boot, (int(field[3]), field[4])
            fresh = mark if name == b"append" and here else fresh
            poison = poison or count == 9 and field[6] == b"1" and (here or not boot or field[-2][:1] == b"-")
            counted += [mark] if (here or count == 9) and mark[0] > 0 else []
    return counted, fresh, poison

def verify(log):
    files = {path.name: path.read_bytes() for path in log.iterdir() if path.is_file()}
    if not re.fullmatch(rb"loopx-ledger/1\n[0-9A-Z]{26}\n", files.get("FORMAT", b"")):
        return "not-a-ledger", 0
    boot = b"".join(path.read_bytes() for path in Path("/proc/sys/kernel/random").glob("boot_id")).strip()
    counted, fresh, poison = marks(files.get("HEAD", b""), boot)
    names = {int(name[:20]) for name in files if re.fullmatch(r"[0-9]{20}\.jsonl", name)}
    chain, ts, segment, rest, sealed = [b"0" * 64], b"", 1, b"", False
    while segment in names:
        (*lines, rest), sealed = files["%020d.jsonl" % segment].split(b"\n"), False
        for at, line in enumerate(lines):
            found = record(line)
            if not found or found[0] != len(chain) or found[2] != chain[-1] or found[4] < ts:
                rest = b"\n".join(lines[at:] + [rest])
                break
            chain, ts, sealed = chain + [found[1]], found[4], found[5:] == (b"system", b"seal-%d" % segment)
        if rest or len(chain) == segment:
            break
        segment = len(chain)
    last, s, lines, before = len(chain) - 1, len(chain), rest.split(b"\n"), 0
    for number in (number for number, digest in counted if number <= last and chain[number] != digest):
        return "rewritten", number
    if len(lines) > 1 and (newer := NEWER.fullmatch(lines[0])) and 1 < int(newer[1]) <= MOST and holds(lines[0], newer[2]):
        return "newer", s
    counted = [mark for mark in counted if not poison or mark is not fresh] + [(1, b"")]
    later, known = any(name > segment for name in names), any(number >= s for number, _ in counted)
    evidence = known or later
    for line in lines:
        found = next(filter(None, (record(line[start.start():]) for start in re.finditer(START, line))), None)
        if found and (found[0] <= last or found[0] == before):
            return "fork", found[0]
        before, evidence = (found[0], evidence or found[3] >= s) if found else (before, evidence)
    if rest or later:
        return ("damaged", s) if evidence else ("sync-unknown", last) if poison else ("torn", s)
    calm = "finish-rotation" if sealed else "clean" if fresh == (last, chain[-1]) else "adopt"
    return "rollback" if known else "sync-unknown" if poison else calm, last

for root in sys.argv[1:] or map(str.strip, sys.stdin):
    print(*verify(Path(root) / "log"))
