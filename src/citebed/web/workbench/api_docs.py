"""The description of the API: complete for programs, and as a page for people."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response

from citebed.web.workbench.access import key_file
from citebed.web.workbench.answers import ERRORS, Problem
from citebed.web.workbench.site import Here

router = APIRouter()
METHODS = ("get", "post", "put", "patch", "delete")
_ABOUT = (
    "What the pages of the workbench ask with, for scripts: the same functions as the command "
    "line, and rows with the same fields as --json prints. Send the server's key as "
    "'Authorization: Bearer KEY'. What is refused is told in one form: {\"message\": …}."
)
_SCHEME = {
    "type": "http", "scheme": "bearer",
    "description": "The key of this server, which citebed serve tells the place of.",
}  # fmt: skip


def description(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI description; each way to ask has a summary and all that it may be answered."""
    if app.openapi_schema is None:
        made = get_openapi(
            title="citebed", version=app.version, description=_ABOUT, routes=app.routes
        )
        parts = made.setdefault("components", {})
        parts.setdefault("securitySchemes", {})["key"] = _SCHEME
        parts.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        made["security"] = [{"key": []}]
        for ways in made.get("paths", {}).values():
            for method in METHODS:
                if method in ways:
                    _complete(ways[method])
        app.openapi_schema = _plainer(made)
    return app.openapi_schema


