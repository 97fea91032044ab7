#!/usr/bin/python3
"""Checks docs/reference/schemas, docs/reference/asyncapi.yaml and docs/reference/protocol.md against each other, and traffic against them.

    validate.py                      the documents alone
    validate.py --traffic FILE       also the lines `topic<TAB>payload` of FILE, under the root `tracking`

Prints one line `KIND COUNT` a message seen (`KIND:cleared` where an empty payload cleared the topic). Ends with 0 when all
is in order, with 1 and a line for each fault, with 69 where a Debian package is missing.
"""

import argparse
import json
import pathlib
import re
import sys

try:
    import jsonschema
    import yaml
except ImportError as error:
    sys.exit(print(f"{error.name} is missing: apt-get install python3-jsonschema python3-yaml", file=sys.stderr) or 69)

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference"

# Headings of docs/reference/protocol.md whose example is a payload, and its schema.
EXAMPLES = {
    "Location update": "location-update", "Presence": "publisher-presence", "Resolution request": "resolution-request",
    "Resolution in force": "resolution-in-force", "Liveness": "liveness", "Event": "event", "Batch": "history-batch",
    "Acknowledgement": "acknowledgement", "Trip": "trip", "Command": "command", "Answer": "answer",
    "Journey": "journey", "Estimate": "estimate",
}


def refuse_constant(word):
    raise ValueError(f"{word} is no JSON number")


def parse(text):
    """JSON as RFC 8259 has it: no NaN, no infinities, no name twice."""
    def members(pairs):
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a name stands twice in one object")
        return dict(pairs)

    return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=members)


class Schemas:
    """The files of docs/reference/schemas as one document, so that references need no look-up."""

    def __init__(self, faults):
        self.files = {path.name: json.loads(path.read_text()) for path in sorted((DOCS / "schemas").glob("*.json"))}
        self.bundle = {name: self.rewritten(schema, name) for name, schema in self.files.items()}
        for name, schema in self.files.items():
            if schema.get("$schema") != "https://json-schema.org/draft/2020-12/schema":
                faults.append(f"{name}: $schema is not 2020-12")
            try:
                jsonschema.Draft202012Validator.check_schema(schema)
            except jsonschema.SchemaError as error:
                faults.append(f"{name}: {error.message}")
            for reference in references(schema):
                if not self.resolves(reference, name):
                    faults.append(f"{name}: $ref {reference} leads nowhere")

    def rewritten(self, value, name):
        if isinstance(value, list):
            return [self.rewritten(item, name) for item in value]
        if not isinstance(value, dict):
            return value
        new = {key: self.rewritten(item, name) for key, item in value.items() if key != "$schema"}
        if "$ref" in new:
            file, _, pointer = new["$ref"].partition("#")
            new["$ref"] = f"#/$defs/{file or name}{pointer}"
        return new

    def resolves(self, reference, name):
        file, _, pointer = reference.partition("#")
        return file_member(self.files.get(file or name), pointer) is not None

    def validator(self, file):
        return jsonschema.Draft202012Validator({"$defs": self.bundle, "$ref": f"#/$defs/{file}"})


def file_member(document, pointer):
    """What a JSON pointer leads to; None where it leads nowhere."""
    for step in pointer.split("/")[1:]:
        document = document.get(step) if isinstance(document, dict) else None
    return document


