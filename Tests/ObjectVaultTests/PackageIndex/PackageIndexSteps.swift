// The first version and the eight steps after it, as step files. Each step uses other operations, and
// together they rebuild every table.

import ObjectVault

enum PackageIndexSteps {
  /// Returns the steps up to a version.
  static func through(_ version: Int) throws -> MigrationSet {
    try MigrationSet(
      texts.prefix(version).enumerated().map { index, step in
        try MigrationStep(number: index + 1, name: step.name, text: step.text)
      })
  }

  static let texts: [(name: String, text: String)] = [
    ("initial", initial), ("virtual_packages", virtualPackages), ("sizes_and_priorities", sizes),
    ("releases", releases), ("sections", sections), ("delete_rules", deleteRules),
    ("maintainers", maintainers), ("untagged", untagged), ("fingerprints", fingerprints),
  ]

  private static let initial = """
    format: 1

    [up]
    create entity Package {
        attribute name string unique
        attribute section string optional indexed
        attribute homepage url optional
        relationship versions -> Version many inverse Version.package on delete cascade
        relationship needed -> Dependency many inverse Dependency.target on delete deny
        relationship tags -> Tag many inverse Tag.packages
    }
    create entity Version {
        attribute text string
        attribute architecture string
        attribute priority string
        attribute installedSize int optional
        attribute size int optional
        attribute summary string
        attribute seen date
        relationship package -> Package required inverse Package.versions
        relationship maintainer -> Maintainer inverse Maintainer.versions
        relationship fingerprint -> Fingerprint inverse Fingerprint.version on delete cascade
        relationship dependencies -> Dependency many inverse Dependency.version on delete cascade
        index (package, text, architecture) unique
    }
    create entity Fingerprint {
        attribute digest uuid
        relationship version -> Version required inverse Version.fingerprint
    }
    create entity Dependency {
        attribute kind string indexed
        attribute group int
        attribute position int
        attribute qualifier string optional
        attribute comparison string optional
        attribute bound string optional
        relationship version -> Version required inverse Version.dependencies
        relationship target -> Package inverse Package.needed
    }
    create entity Tag {
        attribute name string unique
        relationship packages -> Package many inverse Package.tags
    }
    create entity Maintainer {
        attribute address string unique
        relationship versions -> Version many inverse Version.maintainer on delete deny
    }
    """

  private static let virtualPackages = """
    format: 1
    note: which names nobody describes, and which needs can be met in several ways

    [up]
    add attribute Package.isVirtual bool default false indexed
    add attribute Dependency.isAlternative bool default false
    transform sql {
        UPDATE $Package SET $Package.isVirtual = 1
        WHERE $Package.id NOT IN (SELECT v.$Version.package FROM $Version v);

        UPDATE $Dependency SET $Dependency.isAlternative = 1
        WHERE EXISTS (
          SELECT 1 FROM $Dependency other
          WHERE other.$Dependency.version = $Dependency.$Dependency.version
            AND other.$Dependency.kind = $Dependency.$Dependency.kind
            AND other.$Dependency.group = $Dependency.$Dependency.group
            AND other.$Dependency.position > 0)
    }
    require "a virtual package has no version" {
        SELECT count(*) = 0 FROM $Package p JOIN $Version v ON v.$Version.package = p.$Package.id
        WHERE p.$Package.isVirtual
    }

    [down]
    drop attribute Package.isVirtual
    drop attribute Dependency.isAlternative
    """

