# SPDX-License-Identifier: Apache-2.0
"""The packages that a file of the release links to: as CycloneDX, and their licenses as text."""
from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from common import Release

# Licenses of CycloneDX's list (SPDX), by the names that Debian's copyright files have. Other names stay as they are.
SPDX = {"Apache-2.0": "Apache-2.0", "Apache-2": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
        "BSD-2-Clause": "BSD-2-Clause", "BSD-3-Clause": "BSD-3-Clause", "Expat": "MIT", "MIT": "MIT", "Zlib": "Zlib", "zlib": "Zlib",
        "GPL-2": "GPL-2.0-only", "GPL-2+": "GPL-2.0-or-later", "GPL-3": "GPL-3.0-only", "GPL-3+": "GPL-3.0-or-later",
        "LGPL-2": "LGPL-2.0-only", "LGPL-2+": "LGPL-2.0-or-later", "LGPL-2.1": "LGPL-2.1-only", "LGPL-2.1+": "LGPL-2.1-or-later",
        "LGPL-3": "LGPL-3.0-only", "LGPL-3+": "LGPL-3.0-or-later", "MPL-2.0": "MPL-2.0", "ISC": "ISC", "curl": "curl"}


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    arch: str
    source: str
    homepage: str
    depends: tuple[str, ...]
    copyright: str


def packages(root: Path) -> list[Package]:
    """Returns the packages of a folder that deploy/image/root.sh has made."""
    found = []
    for path in sorted((root / "var/lib/dpkg/status.d").iterdir()):
        fields = dict(re.findall(r"^(\S+): (.*)$", path.read_text(), re.M))
        text = (root / "usr/share/doc" / path.name / "copyright").read_text(errors="replace")
        depends = re.findall(r"(?:^|[,|] *)([a-z0-9.+-]+)", fields.get("Depends", ""))
        found.append(Package(path.name, fields["Version"], fields["Architecture"], fields.get("Source", path.name).split(" ")[0],
                             fields.get("Homepage", ""), tuple(depends), text))
    return found


def licenses(package: Package) -> list[dict]:
    """Returns the licenses that a copyright file declares in the machine-readable format, or a reference to the file."""
    names: list[str] = []
    if "copyright-format/1" in package.copyright.split("\n\n")[0]:
        for line in re.findall(r"^License: *(\S.*)$", package.copyright, re.M):
            names += re.split(r",? +(?:and|or) +|, *", line)
    unique = sorted({name.strip() for name in names if name.strip()})
    if not unique:
        return [{"license": {"name": f"see the copyright of {package.name} in the list of licenses"}}]
    return [{"license": {"id": SPDX[name]} if name in SPDX else {"name": name}} for name in unique]


def document(release: Release, name: str, debian: str, found: list[Package]) -> str:
    """Returns the bill of materials of one file. It depends on the arguments alone."""
    ours = {"type": "application", "bom-ref": "delaybridge", "name": "delaybridge", "version": release.version,
            "licenses": [{"license": {"id": "Apache-2.0"}}],
            "properties": [{"name": "file", "value": name}, {"name": "commit", "value": release.commit}]}
    refs = {p.name: f"pkg:deb/debian/{p.name}@{quote(p.version, safe='')}?arch={p.arch}&distro=debian-{debian}" for p in found}
    components = [{"type": "library", "bom-ref": refs[p.name], "name": p.name, "version": p.version, "purl": refs[p.name],
                   "licenses": unique(licenses(p)), "properties": [{"name": "source package", "value": p.source}],
                   **({"externalReferences": [{"type": "website", "url": p.homepage}]} if p.homepage else {})} for p in found]
    edges = [{"ref": "delaybridge", "dependsOn": sorted(refs.values())},
             *({"ref": refs[p.name], "dependsOn": sorted({refs[d] for d in p.depends if d in refs and d != p.name})} for p in found)]
    made = {"bomFormat": "CycloneDX", "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{name} {release.commit}')}", "version": 1,
            "metadata": {"timestamp": release.instant, "component": ours}, "components": components, "dependencies": edges}
    return json.dumps(made, indent=1) + "\n"


def unique(listed: list[dict]) -> list[dict]:
    return [each for n, each in enumerate(listed) if each not in listed[:n]]


def texts(name: str, found: list[Package]) -> str:
    """Returns the licenses of all packages, each text once."""
    users: dict[str, list[str]] = {}
    for package in found:
        users.setdefault(package.copyright, []).append(f"{package.name} {package.version}")
    parts = [f"The packages that {name} links to or contains, and their licenses.\n"]
    for text, who in sorted(users.items(), key=lambda item: item[1]):
        parts.append("=" * 100 + "\n" + "\n".join(who) + "\n" + "=" * 100 + "\n" + text.rstrip() + "\n")
    return "\n".join(parts)


def describe(release: Release, made: Path, debian: str, root: Path) -> None:
    """Writes the bill of materials and the licenses next to a file of the release. root: what root.sh made of it."""
    found = packages(root)
    made.with_name(f"{made.name}.cdx.json").write_text(document(release, made.name, debian, found))
    made.with_name(f"{made.name}.licenses.txt").write_text(texts(made.name, found))
