"""The suite's body as a Python program. Standard library only."""

import json
import sys

summons = json.loads(sys.stdin.readline())
ids = 0


def call(name, **arguments):
    """Make one call and return its result line."""
    global ids
    ids += 1
    print(json.dumps({"id": ids, "call": name, "with": arguments}), flush=True)
    line = json.loads(sys.stdin.readline())
    assert line["id"] == ids, line
    return line


def need(line):
    """Return the result of a call that has to succeed."""
    if not line["ok"]:
        sys.exit("refused: %s" % line["refusal"]["message"])
    return line["result"]


line = call("updateContext", field="notes", value="hello")
if line["ok"] or line["refusal"]["code"] != "UNDECLARED_FIELD":
    sys.exit("writing an undeclared field came to %r" % line)
print("refused:", line["refusal"]["code"], file=sys.stderr)

for asked in summons["requirements"]:
    if asked["type"] == "list" and not asked["met"]:
        fact = "%s looked at %s" % (summons["agent"], asked["field"])
        need(call("updateContext", field=asked["field"], value=fact))

facts = need(call("readContext", field="facts"))["value"]
if not facts:
    sys.exit("there are no facts")
hypothesis = "%d facts, the last: %s" % (len(facts), facts[-1])
need(call("updateContext", field="hypotheses", value=hypothesis))
