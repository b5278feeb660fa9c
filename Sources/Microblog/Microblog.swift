// The model of the microblog: what users write, and where places are.

public import Foundation
public import ObjectVault

/// Somebody who writes.
public final class User: ManagedObject {
  /// Its name.
  @Attribute(.unique) public var name: String
  /// What is shown beside a status.
  @Attribute public var screenName: String = ""
  /// Where the user lives.
  @Attribute(.indexed, .renamed(from: "town")) public var city: String?
  /// The statuses.
  @ToMany(inverse: \Status.user, onDelete: .cascade) public var statuses: Set<Status>
}

/// What somebody wrote.
public final class Status: ManagedObject {
  /// What was written.
  @Attribute public var text: String
  /// When it was written.
  @Attribute(.indexed) public var createdAt: Date
  /// Who wrote it.
  @ToOne public var user: User?
  /// Its tags.
  @ToMany(inverse: \Tag.statuses) public var tags: Set<Tag>
}

/// A word that statuses share.
public final class Tag: ManagedObject {
  /// Its name.
  @Attribute(.unique) public var name: String
  /// The statuses.
  @ToMany public var statuses: Set<Status>
}

/// A country of ISO 3166-1.
public final class Country: ManagedObject {
  /// Its two letters.
  @Attribute(.unique) public var alpha2: String
  /// Its name.
  @Attribute(.indexed) public var name: String
  /// Its regions.
  @ToMany(inverse: \Subdivision.country, onDelete: .cascade) public var subdivisions: Set<Subdivision>
}

/// A region of a country, of ISO 3166-2.
public final class Subdivision: ManagedObject {
  /// Its code.
  @Attribute(.unique) public var code: String
  /// Its name.
  @Attribute public var name: String
  /// What it is called there, such as `Province`.
  @Attribute public var kind: String
  /// The country.
  @ToOne public var country: Country?
  /// The region around it, or its name.
  @ToOne public var parent: Subdivision?
  /// The regions in it.
  @ToMany(inverse: \Subdivision.parent) public var children: Set<Subdivision>
}

/// A language of ISO 639-3.
public final class Language: ManagedObject {
  /// Its three letters.
  @Attribute(.unique) public var alpha3: String
  /// Its name.
  @Attribute public var name: String
}

/// The schema of the microblog, which the migration files of the package make.
public let microblog = Schema {
  Entity(User.self).check(\.screenName, .length(0...64))
  Entity(Status.self)
  Entity(Tag.self)
  Entity(Country.self)
  Entity(Subdivision.self)
  Entity(Language.self)
}
