// The entities of the workloads, and the plain structs of the floor.

import Foundation
import ObjectVault

final class Track: ManagedObject {
  @Attribute var number: Int
  @Attribute var plays: Int
  @Attribute var year: Int
  @Attribute var seconds: Double
  @Attribute var rating: Double
  @Attribute var title: String
  @Attribute var artist: String
  @Attribute var comment: String?
  @Attribute var added: Date
  @Attribute var isLoved: Bool
}

final class Ten: ManagedObject {
  @Attribute var i0: Int
  @Attribute var i1: Int
  @Attribute var i2: Int
  @Attribute var i3: Int
  @Attribute var i4: Int
  @Attribute var i5: Int
  @Attribute var i6: Int
  @Attribute var i7: Int
  @Attribute var i8: Int
  @Attribute var i9: Int
}

final class Author: ManagedObject {
  @Attribute(.indexed) var name: String
  @Attribute var age: Int
  @ToMany(inverse: \Post.author) var posts: Set<Post>
}

final class Post: ManagedObject {
  @Attribute var text: String
  @Attribute var likes: Int
  @Attribute var score: Double
  @ToOne var author: Author?
}

let benchSchema = Schema {
  Entity(Track.self)
  Entity(Ten.self)
  Entity(Author.self)
  Entity(Post.self)
  Entity(Member.self)
  Entity(Message.self)
}

struct TrackRow {
  var number = 0, plays = 0, year = 0
  var seconds = 0.0, rating = 0.0
  var title = "", artist = ""
  var comment: String?
  var added = Date(timeIntervalSinceReferenceDate: 0)
  var isLoved = false
}

extension Track {
  /// Sets all attributes.
  func set(_ row: TrackRow) {
    (number, plays, year) = (row.number, row.plays, row.year)
    (seconds, rating, added) = (row.seconds, row.rating, row.added)
    (title, artist, comment) = (row.title, row.artist, row.comment)
    isLoved = row.isLoved
  }
}

struct TenRow { var i0, i1, i2, i3, i4, i5, i6, i7, i8, i9: Int }

/// Returns tracks, the same on every run: strings have 8 to 40 characters, and about one of four comments
/// is nil.
func sampleTracks(_ count: Int) -> [TrackRow] {
  var state: UInt64 = 0x2545_F491_4F6C_DD1D
  func next(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % bound
  }
  func word() -> String {
    String((0..<(8 + next(33))).map { _ in Character(Unicode.Scalar(UInt8(97 + next(26)))) })
  }
  return (0..<count).map { index in
    TrackRow(
      number: index, plays: next(1000), year: 1950 + next(75), seconds: Double(next(60_000)) / 100,
      rating: Double(next(50)) / 10, title: word(), artist: word(), comment: next(4) == 0 ? nil : word(),
      added: Date(timeIntervalSinceReferenceDate: Double(next(800_000_000))), isLoved: next(2) == 0)
  }
}
