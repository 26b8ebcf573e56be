"""The description of the API, as OpenAPI for programs and as a page for people."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response

from citebed.web.access import key_file
from citebed.web.workbench.responses import ERRORS, Problem
from citebed.web.workbench.site import Here

router = APIRouter()
METHODS = ("get", "post", "put", "patch", "delete")
_ABOUT = (
    "The API behind the workbench pages. It offers the same functions as the command line; rows "
    "have the fields that --json prints. Send the server's key as 'Authorization: Bearer KEY'. All "
    'errors have the form {"message": …}.'
)
_EXAMPLES = {
    "text": "Pseudo-relevance feedback adds terms to a query.",
    "doc_id": "rocchio1971relevance",
}


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description; every endpoint has a summary and all its responses."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title="citebed", version=app.version, description=_ABOUT, routes=app.routes
        )
        parts = schema.setdefault("components", {})
        about = "The key of this server, in the file that citebed serve names."
        scheme = {"type": "http", "scheme": "bearer", "description": about}
        parts.setdefault("securitySchemes", {})["key"] = scheme
        parts.setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        schema["security"] = [{"key": []}]
        problem = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
        for methods in schema.get("paths", {}).values():
            for method in METHODS:
                if method not in methods:
                    continue
                endpoint = methods[method]
                text = " ".join(endpoint.get("description", endpoint["summary"]).split())
                first, _, rest = text.partition(". ")
                endpoint["summary"] = first.rstrip(".")
                endpoint["description"] = rest or text
                responses = endpoint["responses"]
                for status, known in ERRORS.items():
                    error = {"description": known["description"], "content": problem}
                    responses.setdefault(str(status), error)
                if "HTTPValidationError" in json.dumps(responses.get("422", {})):
                    responses["422"] = {
                        "description": ERRORS[422]["description"], "content": problem,
                    }  # fmt: skip
        app.openapi_schema = _simplify_pairs(schema)
    return app.openapi_schema


def _simplify_pairs(part: Any) -> Any:
    """Describe tuples of one type as arrays, which more programs understand."""
    if isinstance(part, list):
        return [_simplify_pairs(each) for each in part]
    if not isinstance(part, dict):
        return part
    found = {name: _simplify_pairs(each) for name, each in part.items()}
    places = found.get("prefixItems")
    if isinstance(places, list) and places and all(each == places[0] for each in places):
        found["items"] = found.pop("prefixItems")[0]
    return found


# --- the page ----------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field of a request or response: its name (with a dot in an inner object), its type in
    words, whether it is required, and its meaning."""

    name: str
    kind: str
    is_needed: bool
    about: str


@router.get("/api/docs")
async def show_docs(here: Here) -> Response:
    """Show every endpoint with its fields and an example."""
    request = here.request
    address = f"{request.url.scheme}://{request.url.netloc}"
    subjects = list_endpoints(describe(request.app), address)
    return here.site.page("api", at="api", subjects=subjects, about=_ABOUT, key=str(key_file()))