  private static let sizes = """
    format: 1
    note: sizes in MiB, with three digits behind the point; priorities as numbers

    [up]
    retype Version.priority to int8 using (CASE $Version.priority WHEN 'required' THEN 0 WHEN 'important' THEN 1 WHEN 'standard' THEN 2 WHEN 'optional' THEN 3 ELSE 4 END)
    retype Version.installedSize to decimal using (($Version.installedSize / 1024) || '.' || substr('000' || ($Version.installedSize % 1024 * 1000 / 1024), -3))
    make Version.installedSize required filling 0

    [down]
    make Version.installedSize optional
    retype Version.installedSize to int using (CAST($Version.installedSize AS INTEGER) * 1024 + (CAST(substr($Version.installedSize || '.000', instr($Version.installedSize || '.000', '.') + 1, 3) AS INTEGER) * 1024 + 999) / 1000)
    retype Version.priority to string using (CASE $Version.priority WHEN 0 THEN 'required' WHEN 1 THEN 'important' WHEN 2 THEN 'standard' WHEN 3 THEN 'optional' ELSE 'extra' END)
    """

  private static let releases = """
    format: 1
    note: a version is the text; what has one is a release

    [up]
    rename entity Version -> Release
    rename attribute Release.text -> number
    rename attribute Package.homepage -> site
    rename relationship Package.versions -> releases
    rename relationship Dependency.version -> release
    rename relationship Maintainer.versions -> releases
    rename relationship Fingerprint.version -> release
    """

  private static let sections = """
    format: 1
    note: sections are objects, each in an area of the archive
    allow: lossy:Package.section

    [up]
    create entity Section {
        attribute name string unique
        attribute area string default "main"
        relationship packages -> Package many inverse Package.category
    }
    add relationship Package.category -> Section inverse Section.packages
    transform sql {
        INSERT INTO $Section ($Section.name)
          SELECT DISTINCT p.$Package.section FROM $Package p WHERE p.$Package.section IS NOT NULL ORDER BY 1;
        UPDATE $Section SET $Section.area = substr($Section.name, 1, instr($Section.name, '/') - 1)
          WHERE $Section.name LIKE '%/%';
        UPDATE $Package SET $Package.category =
          (SELECT s.$Section.id FROM $Section s WHERE s.$Section.name = $Package.$Package.section);
    }
    require "every package that had a section has one" {
        SELECT count(*) = 0 FROM $Package
        WHERE ($Package.section IS NULL) <> ($Package.category IS NULL)
    }
    drop attribute Package.section
    rename relationship Package.category -> section

    [down]
    rename relationship Package.section -> category
    add attribute Package.section string optional indexed
    transform sql {
        UPDATE $Package SET $Package.section =
          (SELECT s.$Section.name FROM $Section s WHERE s.$Section.id = $Package.$Package.category)
    }
    drop relationship Package.category
    drop relationship Section.packages
    drop entity Section
    """

  private static let deleteRules = """
    format: 1
    note: a package that goes takes along what needed it

    [up]
    set delete rule of Package.needed to cascade
    set delete rule of Maintainer.releases to nullify
    make Dependency.target required
    set default of Release.priority to 3
    """

