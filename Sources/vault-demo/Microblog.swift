// The model of the microblog: what users write, and where places are.

import Foundation
import ObjectVault

final class User: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute var screenName: String = ""
  @Attribute(.indexed, .renamed(from: "town")) var city: String?
  @ToMany(inverse: \Status.user, onDelete: .cascade) var statuses: Set<Status>
}

final class Status: ManagedObject {
  @Attribute var text: String
  @Attribute(.indexed) var createdAt: Date
  @ToOne var user: User?
  @ToMany(inverse: \Tag.statuses) var tags: Set<Tag>
}

final class Tag: ManagedObject {
  @Attribute(.unique) var name: String
  @ToMany var statuses: Set<Status>
}

final class Country: ManagedObject {
  @Attribute(.unique) var alpha2: String
  @Attribute(.indexed) var name: String
  @ToMany(inverse: \Subdivision.country, onDelete: .cascade) var subdivisions: Set<Subdivision>
}

final class Subdivision: ManagedObject {
  @Attribute(.unique) var code: String
  @Attribute var name: String
  @Attribute var kind: String
  @ToOne var country: Country?
  @ToOne var parent: Subdivision?
  @ToMany(inverse: \Subdivision.parent) var children: Set<Subdivision>
}

final class Language: ManagedObject {
  @Attribute(.unique) var alpha3: String
  @Attribute var name: String
}

let microblog = Schema {
  Entity(User.self).check(\.screenName, .length(0...64))
  Entity(Status.self)
  Entity(Tag.self)
  Entity(Country.self)
  Entity(Subdivision.self)
  Entity(Language.self)
}
