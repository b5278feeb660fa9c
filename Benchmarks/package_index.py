"""The floor of `make bench-index`: reads a package index of Debian into a plain SQLite file, in one transaction, with the
standard library alone, written as one would. The tables and indexes are those that the store has (see
Sources/vault-bench/PackageIndex), without encryption.

    package_index.py INDEX [DATABASE]

Writes JSON: the peak of memory in bytes, and how many rows each table has."""

import json
import os
import re
import sqlite3
import sys
import tempfile
import uuid

KINDS = {"Depends": "depends", "Pre-Depends": "preDepends", "Recommends": "recommends", "Suggests": "suggests"}
FIELDS = set(KINDS) | {"Package", "Version", "Architecture", "Maintainer", "Installed-Size", "Description", "Homepage",
                       "Tag", "Section", "Priority", "Size", "MD5sum"}
NEED = re.compile(r"\s*([^\s:(]+)(?::([^\s(]+))?\s*(?:\(\s*([<>=]+)\s*([^)\s]+)\s*\))?\s*")
# The date `seen` of every version.
DAY = 800_000_000.125

SCHEMA = """
CREATE TABLE Section (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, name TEXT NOT NULL);
CREATE TABLE Package (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, name TEXT NOT NULL, homepage TEXT,
  section_id INTEGER REFERENCES Section(id) ON DELETE CASCADE);
CREATE TABLE Maintainer (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, address TEXT NOT NULL);
CREATE TABLE Tag (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, name TEXT NOT NULL);
CREATE TABLE Version (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, text TEXT NOT NULL,
  architecture TEXT NOT NULL, priority TEXT NOT NULL, installedSize INTEGER, size INTEGER, summary TEXT NOT NULL,
  seen REAL NOT NULL, package_id INTEGER NOT NULL REFERENCES Package(id) ON DELETE CASCADE,
  maintainer_id INTEGER REFERENCES Maintainer(id));
CREATE TABLE Fingerprint (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, digest TEXT NOT NULL,
  version_id INTEGER NOT NULL REFERENCES Version(id) ON DELETE CASCADE);
CREATE TABLE Dependency (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, kind TEXT NOT NULL,
  "group" INTEGER NOT NULL, position INTEGER NOT NULL, qualifier TEXT, comparison TEXT, bound TEXT,
  version_id INTEGER NOT NULL REFERENCES Version(id) ON DELETE CASCADE,
  target_id INTEGER NOT NULL REFERENCES Package(id) ON DELETE CASCADE);
CREATE TABLE Tag_packages (tag_id INTEGER NOT NULL REFERENCES Tag(id) ON DELETE CASCADE,
  package_id INTEGER NOT NULL REFERENCES Package(id) ON DELETE CASCADE, PRIMARY KEY (tag_id, package_id)) WITHOUT ROWID;
CREATE UNIQUE INDEX section_name ON Section(name);
CREATE UNIQUE INDEX package_name ON Package(name);
CREATE INDEX package_section ON Package(section_id);
CREATE UNIQUE INDEX maintainer_address ON Maintainer(address);
CREATE UNIQUE INDEX tag_name ON Tag(name);
CREATE UNIQUE INDEX version_key ON Version(package_id, text, architecture);
CREATE INDEX version_maintainer ON Version(maintainer_id);
CREATE UNIQUE INDEX fingerprint_version ON Fingerprint(version_id);
CREATE INDEX dependency_kind ON Dependency(kind);
CREATE INDEX dependency_version ON Dependency(version_id);
CREATE INDEX dependency_target ON Dependency(target_id);
CREATE INDEX tag_packages_package ON Tag_packages(package_id);
"""


def paragraphs(path):
    fields, name = {}, None
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            line = line[:-1] if line.endswith("\n") else line
            if not line:
                if fields:
                    yield fields
                fields, name = {}, None
            elif line[0] in " \t":
                if name:
                    fields[name] += "\n" + line
            else:
                name, _, value = line.partition(":")
                if name in FIELDS:
                    fields[name] = value.strip()
                else:
                    name = None
    if fields:
        yield fields


def needs(fields):
    for field, kind in KINDS.items():
        if field in fields:
            for group, alternatives in enumerate(fields[field].split(",")):
                for position, text in enumerate(alternatives.split("|")):
                    yield (kind, group, position) + NEED.fullmatch(text).groups()


class Names(dict):
    """Assigns numbers, from 1, to names when they first occur."""

    def __missing__(self, name):
        self[name] = number = len(self) + 1
        return number


def number(text):
    return None if text is None else int(text)


def read(path):
    packages, sections, maintainers, tags = Names(), Names(), Names(), Names()
    described = {}
    keys, versions, fingerprints, dependencies, links = set(), [], [], [], {}
    for fields in paragraphs(path):
        key = (fields["Package"], fields["Version"], fields["Architecture"])
        if key in keys:
            continue
        keys.add(key)
        package = packages[fields["Package"]]
        if package not in described:
            described[package] = (fields.get("Homepage"), sections[fields.get("Section", "unknown")])
        for tag in re.split("[,\n]", fields.get("Tag", "")):
            if tag.strip():
                links[(tags[tag.strip()], package)] = True
        maintainer = maintainers[fields["Maintainer"]] if "Maintainer" in fields else None
        version = len(versions) + 1
        versions.append((version, fields["Version"], fields["Architecture"], fields.get("Priority", ""),
                         number(fields.get("Installed-Size")), number(fields.get("Size")),
                         fields.get("Description", ""), DAY, package, maintainer))
        if "MD5sum" in fields:
            fingerprints.append((str(uuid.UUID(fields["MD5sum"])).upper(), version))
        for kind, group, position, name, qualifier, comparison, bound in needs(fields):
            dependencies.append((kind, group, position, qualifier, comparison, bound, version, packages[name]))
    rows = [(number, name) + described.get(number, (None, None)) for name, number in packages.items()]
    return {
        "Section(name, id)": list(sections.items()),
        "Package(id, name, homepage, section_id)": rows,
        "Maintainer(address, id)": list(maintainers.items()),
        "Tag(name, id)": list(tags.items()),
        "Version(id, text, architecture, priority, installedSize, size, summary, seen, package_id, maintainer_id)":
            versions,
        "Fingerprint(digest, version_id)": fingerprints,
        'Dependency(kind, "group", position, qualifier, comparison, bound, version_id, target_id)': dependencies,
        "Tag_packages(tag_id, package_id)": list(links),
    }


def write(tables, path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    # 56 MiB, the same as for the store's import.
    connection.execute("PRAGMA cache_size = -57344")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(SCHEMA)
    connection.execute("BEGIN IMMEDIATE")
    for table, rows in tables.items():
        marks = ", ".join("?" * (table.count(",") + 1))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    connection.execute("COMMIT")
    connection.close()


def peak_bytes():
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def main():
    tables = read(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        write(tables, sys.argv[2] if len(sys.argv) > 2 else os.path.join(folder, "index.db"))
    print(json.dumps({"peak": peak_bytes(), "rows": {name.split("(")[0]: len(rows) for name, rows in tables.items()}}))


main()