def list_endpoints(schema: dict[str, Any], address: str) -> dict[str, list[dict[str, Any]]]:
    """Return all endpoints by subject, as the page shows them."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, methods in schema.get("paths", {}).items():
        for method in METHODS:
            if method in methods:
                subject = (methods[method].get("tags") or ["more"])[0]
                endpoint = _make_endpoint(schema, path, method, methods[method], address)
                found.setdefault(subject, []).append(endpoint)
    return found


def _make_endpoint(
    schema: dict[str, Any], path: str, method: str, about: dict[str, Any], address: str
) -> dict[str, Any]:
    """Return an endpoint with its fields, an example, and its responses."""
    content = about.get("requestBody", {}).get("content", {})
    form = next(iter(content), "")
    body = content.get(form, {}).get("schema", {})
    good: dict[str, Any] = next(
        (each for status, each in about["responses"].items() if status[0] == "2"), {}
    )
    answer = good.get("content", {}).get("application/json", {}).get("schema", {})
    parameters = [
        Field(
            each["name"], f"{describe_type(schema, each['schema'])}, in the {each['in']}",
            each.get("required", False), each.get("description", ""),
        )
        for each in about.get("parameters", [])
    ]  # fmt: skip
    words = ['curl -H "Authorization: Bearer $(cat KEYFILE)"']
    if method != "get":
        words.append(f"-X {method.upper()}")
    if form == "multipart/form-data":
        names = list(_resolve(schema, body).get("properties", {}))
        words += [f"-F {name}=@FILE" for name in names[:1]]
    elif form:
        words.append("-H 'Content-Type: application/json'")
        data = json.dumps(make_example(schema, body), ensure_ascii=False)
        words.append("-d '" + data.replace("'", "'\\''") + "'")
    statuses = [(status, each["description"]) for status, each in about["responses"].items()]
    return {
        "anchor": re.sub(r"[^a-z0-9]+", "-", f"{method} {path}".lower()).strip("-"),
        "method": method.upper(), "path": path, "summary": about["summary"],
        "description": about["description"], "parameters": parameters,
        "request_fields": list_fields(schema, body),
        "curl": " \\\n  ".join([*words, f"'{address}{path}'"]),
        "response_fields": list_fields(schema, answer), "statuses": sorted(statuses),
    }  # fmt: skip


def list_fields(schema: dict[str, Any], part: dict[str, Any], before: str = "") -> list[Field]:
    """Return the fields of an object, and of the objects in it, three levels deep."""
    whole = _resolve(schema, part)
    if whole.get("type") == "array":
        return list_fields(schema, whole.get("items", {}), f"{before}[].")
    found = []
    for name, each in whole.get("properties", {}).items():
        inner = _resolve(schema, each)
        about = inner.get("description", "") if "$ref" not in each else ""
        is_needed = name in whole.get("required", [])
        found.append(Field(f"{before}{name}", describe_type(schema, each), is_needed, about))
        is_list = inner.get("type") == "array"
        below = _resolve(schema, inner.get("items", {}) if is_list else inner)
        if below.get("properties") and before.count(".") < 2:
            found += list_fields(schema, below, f"{before}{name}{'[]' if is_list else ''}.")
    return found


def describe_type(schema: dict[str, Any], part: dict[str, Any]) -> str:
    """Describe the type of a field in words."""
    whole = _resolve(schema, part)
    if "anyOf" in whole:
        return " or ".join(describe_type(schema, each) for each in whole["anyOf"])
    if "const" in whole or "enum" in whole:
        return " or ".join(json.dumps(each) for each in whole.get("enum", [whole.get("const")]))
    kind = str(whole.get("type", "anything"))
    if kind == "array":
        return f"array of {describe_type(schema, whole.get('items', {}))}"
    if whole.get("format") == "binary":
        return "file"
    low, high, limits = whole.get("minimum"), whole.get("maximum"), ""
    if low is not None and high is not None:
        low, high = (f"{int(n):,}" if n == int(n) else f"{n:g}" for n in (low, high))
        limits = f" {low} to {high}"
    longest = f" of at most {whole['maxLength']:,} characters" if "maxLength" in whole else ""
    otherwise = whole.get("default")
    default = f", default {json.dumps(otherwise)}" if otherwise not in (None, "", []) else ""
    return f"{kind}{limits}{longest}{default}"


def _resolve(schema: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """Follow references."""
    for _ in range(10):
        if "$ref" not in part:
            break
        part = schema["components"]["schemas"][part["$ref"].rpartition("/")[2]]
    return part


def make_example(schema: dict[str, Any], part: dict[str, Any], name: str = "") -> Any:
    """Return an example of a request: its required fields, or its first one."""
    whole = _resolve(schema, part)
    if whole.get("examples"):
        return whole["examples"][0]
    if "anyOf" in whole:
        return make_example(schema, whole["anyOf"][0], name)
    if "enum" in whole or "const" in whole:
        return whole.get("enum", [whole.get("const")])[0]
    if whole.get("properties"):
        needed = whole.get("required") or list(whole["properties"])[:1]
        return {each: make_example(schema, whole["properties"][each], each) for each in needed}
    kinds = {"integer": 1, "number": 0.5, "boolean": True, "object": {}}
    if whole.get("type") == "array":
        return [make_example(schema, whole.get("items", {}), name)]
    return kinds.get(whole.get("type", ""), _EXAMPLES.get(name, name or "text"))
