// The model of the microblog: users, their statuses and tags, countries and their regions, and languages.

public import Foundation
public import ObjectVault

/// A user who writes statuses.
public final class User: ManagedObject {
  /// The user's name.
  @Attribute(.unique) public var name: String
  /// The name that is shown with a status.
  @Attribute public var screenName: String = ""
  /// The city where the user lives.
  @Attribute(.indexed, .renamed(from: "town")) public var city: String?
  /// The user's statuses, which are deleted with the user.
  @ToMany(inverse: \Status.user, onDelete: .cascade) public var statuses: Set<Status>
}

/// A text that a user wrote.
public final class Status: ManagedObject {
  /// The text.
  @Attribute public var text: String
  /// The date of writing.
  @Attribute(.indexed) public var createdAt: Date
  /// The user who wrote it.
  @ToOne public var user: User?
  /// The status's tags.
  @ToMany(inverse: \Tag.statuses) public var tags: Set<Tag>
}

/// A word that statuses share.
public final class Tag: ManagedObject {
  /// The word.
  @Attribute(.unique) public var name: String
  /// The statuses with this tag.
  @ToMany public var statuses: Set<Status>
}

/// A country of ISO 3166-1.
public final class Country: ManagedObject {
  /// The country's code of two letters.
  @Attribute(.unique) public var alpha2: String
  /// The country's name.
  @Attribute(.indexed) public var name: String
  /// The country's regions, which are deleted with the country.
  @ToMany(inverse: \Subdivision.country, onDelete: .cascade) public var subdivisions: Set<Subdivision>
}

/// A region of a country, of ISO 3166-2.
public final class Subdivision: ManagedObject {
  /// The region's code.
  @Attribute(.unique) public var code: String
  /// The region's name.
  @Attribute public var name: String
  /// The kind of the region, such as `Province`.
  @Attribute public var kind: String
  /// The country of the region.
  @ToOne public var country: Country?
  /// The region around this one; nil when there is none.
  @ToOne public var parent: Subdivision?
  /// The regions in this one.
  @ToMany(inverse: \Subdivision.parent) public var children: Set<Subdivision>
}

/// A language of ISO 639-3.
public final class Language: ManagedObject {
  /// The language's code of three letters.
  @Attribute(.unique) public var alpha3: String
  /// The language's name.
  @Attribute public var name: String
}

/// The schema of the microblog, which is the model that the migration files of the package make.
public let microblog = Schema {
  Entity(User.self).check(\.screenName, .length(0...64))
  Entity(Status.self)
  Entity(Tag.self)
  Entity(Country.self)
  Entity(Subdivision.self)
  Entity(Language.self)
}