def _plainer(part: Any) -> Any:
    """Pairs of one kind as arrays of two, which more programs read than arrays place by place."""
    if isinstance(part, list):
        return [_plainer(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {name: _plainer(each) for name, each in part.items()}
    places = found.get("prefixItems")
    if isinstance(places, list) and places and all(each == places[0] for each in places):
        found["items"] = found.pop("prefixItems")[0]
    return found


def _complete(way: dict[str, Any]) -> None:
    """Take the summary from the docstring, and add the errors that every address may answer."""
    told = " ".join(way.get("description", way["summary"]).split())
    first, _, rest = told.partition(". ")
    way["summary"] = first.rstrip(".")
    way["description"] = rest or told
    problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, about in ERRORS.items():
        said = {"description": about["description"], "content": problem}
        way["responses"].setdefault(str(status), said)
    if "HTTPValidationError" in json.dumps(way["responses"].get("422", {})):
        way["responses"]["422"] = {"description": ERRORS[422]["description"], "content": problem}


class Field(NamedTuple):
    """A field that is sent or answered: its name (with a dot for one inside another), its type in
    words, whether it must be there, and what it means."""

    name: str
    kind: str
    is_needed: bool
    about: str


class Way(NamedTuple):
    """One way to ask: what is sent, an example of it, and what is answered."""

    anchor: str
    method: str
    path: str
    summary: str
    description: str
    parameters: list[Field]
    sent: list[Field]
    curl: str
    answered: list[Field]
    statuses: list[tuple[str, str]]


def ways(made: dict[str, Any], address: str) -> dict[str, list[Way]]:
    """All ways to ask, by subject, as the page shows them."""
    found: dict[str, list[Way]] = {}
    for path, methods in made.get("paths", {}).items():
        for method in METHODS:
            if method in methods:
                subject = (methods[method].get("tags") or ["more"])[0]
                way = _way(made, path, method, methods[method], address)
                found.setdefault(subject, []).append(way)
    return found


def _way(made: dict[str, Any], path: str, method: str, told: dict[str, Any], address: str) -> Way:
    content = told.get("requestBody", {}).get("content", {})
    form = next(iter(content), "")
    schema = content.get(form, {}).get("schema", {})
    good: dict[str, Any] = next(
        (each for status, each in told["responses"].items() if status[0] == "2"), {}
    )
    answer = good.get("content", {}).get("application/json", {}).get("schema", {})
    parameters = [
        Field(
            each["name"], f"{kind_of(made, each['schema'])}, in the {each['in']}",
            each.get("required", False), each.get("description", ""),
        )
        for each in told.get("parameters", [])
    ]  # fmt: skip
    statuses = [(status, each["description"]) for status, each in told["responses"].items()]
    anchor = re.sub(r"[^a-z0-9]+", "-", f"{method} {path}".lower()).strip("-")
    curl = _curl(made, f"{address}{path}", method, form, schema)
    return Way(
        anchor, method.upper(), path, told["summary"], told["description"], parameters,
        list(fields(made, schema)), curl, list(fields(made, answer)), sorted(statuses),
    )  # fmt: skip


def fields(made: dict[str, Any], schema: dict[str, Any], before: str = "") -> list[Field]:
    """The fields of an object, and of objects in it, three deep."""
    whole = _resolved(made, schema)
    if whole.get("type") == "array":
        return fields(made, whole.get("items", {}), f"{before}[].")
    found = []
    for name, each in whole.get("properties", {}).items():
        inner = _resolved(made, each)
        is_needed = name in whole.get("required", [])
        about = inner.get("description", "") if "$ref" not in each else ""
        found.append(Field(f"{before}{name}", kind_of(made, each), is_needed, about))
        listed = inner.get("type") == "array"
        below = _resolved(made, inner.get("items", {}) if listed else inner)
        if below.get("properties") and before.count(".") < 2:
            found += fields(made, below, f"{before}{name}{'[]' if listed else ''}.")
    return found


def kind_of(made: dict[str, Any], schema: dict[str, Any]) -> str:
    """The type of a field in words."""
    whole = _resolved(made, schema)
    if "anyOf" in whole:
        return " or ".join(kind_of(made, each) for each in whole["anyOf"])
    if "const" in whole or "enum" in whole:
        return " or ".join(json.dumps(each) for each in whole.get("enum", [whole.get("const")]))
    kind = str(whole.get("type", "anything"))
    if kind == "array":
        return f"array of {kind_of(made, whole.get('items', {}))}"
    if whole.get("format") == "binary":
        return "file"
    low, high = whole.get("minimum"), whole.get("maximum")
    limits = f" {_number(low)} to {_number(high)}" if low is not None and high is not None else ""
    longest = f" of at most {whole['maxLength']:,} characters" if "maxLength" in whole else ""
    otherwise = whole.get("default")
    default = f", {json.dumps(otherwise)} if left out" if otherwise not in (None, "", []) else ""
    return f"{kind}{limits}{longest}{default}"


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _resolved(made: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """What a reference leads to; a description's own are followed, and not for ever."""
    for _ in range(10):
        if "$ref" not in schema:
            break
        schema = made["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def _curl(
    made: dict[str, Any], address: str, method: str, form: str, schema: dict[str, Any]
) -> str:
    words = ['curl -H "Authorization: Bearer $(cat KEYFILE)"']
    if method != "get":
        words.append(f"-X {method.upper()}")
    if form == "multipart/form-data":
        names = list(_resolved(made, schema).get("properties", {}))
        words += [f"-F {name}=@FILE" for name in names[:1]]
    elif form:
        words.append("-H 'Content-Type: application/json'")
        said = json.dumps(example(made, schema), ensure_ascii=False)
        words.append("-d '" + said.replace("'", "'\\''") + "'")
    return " \\\n  ".join([*words, f"'{address}'"])


def example(made: dict[str, Any], schema: dict[str, Any], name: str = "") -> Any:
    """Something to send: what must be there, and what the description has as an example."""
    whole = _resolved(made, schema)
    if whole.get("examples"):
        return whole["examples"][0]
    if "anyOf" in whole:
        return example(made, whole["anyOf"][0], name)
    if "enum" in whole or "const" in whole:
        return whole.get("enum", [whole.get("const")])[0]
    if whole.get("properties"):
        needed = whole.get("required") or list(whole["properties"])[:1]
        return {each: example(made, whole["properties"][each], each) for each in needed}
    kinds = {"integer": 1, "number": 0.5, "boolean": True, "object": {}}
    if whole.get("type") == "array":
        return [example(made, whole.get("items", {}), name)]
    return kinds.get(whole.get("type", ""), _TEXTS.get(name, name or "text"))


_TEXTS = {
    "text": "Pseudo-relevance feedback adds terms to a query.",
    "doc_id": "rocchio1971relevance",
}


@router.get("/api/docs")
async def api_page(site: Here, request: Request) -> Response:
    """The API for people: every way to ask, its fields, an example."""
    made = description(request.app)
    address = f"{request.url.scheme}://{request.url.netloc}"
    key = str(key_file())
    return site.page("api", "api", subjects=ways(made, address), about=_ABOUT, key=key)
