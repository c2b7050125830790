"""Reads a trace with the published definitions of OpenTelemetry's protocol, as a collector does: read_otlp.py FILE

Each line must be a message `TracesData` that has no field, no type and no value which the definitions do not know. Prints
the number of spans, events and links. The package `opentelemetry-proto` has the definitions."""

import base64
import json
import sys

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

# In OTLP's JSON these are hexadecimal; in that of protobuf, bytes are base64.
IDENTITIES = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def with_bytes(value, where=""):
    """The same, with identities as the parser of protobuf wants them."""
    if isinstance(value, list):
        return [with_bytes(entry, where) for entry in value]
    if isinstance(value, dict):
        return {key: with_bytes(entry, key) for key, entry in value.items()}
    if where in IDENTITIES:
        plain = bytes.fromhex(value)
        if len(plain) != IDENTITIES[where] and (plain or where != "parentSpanId"):
            raise ValueError(f"{where} has {len(plain)} bytes")
        return base64.b64encode(plain).decode()
    return value


def look_at(span, names):
    """What the definitions demand and their parser does not check."""
    names.add(span.name)
    if not any(span.trace_id) or not any(span.span_id):
        raise ValueError(f"a span without identity: {span}")
    if not span.name or span.kind != Span.SPAN_KIND_INTERNAL:
        raise ValueError(f"a span without name or kind: {span}")
    for at in (span.start_time_unix_nano, span.end_time_unix_nano, *(event.time_unix_nano for event in span.events)):
        # From 2020 to 2100: nanoseconds since 1970.
        if not 1577 * 10**15 < at < 4103 * 10**15:
            raise ValueError(f"no time of our days: {span}")
    for keys in ([pair.key for pair in holder.attributes] for holder in (span, *span.events)):
        if len(set(keys)) != len(keys) or not all(keys):
            raise ValueError(f"keys of attributes repeat or are empty: {span}")


def main(file):
    spans = events = links = 0
    names = set()
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            read = ParseDict(with_bytes(json.loads(line)), TracesData())
            # Nothing may get lost on the way to another collector.
            if TracesData.FromString(read.SerializeToString()) != read or not read.resource_spans:
                raise ValueError("a line changes when it is sent on")
            for resource in read.resource_spans:
                if not any(pair.key == "service.name" for pair in resource.resource.attributes):
                    raise ValueError("a resource without service.name")
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        look_at(span, names)
                        spans, events, links = spans + 1, events + len(span.events), links + len(span.links)
    print(f"spans {spans} events {events} links {links}")


if __name__ == "__main__":
    main(sys.argv[1])
