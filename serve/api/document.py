"""What `/openapi.json` says of every route beside its types: who may, and what it may refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from relume.serve.api.access import Rule, rule_of
from relume.serve.api.conditional import is_tagged
from relume.serve.api.problems import documented
from relume.serve.api.tokens import Role

if TYPE_CHECKING:
    from fastapi import FastAPI

_ALWAYS = (414, 421, 431)
_WITH_ROLE = (401, 403, 503)
"""Whoever needs a role asks for what a ledger or a runner has, and these may be away."""
_METHODS = frozenset({"get", "put", "post", "delete", "patch"})
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_BODIES: Mapping[str, tuple[str, ...]] = {
    "/v1/events": ("application/x-ndjson", "application/vnd.apache.arrow.stream"),
    "/loki/api/v1/push": (_JSON, _PROTOBUF),
    "/v1/logs": (_JSON, _PROTOBUF),
    "/api/v1/write": (_PROTOBUF,),
    "/v1/dumps": (_JSON, "application/octet-stream"),
}
"""What is pushed, which the routes decode themselves: `docs/api.md` says what is in it."""
_ANSWERED_ALIKE = "/v1/logs"
"""Answers in the form in which it is asked."""


def describe(app: FastAPI) -> None:
    """Add to the OpenAPI document of `app` what the gate does in front of its routes.

    It follows `relume.serve.api.access.RULES`, so a route that is added later is described, too.
    """
    make = app.openapi

    def openapi() -> dict[str, Any]:
        known = app.openapi_schema is not None
        document = make()
        if not known:
            _add(document)
        return document

    app.openapi = openapi  # type: ignore[method-assign] # FastAPI's own way to extend it


def _add(document: dict[str, Any]) -> None:
    schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
    for role in Role:
        words = f"A token that allows {role}."
        schemes[role.value] = {"type": "http", "scheme": "bearer", "description": words}
    for path, operations in document.get("paths", {}).items():
        if path in _BODIES:
            operations["post"]["requestBody"] = _pushed(_BODIES[path])
        if path == _ANSWERED_ALIKE:
            said = operations["post"]["responses"]["200"]
            said["content"] = _pushed(_BODIES[path])["content"]
        if is_tagged(path) and _JSON in _content(operations):
            _describe_tag(operations["get"])
        for method in _METHODS & operations.keys():
            _describe(operations[method], rule_of(method.upper(), path))


def _content(operations: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a GET is answered with; empty where there is none."""
    fine = operations.get("get", {}).get("responses", {}).get("200", {})
    content: Mapping[str, Any] = fine.get("content", {})
    return content


def _describe_tag(operation: dict[str, Any]) -> None:
    words = "The answer is that of the `ETag` which If-None-Match names."
    operation["responses"]["304"] = {"description": words}
    operation["responses"]["200"]["headers"] = {"ETag": {"schema": {"type": "string"}}}
    parameter = {
        "name": "If-None-Match",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "maxLength": 1000},
        "description": "Tags of answers that are there already.",
    }
    operation.setdefault("parameters", []).append(parameter)


def _pushed(types: tuple[str, ...]) -> dict[str, Any]:
    objects, others = {"type": "object"}, {"type": "string", "format": "binary"}
    content = {one: {"schema": objects if one == _JSON else others} for one in types}
    return {"required": True, "content": content}


def _describe(operation: dict[str, Any], rule: Rule) -> None:
    statuses = [*_ALWAYS, *(() if rule.role is None else _WITH_ROLE)]
    if "requestBody" in operation:
        statuses += [400, 408, 413]
    for status, response in documented(*statuses).items():
        operation["responses"].setdefault(str(status), response)
    if rule.role is not None:
        # Reading may be open, on the machine itself: then nothing is needed, too.
        anybody: list[dict[str, list[str]]] = [{}] if rule.role is Role.READ else []
        operation["security"] = [*anybody, {rule.role.value: []}]
