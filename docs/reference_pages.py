"""Pages of the reference, made from docstrings, commands and the schema when the site is built: a hook of mkdocs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import shoal
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from shoal import errors, registry
from shoal.policy import Policy


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference to the site."""
    pages = {
        "python": _tell_names(),
        "errors": _tell_errors(),
        "commands": _tell_commands(),
        "policy": _tell_policy(),
        **{family: _tell_family(family) for family in registry.FAMILIES},
    }
    for name, content in pages.items():
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def _tell_names() -> str:
    public = [name for name in shoal.__all__ if not inspect.ismodule(getattr(shoal, name))]
    wanted = [(name, getattr(shoal, name)) for name in public]
    listed = "\n\n".join(f"::: {value.__module__}.{value.__qualname__}" for _, value in wanted if hasattr(value, "__qualname__"))
    return f"# Python\n\nWhat `import shoal` gives; everything else may change.\n\n{listed}\n\n## With scikit-learn\n\n::: shoal.sklearn.Anonymizer\n"


def _tell_family(family: str) -> str:
    entries = [registry.find(family, name) for name in registry.names(family)]
    parts = [f"## `{entry.key()}` {{ #{entry.key()} }}\n\n::: {entry.__module__}.{entry.__qualname__}" for entry in entries]
    options = "\n    options: {heading_level: 3}"
    return f"# {family.capitalize()}\n\n" + "\n\n".join(part + options for part in parts) + "\n"


def _tell_errors() -> str:
    kinds = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)]
    return "# Errors\n\n" + "\n\n".join(f"::: {kind.__module__}.{kind.__qualname__}" for kind in kinds) + "\n"


def _tell_commands() -> str:
    import typer
    from shoal.cli.app import app

    return "# Commands\n\n" + "\n".join(_tell_command("shoal", typer.main.get_command(app))) + "\n"


def _tell_command(title: str, command: Any) -> Iterator[str]:
    inside = getattr(command, "commands", None)
    if inside is not None:
        for name, one in inside.items():
            yield from _tell_command(f"{title} {name}", one)
        return
    yield f"## `{title}`\n\n{inspect.cleandoc(command.help or '')}\n"
    yield "| option | what it says |\n|---|---|"
    for parameter in command.params:
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        yield f"| {names} | {_cell(getattr(parameter, 'help', None) or '')} |"
    yield ""


def _tell_policy() -> str:
    schema = Policy.schema_json()
    lines = ["# The policy", "", "`shoal policy schema` prints the JSON Schema that this page is made from.", ""]
    lines += _tell_keys(schema.get("properties", {}))
    for name, part in schema.get("$defs", {}).items():
        if "properties" in part:
            lines += ["", f"## {name}", "", _cell(part.get("description", "").split("\n\n")[0]), ""]
            lines += _tell_keys(part["properties"])
    return "\n".join(lines) + "\n"


def _tell_keys(properties: dict[str, Any]) -> Iterator[str]:
    yield "| key | what it says | otherwise |"
    yield "|---|---|---|"
    for key, told in properties.items():
        yield f"| `{key}` | {_cell(told.get('description', ''))} | {_cell(repr(told['default'])) if 'default' in told else ''} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
