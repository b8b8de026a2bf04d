"""The package as a whole: importing it is light, it says what it is, and what it documents runs."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path

import click
import pytest

import calipers
from calipers.cli.group import cli
from calipers.extras import install_command
from calipers.measures import TASKS, UnknownMeasureError, parse

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "cli"))
from forked import command as forked  # noqa: E402

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]

HEAVY = (
    "click", "jinja2", "matplotlib", "numpy", "pandas", "pyarrow", "rich", "scipy", "vl_convert"
)  # fmt: skip

#: Everything that can be imported; ``__main__`` would run the command.
MODULES = [
    module.name
    for module in pkgutil.walk_packages(calipers.__path__, "calipers.")
    if not module.name.endswith(("__main__", "_core"))
]

#: Runs the blocks of a page one after the other: ``python`` as a script, ``pycon`` as a session
#: whose output is compared, ``chart`` as an expression. Names live on from block to block.
RUN_PAGE = r"""
import __future__, doctest, re, sys

path = sys.argv[1]
with open(path, encoding="utf-8") as file:
    text = file.read()
names, flags = {"__name__": "__main__"}, 0
session = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
for block in re.finditer(r"^```(python|pycon|chart)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
    line = text.count("\n", 0, block.start(2))
    if block[1] == "python":
        if "from __future__ import annotations" in block[2]:
            flags = __future__.annotations.compiler_flag
        exec(compile("\n" * line + block[2], path, "exec", flags), names)
    elif block[1] == "chart":  # the site draws it; here it is only made
        assert eval(compile("\n" * line + block[2], path, "eval"), names).spec, (path, line)
    else:
        test = doctest.DocTestParser().get_doctest(block[2], names, path, path, line)
        session.run(test, clear_globs=False)
        names = test.globs
sys.exit(session.failures != 0)
"""


#: The same in a forked process that has all modules, as a script of its own; it ends that process.
IN_A_FORK = """
import os, signal, sys, traceback, warnings
warnings.simplefilter("error")
signal.alarm(120)
del sys.modules["__main__"].__file__
sys.argv, code = ["-c", {page!r}], 1
try:
    exec({program!r}, {{"__name__": "__main__"}})
except SystemExit as end:
    code = int(end.code or 0)
except BaseException:
    traceback.print_exc()
finally:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
"""


def python(*arguments: str, cwd: Path | None = None) -> str:
    """What a fresh interpreter prints, for which warnings are errors."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", *arguments],
        cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ------------------------------------------------------------------------------------- importing


def loaded(statement: str) -> set[str]:
    """The heavy packages that a statement brings in."""
    return set(python("-c", f"{statement}\nimport sys\nprint(*sys.modules)").split()) & set(HEAVY)


def test_importing_the_package_is_light() -> None:
    assert loaded("import calipers; calipers.__version__; dir(calipers)") == set()


#: Creates a subinterpreter and imports the package in it.
IN_A_SUBINTERPRETER = """
import calipers
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
own = interpreters.create()
try:
    error = interpreters.run_string(own, "import calipers")
except Exception as raised:
    error = raised
print(error)
"""


def test_a_subinterpreter_is_refused() -> None:
    assert "do not support subinterpreters" in python("-c", IN_A_SUBINTERPRETER)


def test_the_command_lists_its_commands_without_loading_them() -> None:
    assert loaded("import calipers.cli") == set()
    assert loaded("import calipers.cli.group") == {"click"}


def test_naming_a_measure_needs_nothing() -> None:
    assert loaded("import calipers; calipers.measure('nDCG@10')") == set()


@pytest.mark.slow
def test_computing_a_measure_needs_numpy_only() -> None:
    compute = "calipers.measure('recall')([1, 0], [1, 1])"
    assert loaded(f"import calipers; {compute}") == {"numpy"}


#: Arrow itself brings pandas where it makes columns of lists, but not where it reads them.
TABLE = """
import calipers, io
from pyarrow import csv
rows = csv.read_csv(io.BytesIO(b"truth,says,score\\n1,1,0.9\\n0,0,0.4\\n1,0,0.6\\n"))
calipers.classification("truth", "says", score="score", data=rows, interval="none", curves=False)
"""


@pytest.mark.slow
def test_columns_of_arrow_do_not_bring_pandas() -> None:
    assert "pandas" not in loaded(TABLE)


