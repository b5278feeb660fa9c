// The package index of Debian as a graph: the classes. The same tables and indexes are in
// package_index.py.

import Foundation
import ObjectVault

/// The entities of a package index.
enum DebianIndex {
  /// How a version needs a package. The raw value is stored.
  enum Relation: String, CaseIterable, Codable, AttributeValue, Sendable {
    case depends, preDepends, recommends, suggests
  }

  final class Section: ManagedObject {
    @Attribute(.unique) var name: String
    @ToMany(inverse: \Package.section, onDelete: .cascade) var packages: Set<Package>
  }

  final class Package: ManagedObject {
    @Attribute(.unique) var name: String
    @Attribute var homepage: String?
    /// nil for a package that others need and that no paragraph describes.
    @ToOne var section: Section?
    @ToMany(inverse: \Version.package, onDelete: .cascade) var versions: Set<Version>
    @ToMany(inverse: \Dependency.target, onDelete: .cascade) var needed: Set<Dependency>
    @ToMany(inverse: \Tag.packages) var tags: Set<Tag>
  }

  final class Version: ManagedObject {
    @Attribute var text: String
    @Attribute var architecture: String
    @Attribute var priority: String
    /// In KiB.
    @Attribute var installedSize: Int?
    /// The size of the package file, in bytes.
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

  /// What a version needs: one alternative of one need.
  final class Dependency: ManagedObject {
    @Attribute(.indexed) var kind: Relation
    /// The index of the need in its field, from 0.
    @Attribute var group: Int
    /// The index of the alternative in the need, from 0.
    @Attribute var position: Int
    /// The text after a colon, such as `any`.
    @Attribute var qualifier: String?
    @Attribute var comparison: String?
    @Attribute var bound: String?
    @ToOne(.required) var version: Version?
    @ToOne(.required) var target: Package?
  }

  final class Tag: ManagedObject {
    @Attribute(.unique) var name: String
    @ToMany var packages: Set<Package>
  }

  final class Maintainer: ManagedObject {
    @Attribute(.unique) var address: String
    @ToMany(inverse: \Version.maintainer) var versions: Set<Version>
  }

  static let schema = Schema {
    Entity(Section.self)
    Entity(Package.self)
    Entity(Version.self).unique(\.package, \.text, \.architecture)
    Entity(Fingerprint.self)
    Entity(Dependency.self)
    Entity(Tag.self)
    Entity(Maintainer.self)
  }

  static func open(_ url: URL, _ configuration: Store.Configuration = .init()) async throws -> Store {
    try await Store.open(
      at: url, key: .raw(rawKey), schema: schema, migrations: .creatingSchema, configuration: configuration)
  }
}