  private static let maintainers = """
    format: 1
    note: people look after packages, not after releases
    allow: lossy:Release.maintainer, lossy:Maintainer.releases

    [up]
    add attribute Maintainer.name string default ""
    add attribute Maintainer.mail string optional indexed
    add relationship Package.maintainers -> Maintainer many inverse Maintainer.packages
    add relationship Maintainer.packages -> Package many inverse Package.maintainers
    transform sql {
        INSERT INTO $Package.maintainers ($Package.maintainers.Maintainer, $Package.maintainers.Package)
          SELECT DISTINCT r.$Release.maintainer, r.$Release.package FROM $Release r
          WHERE r.$Release.maintainer IS NOT NULL;
        UPDATE $Maintainer SET $Maintainer.name = $Maintainer.address;
        UPDATE $Maintainer
          SET $Maintainer.name = substr($Maintainer.address, 1, instr($Maintainer.address, ' <') - 1),
              $Maintainer.mail = rtrim(substr($Maintainer.address, instr($Maintainer.address, ' <') + 2), '>')
          WHERE instr($Maintainer.address, ' <') > 0
    }
    require "somebody looks after every package that has a release" {
        SELECT count(*) = 0 FROM $Release r
        WHERE NOT EXISTS (SELECT 1 FROM $Package.maintainers l
                          WHERE l.$Package.maintainers.Package = r.$Release.package)
          AND r.$Release.maintainer IS NOT NULL
    }
    drop relationship Release.maintainer
    drop relationship Maintainer.releases

    # Who had which release nobody knows any more: each gets one of those who look after its package, in turn.
    [down]
    add relationship Release.maintainer -> Maintainer inverse Maintainer.releases
    add relationship Maintainer.releases -> Release many inverse Release.maintainer
    transform sql {
        UPDATE $Release SET $Release.maintainer =
          (SELECT l.$Package.maintainers.Maintainer FROM $Package.maintainers l
           WHERE l.$Package.maintainers.Package = $Release.$Release.package
             AND (SELECT count(*) FROM $Package.maintainers o
                  WHERE o.$Package.maintainers.Package = l.$Package.maintainers.Package
                    AND o.$Package.maintainers.Maintainer < l.$Package.maintainers.Maintainer)
               = (SELECT count(*) FROM $Release r
                  WHERE r.$Release.package = $Release.$Release.package AND r.$Release.id < $Release.$Release.id)
               % (SELECT count(*) FROM $Package.maintainers a
                  WHERE a.$Package.maintainers.Package = $Release.$Release.package))
    }
    drop relationship Package.maintainers
    drop relationship Maintainer.packages
    drop attribute Maintainer.mail
    drop attribute Maintainer.name
    """

  private static let untagged = """
    format: 1
    note: a tag for packages without one

    [up]
    drop index Dependency(kind)
    add index Dependency(kind, position)
    add index Section(area, name) unique
    seed { INSERT INTO $Tag ($Tag.name) VALUES ('special::untagged') }
    transform sql {
        INSERT INTO $Tag.packages ($Tag.packages.Tag, $Tag.packages.Package)
          SELECT t.$Tag.id, p.$Package.id FROM $Tag t, $Package p
          WHERE t.$Tag.name = 'special::untagged' AND NOT p.$Package.isVirtual
            AND NOT EXISTS (SELECT 1 FROM $Package.tags l WHERE l.$Package.tags.Package = p.$Package.id)
    }

    [down]
    transform sql {
        DELETE FROM $Tag.packages WHERE $Tag.packages.Tag =
          (SELECT t.$Tag.id FROM $Tag t WHERE t.$Tag.name = 'special::untagged');
        DELETE FROM $Tag WHERE $Tag.name = 'special::untagged'
    }
    drop index Section(area, name)
    drop index Dependency(kind, position)
    add index Dependency(kind)
    """

  private static let fingerprints = """
    format: 1
    note: a fingerprint is a value, and nobody asks when a release was seen
    allow: lossy:Fingerprint, lossy:Release.fingerprint, lossy:Fingerprint.release, lossy:Release.seen

    [up]
    add attribute Release.digest uuid optional
    transform sql {
        UPDATE $Release SET $Release.digest =
          (SELECT f.$Fingerprint.digest FROM $Fingerprint f
           WHERE f.$Fingerprint.release = $Release.$Release.id)
    }
    add index Release(digest) unique
    drop relationship Release.fingerprint
    drop relationship Fingerprint.release
    drop entity Fingerprint
    drop attribute Release.seen

    [down]
    create entity Fingerprint {
        attribute digest uuid
        relationship release -> Release required inverse Release.fingerprint
    }
    add relationship Release.fingerprint -> Fingerprint inverse Fingerprint.release on delete cascade
    add attribute Release.seen date optional
    transform sql {
        INSERT INTO $Fingerprint ($Fingerprint.digest, $Fingerprint.release)
          SELECT r.$Release.digest, r.$Release.id FROM $Release r WHERE r.$Release.digest IS NOT NULL ORDER BY 2;
        UPDATE $Release SET $Release.seen = 0.0
    }
    make Release.seen required
    drop index Release(digest)
    drop attribute Release.digest
    """
}