#: Two classes in a file, read in batches.
STREAM = """
import calipers, io, sys
from pyarrow import csv, parquet
rows = b"y,p\\n" + b"1,0.9\\n0,0.2\\n0,0.7\\n" * 9
parquet.write_table(csv.read_csv(io.BytesIO(rows)), sys.argv[1])
calipers.classification("y", probability="p", data=sys.argv[1], engine="stream",
                        measures=["AUC", "Brier", "accuracy"])
print(*sys.modules)
"""


def test_a_stream_of_two_classes_imports_what_it_needs(tmp_path: Path) -> None:
    found = set(python("-c", STREAM, str(tmp_path / "rows.parquet")).split())
    unused = "pandas pyarrow.compute scipy calipers.curves.score_data calipers.engines.dask"
    assert not found & {*unused.split(), "calipers.evaluation.problems.multiclass"}


LABELS = """
import calipers, sys
calipers.classification([1, 0, 1], [1, 0, 0])
calipers.ranking([1, 1, 2, 2], [1, 0, 0, 1], [0.5, 0.2, 0.1, 0.9])
print(*sys.modules)
"""


@pytest.mark.slow
def test_rows_in_memory_import_nothing_of_streams_and_charts() -> None:
    found = set(python("-c", LABELS).split())
    unused = "calipers.curves.rates calipers.curves.score_data calipers.evaluation.sums"
    assert not found & {*unused.split(), "calipers.engines.passes", "email", "subprocess"}


RETRIEVAL = """
import calipers
qrels, run = {"1": {"a": 1}}, {"1": {"b": 2.0, "a": 1.0}}
calipers.retrieval(qrels, run, measures=["AP", "P@10"], interval="none")
"""


def test_a_plain_evaluation_needs_numpy_only() -> None:
    assert loaded(RETRIEVAL) == {"numpy"}


def test_a_plain_evaluation_imports_no_inference_beyond_its_own() -> None:
    found = set(python("-c", f"{RETRIEVAL}\nimport sys\nprint(*sys.modules)").split())
    inference = {name for name in found if name.startswith("calipers.inference.")}
    used = (
        "available_methods bayesian_bootstrap intervals method_limits method_selection paired_tests "
        "point_estimate procedures proportions resampling roots settings summaries transformations "
        "variance_estimators"
    )
    assert inference == {f"calipers.inference.{module}" for module in used.split()}
    others = {"calipers.results.slices", "calipers.evaluation.compare", "calipers.engines.passes"}
    assert not found & {*others, "statistics"}


