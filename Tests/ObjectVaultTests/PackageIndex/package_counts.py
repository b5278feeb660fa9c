"""Counts the numbers that the tests of the package index compare, from the file alone. Writes JSON: counts, and lists."""

import json
import re
import sys
from collections import Counter, defaultdict
from decimal import Decimal

KINDS = {"Depends": "depends", "Pre-Depends": "preDepends", "Recommends": "recommends", "Suggests": "suggests"}
NEED = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9.+-]*)(?::([A-Za-z0-9-]+))?(?:\s*\((<<|<=|=|>=|>>|<|>)\s*([^)\s]+)\s*\))?")
PRIORITIES = {"required": 0, "important": 1, "standard": 2, "optional": 3}


def paragraphs(path):
    text = open(path, encoding="utf-8", newline="\n").read()
    seen = set()
    for block in text.split("\n\n"):
        fields, name = {}, None
        for line in block.split("\n"):
            if line[:1] in (" ", "\t"):
                fields[name] += "\n" + line
            elif line:
                name, value = line.split(":", 1)
                fields[name] = value.strip()
        key = (fields.get("Package"), fields.get("Version"), fields.get("Architecture"))
        if fields and key not in seen:
            seen.add(key)
            yield fields


class Index:
    def __init__(self, path):
        self.versions = list(paragraphs(path))
        self.sections, self.homepages = {}, {}
        self.tags, self.maintainers = defaultdict(set), defaultdict(set)
        self.of_package = defaultdict(list)
        self.needs = []
        for fields in self.versions:
            name = fields["Package"]
            self.of_package[name].append(fields)
            if name not in self.sections:
                self.sections[name] = fields.get("Section", "unknown")
                self.homepages[name] = fields.get("Homepage")
            self.tags[name] |= {t.strip() for t in fields.get("Tag", "").split(",") if t.strip()}
            if "Maintainer" in fields:
                self.maintainers[name].add(fields["Maintainer"])
            fields["needs"] = list(self.needs_of(fields))
            self.needs += fields["needs"]
        self.described = set(self.sections)
        self.names = self.described | {n["target"] for n in self.needs}

    @staticmethod
    def needs_of(fields):
        for field, kind in KINDS.items():
            groups = [g for g in fields.get(field, "").split(",") if g.strip()]
            for group, text in enumerate(groups):
                alternatives = text.split("|")
                for position, alternative in enumerate(alternatives):
                    match = NEED.fullmatch(alternative.strip())
                    if match is None:
                        sys.exit("not understood: " + alternative)
                    target, qualifier, comparison, bound = match.groups()
                    yield dict(of=fields, kind=kind, group=group, position=position, target=target,
                               qualifier=qualifier, comparison=comparison, bound=bound,
                               alternative=len(alternatives) > 1)


def thousandths(fields):
    """Returns the installed size in MiB, truncated to three digits, as a whole number of thousandths."""
    size = int(fields.get("Installed-Size", 0))
    return size // 1024 * 1000 + size % 1024 * 1000 // 1024


def count(items):
    return sum(1 for _ in items)


