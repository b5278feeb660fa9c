// The model of the tests of bulk calls: keys of each kind, alone and together, and an inheritance hierarchy.

import Foundation
import ObjectVault

final class BulkPerson: ManagedObject {
  @Attribute(.unique) var remoteID: Int?
  @Attribute var name: String = ""
  @Attribute var note: String?
  @Attribute(.unique) var mail: String?
  @ToOne var town: BulkTown?
  @ToMany(inverse: \BulkTag.people) var tags: Set<BulkTag>
}

final class BulkTown: ManagedObject {
  @Attribute var country: String
  @Attribute var name: String
  @Attribute var size: Int = 0
  @ToMany(inverse: \BulkPerson.town, onDelete: .cascade) var people: Set<BulkPerson>
}

final class BulkTag: ManagedObject {
  @Attribute(.unique) var name: String
  @ToMany var people: Set<BulkPerson>
}

final class BulkWord: ManagedObject {
  @Attribute(.unique) var text: String
  @Attribute(.unique) var price: Decimal?
  @Attribute(.unique) var weight: Double?
  @Attribute var count: Int = 0
}

class BulkParty: ManagedObject {
  @Attribute(.unique) var code: Int
  @Attribute var title: String = ""
}

class BulkFirm: BulkParty {
  @Attribute var capital: Int = 0
}

final class BulkBank: BulkFirm {
  @Attribute(.unique) var swift: String?
}

final class BulkHuman: BulkParty {
  @Attribute var age: Int = 0
}

let bulkSchema = Schema {
  Entity(BulkPerson.self).check(\.name, .length(0...40))
  Entity(BulkTown.self).unique(\.country, \.name)
  Entity(BulkTag.self)
  Entity(BulkWord.self)
  Entity(BulkParty.self)
  Entity(BulkFirm.self)
  Entity(BulkBank.self)
  Entity(BulkHuman.self)
}

struct BulkRow: Sendable, Hashable {
  var id: Int?
  var name: String
}

/// Texts that are equal in Swift and differ in the file, or the reverse of what one may expect.
let bulkTexts = [
  "e\u{301}", "\u{E9}", "E\u{301}", "a\0b", "a\0c", "a", "", " ", "\0", "ß", "SS", "\u{212B}", "\u{C5}", "👩‍👧",
  "'", "%",
]

extension Store {
  /// The names of all people by their remote ids, read by a new context.
  func bulkPeople() throws -> [Int?: String] {
    let all = try makeContext().fetch(BulkPerson.self).all()
    return Dictionary(all.map { ($0.remoteID, $0.name) }) { first, _ in first + " twice" }
  }
}

extension UpsertReport {
  /// The numbers of rows that inserted, updated, and left an object.
  var counts: [Int] { [inserted, updated, unchanged] }
}