#: Runs the command in a process of its own, and says on stderr what it has loaded.
COMMAND = """
import sys
from calipers.cli import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["measures"], "click"),
        (["measures", "AP"], "click"),
        (["retrieval", "--help"], "click"),
        (["trec_eval", "qrels", "run"], "numpy"),
        (["retrieval", "qrels", "run", "--format", "json"], "click numpy"),
        (["retrieval", "qrels", "run", "--format", "csv"], "click numpy"),
        (["retrieval", "qrels", "run", "-o", "out.json"], "click numpy"),
        (["retrieval", "qrels", "run", "-o", "out.csv"], "click numpy"),
        (["retrieval", "qrels", "run"], "click numpy rich"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_a_command_loads_what_it_needs(arguments: list[str], heavy: str, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n", encoding="utf-8")
    (tmp_path / "run").write_text("1 Q0 a 1 2 r\n2 Q0 a 1 2 r\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", COMMAND, *arguments],
        cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = set(done.stderr.split())
    assert found & set(HEAVY) == set(heavy.split())
    if "numpy" in heavy:
        unused = "_hashlib concurrent.futures xml.etree.ElementTree"
        others = "data.streams report.learning report.plan results.monitor"
        assert not found & {*unused.split(), *(f"calipers.{name}" for name in others.split())}
    if arguments[0] == "trec_eval":
        others = "evaluation inference results statistics.regression statistics.moments"
        assert not found & {f"calipers.{name}" for name in others.split()}


@pytest.mark.parametrize("module", [name for name in MODULES if name.count(".") == 1])
def test_every_part_can_be_imported_first(module: str) -> None:
    # Nothing may depend on an import that happened to come before.
    python("-c", f"import {module}")


def test_every_public_name_is_there() -> None:
    for name in calipers.__all__:
        assert getattr(calipers, name) is not None
    assert set(calipers.__all__) <= set(dir(calipers))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        calipers.nonsense  # noqa: B018


@pytest.mark.parametrize("package", ["results", "statistics"])
def test_names_of_a_package_are_there_when_asked_for(package: str) -> None:
    module = importlib.import_module(f"calipers.{package}")
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert dir(module) == sorted(module.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        module.nonsense  # noqa: B018


# -------------------------------------------------------------------------------------- metadata


def test_the_version_is_said_once() -> None:
    assert calipers.__version__ == metadata.version("calipers")
    core = (ROOT / "core" / "Cargo.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{calipers.__version__}"\n' in core
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {calipers.__version__}\n" in citation
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{calipers.__version__}]" in changes


def test_a_release_is_one_command_and_a_tag(tmp_path: Path) -> None:
    tool, tag = str(ROOT / "tools" / "release.py"), f"v{calipers.__version__}"
    for name in ("CHANGELOG.md", "CITATION.cff", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    changes, citation = tmp_path / "CHANGELOG.md", tmp_path / "CITATION.cff"
    before = changes.read_text(encoding="utf-8")

    def refused(tag: str) -> str:
        return subprocess.run(
            [sys.executable, tool, "--check", tag],
            cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        ).stderr  # fmt: skip

    if f"\n## [{calipers.__version__}]\n" in before:
        assert "expected the day" in refused(tag)
        python(tool, "2027-01-31", cwd=tmp_path)
        after = changes.read_text(encoding="utf-8")
        assert sorted(filter(None, after.replace(" - 2027-01-31", "").splitlines())) == sorted(
            filter(None, before.splitlines())
        )
        assert [line for line in after.splitlines() if line.startswith("## ")][:2] == [
            "## [Unreleased]", f"## [{calipers.__version__}] - 2027-01-31",
        ]  # fmt: skip
        assert citation.read_text(encoding="utf-8").count("\ndate-released: 2027-01-31\n") == 1
    assert refused(tag) == ""
    assert "is not that of version" in refused("v9.9.9")


def test_archives_describe_the_package_alike() -> None:
    archive = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for creator in archive["creators"]:
        assert f"\n  - name: {creator['name']}\n" in citation
    assert "".join(f"  - {word}\n" for word in archive["keywords"]) in citation
    assert f"\nlicense: {archive['license']}\n" in citation
    assert f"\ntitle: {archive['title']}\n" in citation
    assert archive["description"] in " ".join(citation.split())


def test_the_paper_cites_what_its_bibliography_has() -> None:
    folder = ROOT / "docs" / "paper-joss"
    _, head, text = (folder / "paper.md").read_text(encoding="utf-8").split("---\n", 2)
    assert re.findall(r"^(\w+):", head, re.MULTILINE) == [
        "title", "tags", "authors", "affiliations", "date", "bibliography",
    ]  # fmt: skip
    entries = (folder / "paper.bib").read_text(encoding="utf-8")
    cited = set(re.findall(r"@([\w-]+)", text))
    assert cited == set(re.findall(r"^@\w+\{([\w-]+),$", entries, re.MULTILINE))
    assert "# Statement of need\n" in text
    assert 750 <= len(text.split()) <= 1100  # two pages


def test_types_are_shipped() -> None:
    assert (resources.files("calipers") / "py.typed").is_file()


def test_every_dependency_is_explained() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    explained = {(m[1], m[2]) for m in re.finditer(r"^\| `(\S+)` \| (\S+) \|", text, re.MULTILINE)}
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    required = re.findall(
        r'^    "([\w-]+(?:\[\w+\])?)>=([\d.]+)(?:; .*)?",$', project, re.MULTILINE
    )
    assert len(required) >= len(metadata.requires("calipers") or [])
    assert set(required) == explained


@pytest.mark.parametrize("extra", ["campaign", "dask", "learn", "spark"])
def test_packages_of_an_extra_are_installed_by_their_own_names(extra: str) -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(rf"^{extra} = \[\n(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    assert listed is not None
    packages = re.findall(r'"([^">]+)>=', listed[1])
    # Bounds are those of the installation, which may be older than the file.
    command = re.sub(r">=[\d.]+", "", install_command(extra))
    assert command == f"pip install {' '.join(map(repr, sorted(packages)))}"


def test_an_extra_of_a_source_folder_is_installed_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", unknown)
    assert install_command("learn") == "pip install '.[learn]'"


def test_nothing_tells_to_install_from_an_index_before_there_is_a_release() -> None:
    """Until the first release an index has no Calipers, or somebody else's."""
    sources = [*PAGES, *(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    asked = re.compile(r"pip\s+install\s+['\"]?calipers\b(?P<after>.{0,90})", re.DOTALL)
    for source in sources:
        if source.name in {"CHANGELOG.md", Path(__file__).name}:
            continue
        for found in asked.finditer(source.read_text(encoding="utf-8")):
            assert "once Calipers is released" in " ".join(found["after"].split()), source


def test_an_index_shows_links_that_lead_somewhere(tmp_path: Path) -> None:
    if "[project.urls]" in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
        pytest.skip("the sources of a release, whose address is set")
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python(str(ROOT / "tools" / "set_address.py"), "https://host/us/calipers/", "v9", cwd=tmp_path)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", readme)
    assert links
    for link in links:
        assert link.startswith("#") or re.match(r"https?://", link), link
        if link.startswith("https://host"):
            path = re.sub(r"https://host/us/calipers/(blob|raw)/v9/", "", link).partition("#")[0]
            assert (ROOT / path).exists(), link
    project = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    assert project.replace(re.search(r"\[project.urls\]\n(.+\n)+\n", project)[0], "") == (
        ROOT / "pyproject.toml"
    ).read_text(encoding="utf-8")
    assert 'Issues = "https://host/us/calipers/issues"' in project


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"])
def test_links_lead_to_files_and_their_headings(page: str) -> None:
    found = ROOT / page
    for source in sorted(found.rglob("*.md")) if found.is_dir() else [found]:
        for link in re.findall(r"\]\(([^)\s]+)\)", source.read_text(encoding="utf-8")):
            path, _, anchor = link.partition("#")
            target = source.parent / path if path else source
            assert ":" in path or target.exists(), f"{source.name}: {link}"
            if anchor and ":" not in path and target.suffix == ".md":
                headings = re.findall(
                    r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE
                )
                slugs = [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings]
                assert anchor in slugs, f"{source.name}: {link}"


def test_licences_of_others_travel_with_the_package() -> None:
    files = {path.name: path for path in metadata.files("calipers") or []}
    for name in ("LICENSE", "THIRD-PARTY-NOTICES.txt", "javascript-notices.txt"):
        assert files[name].locate().read_text(encoding="utf-8")


# ----------------------------------------------------------------------------------- documentation


def has_examples(module: str) -> bool:
    """Asked of the source, as importing all of them takes its time."""
    path = Path(calipers.__path__[0], *module.split(".")[1:])
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ">>> " in source.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("module", [*filter(has_examples, MODULES)])
def test_examples_of_docstrings(module: str) -> None:
    done = doctest.testmod(importlib.import_module(module))
    assert done.failed == 0
    assert done.attempted


def test_every_module_can_be_imported() -> None:
    for module in MODULES:
        importlib.import_module(module)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page(page: Path, tmp_path: Path) -> None:
    if not re.search(r"^```(python|pycon|chart)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        return
    if not hasattr(os, "fork"):
        python("-c", RUN_PAGE, str(page), cwd=tmp_path)
        return
    program = IN_A_FORK.format(page=str(page), program=RUN_PAGE)
    done = forked(tmp_path, "calipers", before=program)
    assert done.returncode == 0, done.stdout + done.stderr


def commands(text: str) -> Iterator[tuple[int, list[str]]]:
    """The line of each command of a page, and its words up to a pipe or a redirection."""
    text = text.replace("\\\n", "  ")
    alone = r"""((?:[^'"|<>&;\n]|'[^'\n]*'|"[^"\n]*")+)"""
    for found in re.finditer(rf"^(?: {{4}}|\$ )?calipers {alone}", text, re.MULTILINE):
        yield text.count("\n", 0, found.start()) + 1, shlex.split(found[1], comments=True)


def is_measure(name: str, task: str) -> bool:
    try:
        return parse(name, TASKS[task]) is not None
    except UnknownMeasureError:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_are_understood(page: Path) -> None:
    """Each command, its options, their values and the measures exist; nothing is run."""
    if page.name == "CHANGELOG.md":
        return
    for line, given in commands(page.read_text(encoding="utf-8")):
        where = f"{page.name}:{line}: calipers {' '.join(given)}"
        words = (
            " ".join(given).replace("FILES", "qrels.txt a.run").split()
            if "FILES" in given
            else given
        )
        command: click.Command | None = cli
        context, tasks = click.Context(cli), []
        try:
            while isinstance(command, click.Group):
                name, command, words = command.resolve_command(context, words)
                assert command is not None, where
                context = click.Context(command, info_name=name, parent=context)
                tasks += [name] if name in TASKS else []
            with command.make_context(context.info_name, words) as made:
                measures = made.params.get("measures") or ()
        except click.UsageError as error:
            raise AssertionError(f"{where}: {error.format_message()}") from error
        for measure in measures:
            assert any(is_measure(measure, task) for task in tasks or TASKS), (where, measure)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("https://", "http://", "mailto:", "#")):
            assert (page.parent / target.split("#", maxsplit=1)[0]).exists(), target
