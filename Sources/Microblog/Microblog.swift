// The model of the microblog: what users write, and where places are.

public import Foundation
public import ObjectVault

/// Somebody who writes.
public final class User: ManagedObject {
  @Attribute(.unique) public var name: String
  @Attribute public var screenName: String = ""
  @Attribute(.indexed, .renamed(from: "town")) public var city: String?
  @ToMany(inverse: \Status.user, onDelete: .cascade) public var statuses: Set<Status>
}

/// What somebody wrote.
public final class Status: ManagedObject {
  @Attribute public var text: String
  @Attribute(.indexed) public var createdAt: Date
  @ToOne public var user: User?
  @ToMany(inverse: \Tag.statuses) public var tags: Set<Tag>
}

/// A word that statuses share.
public final class Tag: ManagedObject {
  @Attribute(.unique) public var name: String
  @ToMany public var statuses: Set<Status>
}

/// A country of ISO 3166-1.
public final class Country: ManagedObject {
  @Attribute(.unique) public var alpha2: String
  @Attribute(.indexed) public var name: String
  @ToMany(inverse: \Subdivision.country, onDelete: .cascade) public var subdivisions: Set<Subdivision>
}

/// A region of a country, of ISO 3166-2.
public final class Subdivision: ManagedObject {
  @Attribute(.unique) public var code: String
  @Attribute public var name: String
  @Attribute public var kind: String
  @ToOne public var country: Country?
  @ToOne public var parent: Subdivision?
  @ToMany(inverse: \Subdivision.parent) public var children: Set<Subdivision>
}

/// A language of ISO 639-3.
public final class Language: ManagedObject {
  @Attribute(.unique) public var alpha3: String
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
