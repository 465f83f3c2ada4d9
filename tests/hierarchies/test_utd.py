"""Trees and whole configurations in the notations of others: what is read is what is written, mistakes are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.encoding.domains import Domain
from shoal.errors import HierarchyError, PolicyError, ShoalError, WriteError
from shoal.hierarchies import Intervals, Tree
from shoal.importers.utd_config import UtdConfig, read_config, write_config
from shoal.importers.utd_policy import to_policy, to_yaml
from shoal.policy import Policy

PAPERS = Path(__file__).parent.parent / "papers"
ADULT = PAPERS / "utd-adult.xml"
ISP = PAPERS / "utd-isp.xml"


def att(inside: str, name: str = "a", index: int = 0) -> str:
    return f"<att index='{index}' name='{name}'>{inside}</att>"


def config(columns: str, attributes: str = "method='Mondrian' k='5'", more: str = "") -> str:
    return f"<config {attributes}><qid>{columns}</qid>{more}</config>"


def numbers(*nodes: str, root: str = "[0:100]") -> str:
    return config(att(f"<vgh value='{root}'>{''.join(nodes)}</vgh>"))


def node(value: str, *inside: str) -> str:
    return f"<node value='{value}'>{''.join(inside)}</node>"


def categories(count: int, *nodes: str, root: str = "") -> str:
    entries = "".join(f"<entry cat='c{code}' int='{code}'/>" for code in range(count))
    return config(att(f"<map>{entries}</map><vgh value='{root or f'[0:{count - 1}]'}'>{''.join(nodes)}</vgh>"))


# --- the two printed configurations


def test_the_printed_adult_configuration_loads_whole() -> None:
    found = read_config(ADULT)
    assert (found.method, found.k, found.l, found.t) == ("Mondrian", 100, None, None)
    assert (found.input, found.separator) == ("dataset/adult.data", ",")
    assert (found.output, found.format) == ("adult02_Anon_k.data", "genVals")
    assert [(column.index, column.name) for column in found.quasi_identifiers] == [
        (0, "age"),
        (1, "sex"),
        (2, "native-country"),
    ]
    assert len(found.quasi_identifiers[2].map) == 42
    assert found.hierarchies["age"] == Intervals(
        breaks=[[0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100], [0, 20, 50, 70, 100], [0, 50, 100]]
    )
    assert found.hierarchies["sex"] == Tree(nodes={"*": ["Female", "Male"]})
    country = found.hierarchies["native-country"]
    assert isinstance(country, Tree)
    assert len(country.leaves()) == 42
    assert list(country.nodes["*"]) == ["[0:7]", "[8:17]", "[18:29]", "[30:41]"]
    assert country.nodes["*"]["[0:7]"]["[0:2]"] == ["United-States", "Outlying-US(Guam-USVI-etc)", "Canada"]
    assert list(country.nodes["*"]["[30:41]"]) == ["[30:34]", "India", "[36:40]", "Iran"]


def test_the_printed_isp_configuration_loads_whole() -> None:
    found = read_config(ISP)
    assert (found.method, found.k) == ("Mondrian", 100)
    assert [(column.index, column.name) for column in found.quasi_identifiers] == [
        (2, "age"),
        (0, "sex"),
        (1, "location"),
    ]
    location = found.hierarchies["location"]
    assert isinstance(location, Tree)
    assert len(location.leaves()) == 49
    levels = location.build(Domain.of("text", sorted(location.leaves())), missing=None)
    assert [len(labels) for labels in levels.labels] == [49, 11, 2, 1]
    assert found.hierarchies["age"] == read_config(ADULT).hierarchies["age"]


@pytest.mark.parametrize("path", [ADULT, ISP])
def test_a_printed_configuration_is_written_back_as_it_was_read(path: Path) -> None:
    found = read_config(path)
    assert read_config(write_config(found)) == found
    # and in the toolbox's own words: nothing is added to it
    assert "label=" not in write_config(found)


def test_a_tree_of_a_printed_configuration_is_written_as_the_same_nodes(tmp_path: Path) -> None:
    for path, name in ((ADULT, "native-country"), (ISP, "location")):
        found = read_config(path)
        tree = found.hierarchies[name]
        assert isinstance(tree, Tree)
        tree.write(tmp_path / "tree.xml")
        column = next(column for column in found.quasi_identifiers if column.name == name)
        again = read_config(
            config((tmp_path / "tree.xml").read_text().partition("?>")[2].replace("<att", "<att index='0'"))
        )
        assert again.quasi_identifiers[0].vgh == column.vgh
        assert again.quasi_identifiers[0].map == column.map


@pytest.mark.parametrize("path", [ADULT, ISP])
def test_the_policy_of_a_printed_configuration(path: Path) -> None:
    found = read_config(path)
    policy, notes = to_policy(found)
    assert list(policy.quasi_identifiers) == [column.name for column in found.quasi_identifiers]
    assert (policy.identifiers, policy.sensitive, policy.others) == ({}, {}, "drop")
    assert policy.k == 100
    assert policy.algorithm.key() == "mondrian"
    assert Policy.from_yaml(to_yaml(policy, notes)) == policy
    assert any("50 starts a range" in note for note in notes)


def test_the_policy_of_the_isp_anonymizes_a_table_like_theirs() -> None:
    indices = read_config(ISP).hierarchies["location"].leaves()
    rows = [(("Female", "Male")[i % 2], indices[i * 7 % 49], i * 13 % 101) for i in range(2000)]
    table = pl.DataFrame(rows, schema=["sex", "location", "age"], orient="row")
    release = shoal.anonymize(table, to_policy(read_config(ISP))[0])
    assert release.audit.holds
    assert release.attained["k-anonymity"] >= 100


# --- numbers


def test_ranges_that_share_an_end_are_half_open_and_the_last_is_closed() -> None:
    hierarchy = read_config(numbers(node("[0:50]"), node("[50:100]"))).hierarchies["a"]
    levels = hierarchy.build(Domain.of("integer", [0, 49, 50, 100]), missing=None)
    assert [levels.text(1, code) for code in range(4)] == ["[0, 49]", "[0, 49]", "[50, 100]", "[50, 100]"]


def test_branches_that_end_early_are_aligned_at_the_root() -> None:
    text = numbers(node("[0:50]", node("[0:25]"), node("[25:50]")), node("[50:100]"))
    assert read_config(text).hierarchies["a"] == Intervals(breaks=[[0, 25, 50, 100], [0, 50, 100]])


def test_ranges_with_open_ends_and_decimals() -> None:
    text = numbers(node("[-1.5: 0)"), node("[0:2.5)"), root="[-1.5:2.5)")
    assert read_config(text).hierarchies["a"] == Intervals(breaks=[[-1.5, 0, 2.5]])


def test_closed_ranges_of_whole_numbers() -> None:
    text = numbers(node("[0:7]"), node("[8:16]"), node("[17]"), root="[0:17]")
    hierarchy = read_config(text).hierarchies["a"]
    levels = hierarchy.build(Domain.of("integer", [7, 8, 16, 17]), missing=None)
    assert [levels.text(1, code) for code in range(4)] == ["[0, 7]", "[8, 16]", "[8, 16]", "17"]


def test_numbers_without_nodes_are_as_they_are_or_suppressed() -> None:
    found = read_config(numbers())
    assert found.hierarchies["a"].key() == "suppress"
    assert to_policy(found)[0].quasi_identifiers["a"].hierarchy is None  # mondrian finds its own ranges
    datafly = read_config(config(att("<vgh value='[0:9]'/>"), "method='Datafly' k='3'"))
    spec = to_policy(datafly)[0].quasi_identifiers["a"]
    assert spec.hierarchy is not None
    assert spec.hierarchy.key() == "suppress"


# --- roles, methods, parameters


def test_every_role_and_parameter() -> None:
    text = config(
        att("<vgh value='[0:100]'/>", "age", 3),
        "METHOD='Incognito_L' k='4' l='2.5' c='0.2' t='0.5' suppthreshold='7'",
        "<ID><att index='0' name='name'/><att index='1'/></ID>"
        "<sens><att index='2' name='illness'><map><entry cat='flu' int='0'/></map></att></sens>"
        "<output filename='out.data' format='anatomy'/>",
    )
    found = read_config(text)
    assert (found.method, found.k, found.l, found.c, found.t) == ("Incognito_L", 4, 2.5, 0.2, 0.5)
    assert found.extra == {"suppthreshold": "7"}
    assert found.sensitive[0].map == (("flu", 0),)
    assert read_config(write_config(found)) == found
    policy, notes = to_policy(found)
    assert list(policy.identifiers) == ["name", "att1"]
    assert list(policy.sensitive) == ["illness"]
    assert [model.key() for model in policy.models] == ["k-anonymity", "distinct-l-diversity"]
    assert policy.models[1].asked == 3
    assert policy.algorithm.key() == "exhaustive"
    said = " ".join(notes)
    for words in ("Incognito_L", "NOT PROMISED: t-closeness of 0.5", "anatomy", "suppthreshold", "distinct"):
        assert words in said, words


@pytest.mark.parametrize(
    ("attributes", "algorithm", "words"),
    [
        ("method='mondrian' k='5'", "mondrian", "others:"),
        ("method='Datafly' k='5'", "exhaustive", "Datafly is a full-domain search"),
        ("method='Incognito_K' k='5'", "exhaustive", "Incognito_K"),
        ("method='Anatomy' k='5'", "mondrian", "no method 'Anatomy' is known here"),
        ('method=" k = 100 "', "mondrian", "no k; the toolbox would take 10"),
        ("k='5'", "mondrian", "names no method"),
    ],
)
def test_methods(attributes: str, algorithm: str, words: str) -> None:
    policy, notes = to_policy(read_config(config(att("<vgh value='[0:9]'/>"), attributes)))
    assert policy.algorithm.key() == algorithm
    assert any(words in note for note in notes), notes


# --- mistakes


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("<config><qid></config>", PolicyError, "not well-formed XML.*mismatched tag.*Hint"),
        ("<config method=Mondrian/>", PolicyError, "not well-formed"),
        ("<policy/>", PolicyError, "not a configuration.*<policy>"),
        ("<config><senz/></config>", PolicyError, "<senz>.*did you mean 'sens'"),
        ("<config k='5'/>", PolicyError, "names no quasi-identifier"),
        ("<config><qid><column/></qid></config>", PolicyError, "<column>"),
        (config(att("<vgh value='[0:9]'/>"), "k='five'"), ShoalError, "config k: must be a whole number.*'five'"),
        (config(att("<vgh value='[0:9]'/>"), "k='0'"), PolicyError, "at least 1"),
        (config(att("<vgh value='[0:9]'/>"), "t='much'"), PolicyError, "config t: must be a number"),
        (config("<att name='a'><vgh value='[0:9]'/></att>"), PolicyError, "needs its index"),
        (config(att("<vgh value='[0:9]'/>") * 2), PolicyError, "two columns with one index"),
        (config(att("<vgh value='[0:9]'/>"), more="<sens><att index='1' name='a'/></sens>"), PolicyError, "one name"),
        (config(att("<vgh value='[0:9]'/>"), more="<input file='x'/>"), PolicyError, "did you mean 'filename'"),
        (config(att("")), HierarchyError, "att 'a', vgh: a quasi-identifier needs a hierarchy"),
        (config(att("<vgh/>")), HierarchyError, "has no range"),
        (config(att("<vhg value='[0:1]'/>")), HierarchyError, "<vhg>.*did you mean 'vgh'"),
        (numbers(root="0-100"), HierarchyError, r"att 'a', vgh: is not a range.*'0-100'.*Hint"),
        (numbers(root="[0:1e999]"), HierarchyError, "not a range"),
        (numbers(root="[9:0]"), HierarchyError, "the range is empty"),
        (numbers(root="[" + "9" * 5000 + "]"), HierarchyError, "not a range"),
        (numbers(node("[0:40]"), node("[50:100]")), HierarchyError, r"vgh \[0:100\]: a gap.*\[0:40\] and \[50:100\]"),
        (numbers(node("[0:50]"), node("[50:90]")), HierarchyError, "a gap: the nodes do not fill"),
        (numbers(node("[0:60]"), node("[50:100]")), HierarchyError, "overlap"),
        (numbers(node("[50:100]"), node("[0:50]")), HierarchyError, "overlap or are not in order"),
        (numbers(node("[0:50]"), node("[50:120]")), HierarchyError, r"outside the one above it; got \[50:120\]"),
        (numbers(node("[0:50]"), node("(50:100]")), HierarchyError, "without its lower end"),
        (numbers("<leaf value='[0:100]'/>"), HierarchyError, "<leaf>"),
        (categories(4, node("[0:2]"), node("[2:3]")), HierarchyError, r"overlap.*\[0:2\] and \[2:3\] both hold 'c2'"),
        (categories(4, node("[0:1]"), node("[3:3]")), HierarchyError, "a gap: categories in no node; got 'c2'"),
        (categories(4, node("[0:1]"), node("[2:7]")), HierarchyError, "outside the one above"),
        (categories(4, node("[0:3]"), node("[3:3]")), HierarchyError, "overlap"),
        (categories(4, root="[1:3]"), HierarchyError, "categories outside the vgh; got 'c0'"),
        (categories(2, node("[0:1]"), node("[1.5]"), root="[0:2]"), HierarchyError, "without a category"),
        (config(att("<map/><vgh value='[0:1]'/>")), HierarchyError, "the map is empty"),
        (config(att("<map><entry cat='x'/></map>")), HierarchyError, "not an entry"),
        (config(att("<map><entry cat='x' int='1.5'/></map>")), HierarchyError, "whole number"),
        (
            config(att("<map><entry cat='x' int='1'/><entry cat='x' int='2'/></map>")),
            HierarchyError,
            "one category.*'x'",
        ),
        (
            config(att("<map><entry cat='x' int='1'/><entry cat='y' int='1'/></map>")),
            HierarchyError,
            "code 1.*'x', 'y'",
        ),
        (numbers("<node value='[0:100]'>" * 500 + "</node>" * 500), PolicyError, "levels deep"),
    ],
)
def test_a_mistake_is_told(text: str, kind: type[ShoalError], words: str) -> None:
    with pytest.raises(kind, match=words):
        read_config(text)


LAUGHS = """<?xml version="1.0"?><!DOCTYPE config [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<config method="&b;"><qid/></config>"""
OUTSIDE = '<!DOCTYPE config [<!ENTITY x SYSTEM "file:///etc/passwd">]><config method="M">&x;</config>'


@pytest.mark.parametrize("text", [LAUGHS, OUTSIDE, '<!DOCTYPE config SYSTEM "http://nowhere/x.dtd"><config/>'])
def test_a_document_type_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="DOCTYPE"):
        read_config(text)
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / f"{encoding}.xml"
        path.write_bytes(text.replace('<?xml version="1.0"?>', "").encode(encoding))
        with pytest.raises(PolicyError, match="DOCTYPE"):
            read_config(path)
        with pytest.raises(HierarchyError, match="DOCTYPE"):
            Tree.read(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"\x00", b"age;*", b'<?xml version="1.0" encoding="x-no"?><a/>'])
def test_a_file_that_is_no_xml(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "c.xml").write_bytes(content)
    with pytest.raises(PolicyError, match=r"c\.xml: is not well-formed XML"):
        read_config(tmp_path / "c.xml")
    with pytest.raises(HierarchyError, match=r"c\.xml: is not well-formed XML"):
        Tree.read(tmp_path / "c.xml")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"none\.xml"):
        read_config(tmp_path / "none.xml")
    with pytest.raises(HierarchyError, match="cannot read"):
        Tree.read(tmp_path)


def test_a_configuration_is_not_the_tree_of_a_column(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="shoal policy import"):
        Tree.read(ADULT)
    (tmp_path / "n.xml").write_text("<att><vgh value='[0:1]'/></att>")
    with pytest.raises(HierarchyError, match="use intervals with breaks"):
        Tree.read(tmp_path / "n.xml")


# --- trees, written and read

ENDINGS = ["yaml", "yml", "csv", "xml"]
TREES: list[dict[str, Any]] = [
    {"*": {"Employed": ["Private", "State"], "Idle": ["None"]}},
    {"World": {"Europe": ["fr", "No"], "Asia": ["jp"]}},
    {"*": {"a": {"b": ["1", "2"]}, "c": {"d": ["3"], "e": ["4", "5"]}}},
    {"*": ["only", "one level"]},
    {"A": ["x"], "B": ["y"]},
    {"*": {"Europe": {"Alps": ["at"]}, "Asia": ["jp"], "alone": None}},
    {"*": {"Other": ["Other", "rest"], "x": {"x": ["x"]}}},
    {"*": {"x": ["x"], "y": ["y"]}},
    {"*": {"low": ["a"], "high": {"other": ["*", "b"]}}},
    {"*": ["bare", {"G": ["g"]}]},
    {"*": {"a, b, c, d, e": ["a,b", "1;2"], 'say "hi"': ["two\nlines", " spaces "]}},
    {"*": {"[5:5]": ["eins"], "": ["nothing's name", "<&>'\""]}},
]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("nodes", TREES, ids=range(len(TREES)))
def test_a_tree_read_back_is_the_tree_written(nodes: dict[str, Any], ending: str, tmp_path: Path) -> None:
    tree = Tree(nodes=nodes)
    tree.write(tmp_path / f"tree.{ending}")
    assert Tree.read(tmp_path / f"tree.{ending}") == tree


LABELS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8).map(lambda t: "n" + t)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    """Trees of any shape: names are drawn first, so that none stands in two places."""
    names = draw(st.lists(LABELS, min_size=2, max_size=14, unique=True))
    rest = iter(names[1:])

    def grow(depth: int) -> Any:
        width = draw(st.integers(0, 3)) if depth else 0
        return {name: grow(depth - 1) for name, _ in zip(rest, range(width), strict=False)}

    nodes = {name: grow(3) for name in rest}
    return {names[0]: nodes}


@settings(deadline=None)
@given(nodes=trees(), ending=st.sampled_from(ENDINGS))
def test_any_tree_read_back_has_the_same_labels(
    nodes: dict[str, Any], ending: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tree") / f"tree.{ending}"
    tree = Tree(nodes=nodes)
    tree.write(path)
    again = Tree.read(path)
    assert again == tree
    domain = Domain.of("text", sorted(tree.leaves()))
    assert again.build(domain, missing=None).labels == tree.build(domain, missing=None).labels
    assert Tree(**tree.parameters()) == tree


def test_the_form_of_a_tree_keeps_the_labels_of_every_level() -> None:
    tree = Tree(nodes={"A": {"B": ["x"]}, "y": None, "C": ["C", "z"]})
    assert tree.nodes == {"*": {"A": {"B": ["x"]}, "y": [], "C": ["C", "z"]}}
    levels = tree.build(Domain.of("text", ["C", "x", "y", "z"]), missing=None)
    found = {text: [levels.text(level, code) for level in (1, 2, 3)] for code, text in enumerate(levels.domain.texts)}
    group = "C (group)"  # as it is, it could be read as the value
    assert found == {"x": ["B", "A", "*"], "y": ["y", "y", "*"], "C": ["C", group, "*"], "z": ["z", group, "*"]}


def test_csv_is_what_arx_writes(tmp_path: Path) -> None:
    Tree(nodes={"*": {"vowel": ["a"], "y": None}}).write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "a;vowel;*\ny;y;*\n"


@pytest.mark.parametrize(
    "rows", ["a;v, w;*\nb;c, d;*\n", "a,v;w,*\nb,c,*\n", "a\tv\t*\r\nb\tc\t*\r\n", "a|v|*\n\nb|c|*"]
)
def test_delimiters_of_rows(rows: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(rows.encode())
    assert Tree.read(tmp_path / "t.csv").leaves() == ("a", "b")


def test_labels_of_a_tree_are_kept_in_xml_where_the_toolbox_passes_over_them(tmp_path: Path) -> None:
    Tree(nodes={"*": {"Employed": ["Private", "State"], "Idle": ["None"]}}).write(tmp_path / "t.xml")
    text = (tmp_path / "t.xml").read_text()
    assert '<entry cat="State" int="1" />' in text
    assert '<vgh value="[0:2]">' in text
    assert '<node value="[0:1]" label="Employed" />' in text


def test_a_tree_that_cannot_be_written(tmp_path: Path) -> None:
    tree = Tree(nodes={"*": ["a\x01b"]})
    with pytest.raises(HierarchyError, match="XML cannot hold"):
        tree.write(tmp_path / "t.xml")
    with pytest.raises(WriteError, match=r"use \.yaml, \.csv or \.xml"):
        tree.write(tmp_path / "t.docx")
    with pytest.raises(WriteError, match="cannot write"):
        tree.write(tmp_path / "no" / "t.csv")
    assert not list(tmp_path.iterdir())


# --- trees that are none


@pytest.mark.parametrize(
    "text",
    [
        "&a\nx: *a\n",
        "'*': &a\n  x: {y: *a}\n",
        "'*': &a [p, {x: *a}]\n",
        "'*': {a: {b: {a: [x]}}}\n",
        "'*': {a: {b: {c: [a]}}}\n",
    ],
)
def test_a_cycle_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(HierarchyError, match=r"t\.yaml: .*under itself: the tree has a cycle"):
        Tree.read(tmp_path / "t.yaml")
    with pytest.raises(PolicyError, match="cycle"):
        Tree(file=tmp_path / "t.yaml")
    with pytest.raises(PolicyError, match="cycle"):
        Policy.from_yaml(
            "quasi_identifiers: {c: {hierarchy: tree, file: t.yaml}}\nmodels: [{name: k-anonymity, k: 2}]",
            folder=tmp_path,
        )


def test_a_cycle_in_rows_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x;A;B;A;*\ny;A;B;A;*\n")
    with pytest.raises(HierarchyError, match=r"'A' stands under itself.*A → B → A"):
        Tree.read(tmp_path / "t.csv")


def test_a_cycle_made_in_python_is_told() -> None:
    nodes: dict[str, Any] = {"*": {}}
    nodes["*"]["again"] = nodes
    with pytest.raises(PolicyError, match="cycle"):
        Tree(nodes=nodes)


@pytest.mark.parametrize("depth", [150, 100_000])
def test_thousands_of_levels_are_told(depth: int, tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text("{a: " * depth + "x" + "}" * depth)
    (tmp_path / "t.csv").write_text(";".join(f"l{level}" for level in range(depth)) + "\n")
    (tmp_path / "t.xml").write_text("<att>" * depth + "</att>" * depth)
    for name, words in (("t.yaml", "levels|too deeply"), ("t.csv", "levels"), ("t.xml", "levels deep")):
        with pytest.raises(HierarchyError, match=words):
            Tree.read(tmp_path / name)
    nodes: dict[str, Any] = {"x": ["leaf"]}
    for level in range(depth):
        nodes = {f"l{level}": nodes}
    with pytest.raises(PolicyError, match="levels"):
        Tree(nodes=nodes)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.yaml", b"'*': [a", "expected ',' or ']'"),
        ("t.yaml", b"[a, b]", "not a mapping"),
        ("t.yaml", b"{}", "empty"),
        ("t.yaml", b"", "not a mapping"),
        ("t.yaml", b"'*': {A: [x], B: [x]}", "'x' has two parents: 'A' and 'B'"),
        ("t.yaml", b"'*': {A: [x, x]}", "'x' stands twice"),
        ("t.csv", b"", "empty"),
        ("t.csv", b" \n\n", "empty"),
        ("t.csv", b"a;b\nc;d;e\n", "3 levels where the first has 2"),
        ("t.csv", b"a;b;*\nc;d\n", "2 levels where the first has 3"),
        ("t.csv", b"a;b;*\na;c;*\n", "rows 1 and 2 say different labels of the same value"),
        ("t.csv", b"\xff\xfe\xfa", "cannot read"),
        ("t.xml", b"<att><map><entry cat='a' int='0'/></map></att>", "without a <vgh>"),
        ("t.xml", b"<att><map><entry cat='a' int='0'/></map><vgh value='[1:2]'/></att>", "outside the vgh"),
    ],
)
def test_a_malformed_file_is_told(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(HierarchyError, match=words) as caught:
        Tree.read(tmp_path / name)
    assert name in caught.value.faults[0].where


def test_a_configuration_is_a_value() -> None:
    assert read_config(str(ADULT)) == read_config(ADULT) == read_config(ADULT.read_text())
    assert read_config(ADULT) != read_config(ISP)
    assert isinstance(read_config(ADULT), UtdConfig)