def first_counts(i):
    """Counts the entities, and the results of the queries of the first version."""
    needed = Counter(n["target"] for n in i.needs)
    addresses = {f["Maintainer"] for f in i.versions if "Maintainer" in f}
    summary = [f.get("Description", "") for f in i.versions]
    kinds = Counter(n["kind"] for n in i.needs)
    result = {
        "Package": len(i.names), "Version": len(i.versions), "Dependency": len(i.needs),
        "Tag": len(set().union(*i.tags.values())), "Maintainer": len(addresses),
        "Fingerprint": count(f for f in i.versions if "MD5sum" in f),
        "tag links": sum(map(len, i.tags.values())),
        "section is libs": count(n for n in i.names if i.sections.get(n) == "libs"),
        "no section": count(n for n in i.names if n not in i.sections),
        "no homepage": count(n for n in i.names if i.homepages.get(n) is None),
        "name like lib*-dev": count(n for n in i.names if n.startswith("lib") and n.endswith("-dev")),
        "name begins not with lib": count(n for n in i.names if not n.startswith("lib")),
        "section in a list": count(n for n in i.names if i.sections.get(n) in ("games", "doc", "perl", None)),
        "homepage on github": count(h for h in i.homepages.values() if (h or "").startswith("https://github.com/")),
        "summary has gtk": count(s for s in summary if "gtk" in s.casefold()),
        "size between": count(f for f in i.versions if 20_000 <= int(f.get("Size", -1)) <= 90_000),
        "big for its size": count(
            f for f in i.versions if "Installed-Size" in f and "Size" in f
            and int(f["Installed-Size"]) > int(f["Size"]) // 1024 * 5),
        "needs of libc6 with a bound": count(
            n for n in i.needs if n["target"] == "libc6" and n["kind"] == "depends" and n["comparison"] == ">="),
        "comparison is not >=": count(n for n in i.needs if n["comparison"] != ">="),
        "any architecture": count(n for n in i.needs if n["qualifier"] == "any"),
        "needs by lists.debian.org": count(
            n for n in i.needs if "@lists.debian.org" in n["of"].get("Maintainer", "")),
        "packages that need python3": len(
            {n["of"]["Package"] for n in i.needs if n["target"] == "python3"}),
        "packages that recommend nothing": len(i.names) - len(
            {n["of"]["Package"] for n in i.needs if n["kind"] == "recommends"}),
        "only for all": count(
            n for n in i.names if all(f.get("Architecture") == "all" for f in i.of_package.get(n, []))),
        "nobody needs": count(n for n in i.names if needed[n] == 0),
        "several versions": count(n for n in i.names if len(i.of_package.get(n, [])) > 1),
        "more than five tags": count(n for n in i.names if len(i.tags.get(n, ())) > 5),
        "need of themselves": count(n for n in i.needs if n["target"] == n["of"]["Package"]),
        "tagged as programs": count(n for n in i.names if "role::program" in i.tags.get(n, ())),
        "needs in libs of libs": count(
            n for n in i.needs
            if i.sections[n["of"]["Package"]] == "libs" and i.sections.get(n["target"]) == "libs"),
    }
    result.update({"kind " + k: kinds[k] for k in KINDS.values()})
    return result


def last_counts(i):
    """Counts the results of the eight steps."""
    sections = set(i.sections.values())
    areas = {s: s.split("/")[0] if "/" in s else "main" for s in sections}
    addresses = {a for some in i.maintainers.values() for a in some}
    mail = {a: a.split(" <", 1)[1].rstrip(">") if " <" in a else None for a in addresses}
    levels = Counter(PRIORITIES.get(f.get("Priority", ""), 4) for f in i.versions)
    untagged = count(n for n in i.described if not i.tags[n])
    gone = popular(i)
    result = {
        "virtual": len(i.names - i.described),
        "alternatives": count(n for n in i.needs if n["alternative"]),
        "thousandths": sum(map(thousandths, i.versions)),
        "Section": len(sections), "Section in main": count(s for s in sections if areas[s] == "main"),
        "package outside of main": count(n for n in i.described if areas[i.sections[n]] != "main"),
        "maintainer links": sum(map(len, i.maintainers.values())),
        "mails": count(a for a in addresses if mail[a] is not None),
        "looked after by lists": count(
            n for n in i.names
            if any((mail[a] or "").endswith("@lists.debian.org") for a in i.maintainers.get(n, ()))),
        "several maintainers": count(n for n in i.names if len(i.maintainers.get(n, ())) > 1),
        "untagged": untagged,
        "digests": count(f for f in i.versions if "MD5sum" in f),
        "beyond 100.5 MiB": count(f for f in i.versions if Decimal(thousandths(f)) / 1000 > Decimal("100.5")),
        "packages that matter": count(
            n for n in i.described
            if any(PRIORITIES.get(f.get("Priority", ""), 4) <= 2 for f in i.of_package[n])),
        "alternative needs of virtual packages": count(
            n for n in i.needs if n["alternative"] and n["target"] not in i.described),
        "needs without the popular": count(
            n for n in i.needs if n["target"] != gone and n["of"]["Package"] != gone),
        "needed by the popular or needing it": count(
            n for n in i.needs if n["target"] == gone or n["of"]["Package"] == gone),
        "versions without the popular": count(f for f in i.versions if f["Package"] != gone),
    }
    result.update({"priority %d" % level: levels[level] for level in range(5)})
    return result


def popular(i):
    """Returns the described package that is twentieth by how many dependencies need it, or the last of fewer."""
    needed = Counter(n["target"] for n in i.needs if n["target"] in i.described)
    order = sorted(needed, key=lambda name: (-needed[name], name))
    return order[min(19, len(order) - 1)]


def lists(i):
    largest = sorted(
        i.versions, key=lambda f: (-int(f.get("Installed-Size", -1)), f["Package"], f["Version"], f["Architecture"]))
    roomy = sorted(
        i.versions, key=lambda f: (-thousandths(f), f["Package"], f["Version"], f["Architecture"]))
    tags = Counter(tag for some in i.tags.values() for tag in some)
    return {
        "largest": [f["Package"] + " " + f["Version"] for f in largest[:12]],
        "roomiest": [f["Package"] + " " + f["Version"] for f in roomy[40:60]],
        "tag counts": ["%s %d" % (tag, tags[tag]) for tag in sorted(tags)],
        "last names": sorted(i.names, reverse=True)[:25],
        "popular": [popular(i)],
        "a digest": sorted(f["MD5sum"] for f in i.versions if "MD5sum" in f)[:1],
    }


index = Index(sys.argv[1])
json.dump(
    {"counts": {**first_counts(index), **last_counts(index)}, "lists": lists(index)}, sys.stdout)
