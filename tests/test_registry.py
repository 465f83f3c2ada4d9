"""The folder is the registry: what counts as an entry, and what does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import shoal
from shoal import registry
from shoal.errors import PolicyError

ENTRY = '''
from shoal.registry import Entry
class {name}(Entry):
    """{name} swims."""
    family = "birds"
    aliases = ("old-{alias}",)
'''
FILES = {
    "birds/__init__.py": "",
    "birds/base.py": "",
    "birds/grey_goose.py": ENTRY.format(name="GreyGoose", alias="goose"),
    "birds/_feathers.py": "raise RuntimeError('private modules are nobody's entry')",
    "birds/water/__init__.py": "",
    "birds/water/mute_swan.py": ENTRY.format(name="MuteSwan", alias="swan"),
    "birds/water/_webs.py": "",
    "birds/empty/__init__.py": "",
    "birds/_tools/__init__.py": "",
    "birds/_tools/saw.py": "",
    "birds/bounds/__init__.py": "",
    "birds/bounds/fence.py": "",
    "others.py": ENTRY.format(name="Teal", alias="teal"),
    "others-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: others\nVersion: 1.0\n",
    "others-1.0.dist-info/entry_points.txt": "[shoal.birds]\nteal = others:Teal\n",
}


@pytest.fixture(autouse=True, scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A family of its own beside the product's, and a package of somebody else."""
    folder = tmp_path_factory.mktemp("packages")
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shoal, "__path__", [*shoal.__path__, str(folder)])
        patch.syspath_prepend(folder)
        yield


def test_entries_lie_in_the_folder_in_folders_inside_it_and_in_packages_of_others() -> None:
    assert registry.names("birds") == ("grey-goose", "mute-swan", "teal")


@pytest.mark.parametrize(
    ("name", "found"),
    [("grey-goose", "GreyGoose"), ("mute-swan", "MuteSwan"), ("teal", "Teal"), ("Old_Swan", "MuteSwan")],
)
def test_an_entry_is_found_by_its_name_and_by_its_alias(name: str, found: str) -> None:
    assert registry.find("birds", name).__name__ == found


@pytest.mark.parametrize("name", ["base", "feathers", "-feathers", "webs", "empty", "water", "saw", "bounds", "fence"])
def test_what_is_private_or_no_entry_is_not_found(name: str) -> None:
    with pytest.raises(PolicyError, match="no such entry in birds"):
        registry.find("birds", name)


def test_a_class_is_imported_from_its_family_wherever_its_file_lies() -> None:
    attribute = registry.lazy_family("birds")
    assert attribute("MuteSwan") is registry.find("birds", "mute-swan")
    with pytest.raises(AttributeError):
        attribute("Water")


@pytest.mark.parametrize("family", registry.FAMILIES)
def test_every_public_module_of_a_family_holds_its_entry(family: str) -> None:
    for name in registry.names(family):
        assert registry.find(family, name).key() == name