def references(value):
    """Every $ref beneath a value."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref" and isinstance(item, str):
                yield item
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


class Contract:
    """docs/reference/asyncapi.yaml: topics, their messages, and the schema of each."""

    def __init__(self, schemas, faults):
        self.document = yaml.safe_load((DOCS / "asyncapi.yaml").read_text())
        self.schemas = schemas
        if not str(self.document.get("asyncapi", "")).startswith("3."):
            faults.append("asyncapi.yaml: not AsyncAPI 3")
        for reference in references(self.document):
            if not self.resolves(reference):
                faults.append(f"asyncapi.yaml: $ref {reference} leads nowhere")
        if faults:
            return
        self.validators = {
            name: schemas.validator(pathlib.PurePath(message["payload"]["schema"]["$ref"]).name)
            for name, message in self.document["components"]["messages"].items()
        }
        self.channels = []
        for name, channel in self.document["channels"].items():
            (message,) = (reference["$ref"].split("/")[-1] for reference in channel["messages"].values())
            pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(channel["address"]))
            self.channels.append((re.compile(pattern), name, message))
            if set(re.findall(r"\{(\w+)\}", channel["address"])) != set(channel["parameters"]):
                faults.append(f"asyncapi.yaml: the parameters of {channel['address']} are not those of its address")

    def resolves(self, reference):
        if reference.startswith("#"):
            return file_member(self.document, reference[1:]) is not None
        return reference.startswith("schemas/") and reference[len("schemas/"):] in self.schemas.files

    def operations(self, action):
        """(channel, roles, MQTT binding) of every operation with this action."""
        for operation in self.document["operations"].values():
            if operation["action"] == action:
                binding = file_member(self.document, operation["bindings"]["$ref"][1:])["mqtt"]
                channel = operation["channel"]["$ref"].split("/")[-1]
                yield channel, {tag["name"] for tag in operation["tags"]}, binding

    def check_table(self, faults):
        """The table of topics in docs/reference/protocol.md, row by row."""
        rows = {}
        for line in (DOCS / "protocol.md").read_text().splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == 5 and cells[0].startswith("`tracking/") and cells[4] == "in use":
                rows[cells[0].strip("`")] = (cells[1].split(" → ")[0], cells[2] == "R")
        addresses = {channel["address"]: name for name, channel in self.document["channels"].items()}
        for missing in sorted(set(rows) ^ set(addresses)):
            faults.append(f"{missing} is in only one of protocol.md and asyncapi.yaml")
        for address in sorted(set(rows) & set(addresses)):
            sender, is_retained = rows[address]
            named = set(sender.split(" or "))
            senders, channel = set(), addresses[address]
            for name, roles, binding in self.operations("send"):
                if name != channel:
                    continue
                senders |= roles
                if (binding["qos"], binding["retain"]) != (1, is_retained):
                    faults.append(f"{address}: protocol.md and asyncapi.yaml differ in QoS or retain")
            if senders != named:
                faults.append(f"{address}: sent by {sender} in protocol.md, by {sorted(senders)} in asyncapi.yaml")
            if channel not in {name for name, _, _ in self.operations("receive")}:
                faults.append(f"{address}: nobody receives it in asyncapi.yaml")

    def check_examples(self, faults):
        """The examples of docs/reference/protocol.md."""
        found = {}
        for section in (DOCS / "protocol.md").read_text().split("\n### ")[1:]:
            heading, _, text = section.partition("\n")
            example = re.search(r"^```json\n([^`]*)```$", text, re.M)
            if example:
                found[heading] = example[1]
        for heading, schema in EXAMPLES.items():
            if heading not in found:
                faults.append(f"protocol.md: no example under '{heading}'")
                continue
            for error in self.schemas.validator(f"{schema}.json").iter_errors(parse(found[heading])):
                faults.append(f"protocol.md, {heading}: {error.json_path}: {error.message}")

    def is_retained(self, channel):
        return any(name == channel and binding["retain"] for name, _, binding in self.operations("send"))

    def check_message(self, topic, payload):
        """(what was seen, its faults)."""
        for pattern, channel, message in self.channels:
            match = pattern.fullmatch(topic)
            if not match or match.groupdict().get("id") == "_clients":
                continue
            if payload == "":
                faults = [] if self.is_retained(channel) else ["an empty payload on a topic that is not retained"]
                return f"{message}:cleared", faults
            if len(payload.encode()) > 131_072:
                return message, ["above 131,072 bytes"]
            try:
                value = parse(payload)
            except ValueError as error:
                return message, [str(error)]
            errors = self.validators[message].iter_errors(value)
            return message, [f"{error.json_path}: {error.message}" for error in errors]
        return "unknown", ["no such topic"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--traffic", metavar="FILE")
    options = arguments.parse_args()
    faults, seen = [], {}
    schemas = Schemas(faults)
    contract = Contract(schemas, faults)
    if not faults:
        contract.check_table(faults)
        contract.check_examples(faults)
    if options.traffic and not faults:
        for number, line in enumerate(open(options.traffic, encoding="utf-8", newline="\n"), 1):
            topic, _, payload = line.rstrip("\n").partition("\t")
            kind, wrong = contract.check_message(topic, payload)
            seen[kind] = seen.get(kind, 0) + 1
            faults += [f"line {number}, {topic}: {fault}" for fault in wrong]
    for kind, count in sorted(seen.items()):
        print(kind, count)
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


main()
