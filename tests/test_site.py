"""The pages as a site: every public name is in the reference with a docstring, and every link leads somewhere."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
import yaml

import redraft
from tests.support import SAMPLE, public_names

ROOT = SAMPLE.parent.parent
_NAMES = [
    (sys.modules[module], name)
    for module, names in public_names().items()
    for name in sorted(names)
    if f"{module}.{name}" not in public_names()
]


def _missing(package: ModuleType, name: str) -> Iterator[str]:
    """The name, and those of its public methods, that have no docstring of their own."""
    value = getattr(package, name)
    if not inspect.isclass(value):
        if not inspect.isfunction(value):
            yield from [] if _is_described(package, name) else [name]
        elif not value.__doc__:
            yield name
        return
    if not value.__dict__.get("__doc__"):
        yield name
    for member, method in list(vars(value).items()):
        method = method.fget if isinstance(method, property) else getattr(method, "__func__", method)
        if not member.startswith("_") and inspect.isfunction(method) and not inspect.getdoc(getattr(value, member)):
            yield f"{name}.{member}"


def _is_described(package: ModuleType, name: str) -> bool:
    """Whether a string follows the assignment of a name in the module that the stub has it from."""
    path = Path(package.__file__ or "")
    if path.with_suffix(".pyi").exists():
        stub = path.with_suffix(".pyi").read_text("utf-8")
        home = re.search(rf"^from (\S+) import {name} as", stub, re.MULTILINE)
        assert home
        path = ROOT / f"{home[1].replace('.', '/')}.py"
    body = ast.parse(path.read_text("utf-8")).body
    for at, statement in enumerate(body[:-1]):
        if isinstance(statement, ast.Assign | ast.AnnAssign) and name in ast.unparse(statement).split("=")[0]:
            following = body[at + 1]
            return isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
    return False


def test_public_names_are_few_and_described() -> None:
    assert [missing for package, name in _NAMES for missing in _missing(package, name)] == []
    assert len(redraft.__all__) <= 70


def test_the_reference_has_every_public_name_once() -> None:
    listed = Counter(
        name
        for page in (ROOT / "docs" / "api").glob("*.rst")
        for name in re.findall(r"^\.\. auto\w+:: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    )
    # Some names of the smaller packages are also in `redraft`, where the reference has them.
    public = {
        f"{package.__name__}.{name}"
        for package, name in _NAMES
        if package is redraft or getattr(package, name) is not getattr(redraft, name, None)
    }
    assert listed == Counter(public)


def test_the_files_for_publishing_agree() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert f'version = "{citation["version"]}"' in project
    assert f'Source = "{citation["repository-code"]}"' in project
    for path in [*(ROOT / ".github").rglob("*.yml"), ROOT / ".pre-commit-config.yaml", ROOT / "compose.yaml"]:
        assert yaml.safe_load(path.read_text("utf-8")), path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(needed)
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(out / "html")]
    done = subprocess.run([*command, "-d", str(out / "trees")], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.mark.nightly
def test_links_within_the_site_lead_somewhere(site: Path) -> None:
    html = {path: path.read_text("utf-8") for path in site.rglob("*.html")}
    places = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in html.items()}
    broken = []
    for path, text in html.items():
        for link in re.findall(r'\b(?:href|src)="([^"]+)"', text):
            url = urlsplit(link)
            if url.scheme or url.netloc or link == "#":
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.exists() or (url.fragment and unquote(url.fragment) not in places.get(target, ())):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []
    assert len(html) > 50


@pytest.mark.nightly
def test_the_source_distribution_builds_the_wheel(tmp_path: Path) -> None:
    for needed in ("hatchling", "hatch_fancy_pypi_readme"):
        pytest.importorskip(needed)

    def build(target: str, folder: Path) -> Path:
        command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(tmp_path)]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        return next(tmp_path.glob("*.whl" if target == "wheel" else "*.tar.gz"))

    with tarfile.open(build("sdist", ROOT)) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    with zipfile.ZipFile(build("wheel", next((tmp_path / "source").iterdir()))) as wheel:
        metadata = wheel.read(next(name for name in wheel.namelist() if name.endswith("/METADATA"))).decode()
        in_wheel = {name for name in wheel.namelist() if name.startswith("redraft/")}

    tracked = {str(path.relative_to(ROOT)) for path in (ROOT / "redraft").rglob("*") if path.is_file()}
    # The studio's sample is the repository's example.
    tracked.add("redraft/studio/the-salt-ledger.md")
    assert in_wheel == {name for name in tracked if "__pycache__" not in name}
    links = re.findall(r"\]\(([^)\s]+)\)", metadata)
    assert len(links) > 15
    assert [link for link in links if not link.startswith("https://")] == []
