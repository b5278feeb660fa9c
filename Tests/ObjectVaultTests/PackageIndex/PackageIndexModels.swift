// The classes of the package index before its eight steps and after them. The steps are in
// PackageIndexSteps.

import Foundation
import ObjectVault

/// The classes of the first version.
enum FirstIndex {
  /// How a version needs a package. The names of the cases are stored.
  enum Relation: String, CaseIterable, Codable, AttributeValue, Sendable {
    case depends, preDepends, recommends, suggests

    /// The name of the field in a paragraph.
    var field: String { self == .preDepends ? "Pre-Depends" : rawValue.capitalized }
  }

  final class Package: ManagedObject {
    @Attribute(.unique) var name: String
    /// nil for a package that others need and that the index does not describe.
    @Attribute(.indexed) var section: String?
    @Attribute var homepage: URL?
    @ToMany(inverse: \Version.package, onDelete: .cascade) var versions: Set<Version>
    @ToMany(inverse: \Dependency.target, onDelete: .deny) var needed: Set<Dependency>
    @ToMany(inverse: \Tag.packages) var tags: Set<Tag>
  }

  final class Version: ManagedObject {
    @Attribute var text: String
    @Attribute var architecture: String
    @Attribute var priority: String
    /// The installed size, in KiB.
    @Attribute var installedSize: Int?
    /// The size of the file, in bytes.
    @Attribute var size: Int?
    @Attribute var summary: String
    @Attribute var seen: Date
    @ToOne(.required) var package: Package?
    @ToOne var maintainer: Maintainer?
    @ToOne(inverse: \Fingerprint.version, onDelete: .cascade) var fingerprint: Fingerprint?
    @ToMany(inverse: \Dependency.version, onDelete: .cascade) var dependencies: Set<Dependency>
  }

  final class Fingerprint: ManagedObject {
    @Attribute var digest: UUID
    @ToOne(.required) var version: Version?
  }

  /// The join entity between a version and a package that it needs.
  final class Dependency: ManagedObject {
    @Attribute(.indexed) var kind: Relation
    @Attribute var group: Int
    @Attribute var position: Int
    @Attribute var qualifier: String?
    @Attribute var comparison: String?
    @Attribute var bound: String?
    @ToOne(.required) var version: Version?
    @ToOne var target: Package?
  }

  final class Tag: ManagedObject {
    @Attribute(.unique) var name: String
    @ToMany var packages: Set<Package>
  }

  final class Maintainer: ManagedObject {
    @Attribute(.unique) var address: String
    @ToMany(inverse: \Version.maintainer, onDelete: .deny) var versions: Set<Version>
  }

  static let schema = Schema {
    Entity(Package.self)
    Entity(Version.self).unique(\.package, \.text, \.architecture)
    Entity(Fingerprint.self)
    Entity(Dependency.self)
    Entity(Tag.self)
    Entity(Maintainer.self)
  }
}

/// The classes after the eight steps.
enum LastIndex {
  typealias Relation = FirstIndex.Relation

  final class Package: ManagedObject {
    @Attribute(.unique) var name: String
    @Attribute var site: URL?
    @Attribute(.indexed) var isVirtual: Bool = false
    @ToOne(inverse: \Section.packages) var section: Section?
    @ToMany(inverse: \Release.package, onDelete: .cascade) var releases: Set<Release>
    @ToMany(inverse: \Dependency.target, onDelete: .cascade) var needed: Set<Dependency>
    @ToMany(inverse: \Tag.packages) var tags: Set<Tag>
    @ToMany(inverse: \Maintainer.packages) var maintainers: Set<Maintainer>
  }

  final class Section: ManagedObject {
    @Attribute(.unique) var name: String
    @Attribute var area: String = "main"
    @ToMany var packages: Set<Package>
  }

  final class Release: ManagedObject {
    @Attribute var number: String
    @Attribute var architecture: String
    @Attribute var priority: Int8 = 3
    /// The installed size, in MiB.
    @Attribute var installedSize: Decimal
    @Attribute var size: Int?
    @Attribute var summary: String
    @Attribute(.unique) var digest: UUID?
    @ToOne(.required) var package: Package?
    @ToMany(inverse: \Dependency.release, onDelete: .cascade) var dependencies: Set<Dependency>
  }

  final class Dependency: ManagedObject {
    @Attribute var kind: Relation
    @Attribute var group: Int
    @Attribute var position: Int
    @Attribute var qualifier: String?
    @Attribute var comparison: String?
    @Attribute var bound: String?
    @Attribute var isAlternative: Bool = false
    @ToOne(.required) var release: Release?
    @ToOne(.required) var target: Package?
  }

  final class Tag: ManagedObject {
    @Attribute(.unique) var name: String
    @ToMany var packages: Set<Package>
  }

  final class Maintainer: ManagedObject {
    @Attribute(.unique) var address: String
    @Attribute var name: String = ""
    @Attribute(.indexed) var mail: String?
    @ToMany var packages: Set<Package>
  }

  static let schema = Schema {
    Entity(Package.self)
    Entity(Section.self).unique(\.area, \.name)
    Entity(Release.self).unique(\.package, \.number, \.architecture)
    Entity(Dependency.self).index(\.kind, \.position)
    Entity(Tag.self)
    Entity(Maintainer.self)
  }
}
