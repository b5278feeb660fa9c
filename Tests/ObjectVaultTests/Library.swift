// The model of most tests: every attribute type, every kind of relationship, every delete rule.

import Foundation
import ObjectVault

enum Mood: String, CaseIterable, AttributeValue { case calm, cheerful, cross }
enum Shelf: Int, CaseIterable, Codable, AttributeValue { case low = 1, high = 2 }

struct Address: Codable, Equatable, AttributeValue {
  var street = ""
  var number = 0
  static var placeholder: Address { Address() }
}

final class Sample: ManagedObject {
  @Attribute var flag: Bool
  @Attribute var int: Int
  @Attribute var int8: Int8
  @Attribute var int16: Int16
  @Attribute var int32: Int32
  @Attribute var int64: Int64
  @Attribute var uint8: UInt8
  @Attribute var uint16: UInt16
  @Attribute var uint32: UInt32
  @Attribute var float: Float
  @Attribute var double: Double
  @Attribute(.indexed) var decimal: Decimal
  @Attribute var string: String
  @Attribute var data: Data
  @Attribute var date: Date
  @Attribute var uuid: UUID
  @Attribute var url: URL
  @Attribute var mood: Mood
  @Attribute var shelf: Shelf = .high
  @Attribute var address: Address = Address(street: "Main", number: 1)
  @Attribute var maybeInt: Int?
  @Attribute var maybeString: String?
  @Attribute var maybeDate: Date?
  @Attribute var maybeMood: Mood?
  @Attribute var maybeDecimal: Decimal?
}

final class Author: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute var nick: String?
  @Attribute var age: Int = 30
  @ToMany(inverse: \Book.author, onDelete: .cascade) var books: Set<Book>
  @ToOne(inverse: \Passport.owner, onDelete: .cascade) var passport: Passport?
  @ToOne var club: Club?
}

final class Book: ManagedObject {
  @Attribute(.indexed) var title: String
  @Attribute var year: Int = 2000
  @Attribute var rating: Double?
  @Attribute var price: Decimal?
  @ToOne var author: Author?
  @ToMany(inverse: \Genre.books) var genres: Set<Genre>
  @ToMany(inverse: \Loan.book, onDelete: .deny) var loans: Set<Loan>
}

final class Genre: ManagedObject {
  @Attribute(.unique) var name: String
  @ToMany var books: Set<Book>
}

final class Loan: ManagedObject {
  @Attribute var reader: String
  @ToOne(.required) var book: Book?
}

final class Passport: ManagedObject {
  @Attribute var number: String
  @ToOne var owner: Author?
}

final class Club: ManagedObject {
  @Attribute var name: String
  @ToMany(inverse: \Author.club, onDelete: .nullify) var members: Set<Author>
}

let library = Schema {
  Entity(Sample.self)
  Entity(Author.self).check(\.age, .range(0...150)).check(\.name, .notBlank).unique(\.nick, \.age)
  Entity(Book.self).index(\.title, \.author).check(\.title, .length(1...80))
  Entity(Genre.self)
  Entity(Loan.self)
  Entity(Passport.self)
  Entity(Club.self)
}
