// Workloads 46 and 47: many small writes, and a fetch by a list of ids.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

extension Bench {
  // MARK: 46

  /// A transaction for each row.
  func floorWrites(_ tracks: [TrackRow]) -> Double {
    floor.run("DELETE FROM Track")
    return seconds {
      let statement = floor.prepare(
        "INSERT INTO Track(number, plays, year, seconds, rating, title, artist, comment, added, isLoved) "
          + "VALUES (?,?,?,?,?,?,?,?,?,?)")
      let (begin, commit) = (floor.prepare("BEGIN IMMEDIATE"), floor.prepare("COMMIT"))
      for track in tracks {
        sqlite3_step(begin)
        sqlite3_reset(begin)
        sqlite3_bind_int64(statement, 1, sqlite3_int64(track.number))
        sqlite3_bind_int64(statement, 2, sqlite3_int64(track.plays))
        sqlite3_bind_int64(statement, 3, sqlite3_int64(track.year))
        sqlite3_bind_double(statement, 4, track.seconds)
        sqlite3_bind_double(statement, 5, track.rating)
        sqlite3_bind_text(statement, 6, track.title, -1, Floor.transient)
        sqlite3_bind_text(statement, 7, track.artist, -1, Floor.transient)
        sqlite3_bind_text(statement, 8, track.comment, -1, Floor.transient)
        sqlite3_bind_double(statement, 9, track.added.timeIntervalSinceReferenceDate)
        sqlite3_bind_int(statement, 10, track.isLoved ? 1 : 0)
        if sqlite3_step(statement) != SQLITE_DONE { fatalError("floor write") }
        sqlite3_reset(statement)
        sqlite3_step(commit)
        sqlite3_reset(commit)
      }
      for each in [begin, statement, commit] { sqlite3_finalize(each) }
    }
  }

  func oursWrites(_ tracks: [TrackRow]) async throws -> Double {
    try clear("Track")
    return try await secondsOfAll {
      for track in tracks {
        try await store.write { context in
          _ = context.insert(Track.self) { fill($0, track) }
        }
      }
    }
  }

  // MARK: 47

  func oursByList(_ ids: [Int64]) async throws -> Double {
    let ids = ids.map { ObjectID<Track>(rowID: $0) }
    return try await store.read { context in
      var rows: [Track] = []
      let time = try seconds {
        rows = try context.fetch(Track.self).where(#Predicate { ids.contains($0.id) }).all()
      }
      blackHole(rows.count)
      return time
    }
  }
}

private func fill(_ object: Track, _ track: TrackRow) {
  object.number = track.number
  object.plays = track.plays
  object.year = track.year
  object.seconds = track.seconds
  object.rating = track.rating
  object.title = track.title
  object.artist = track.artist
  object.comment = track.comment
  object.added = track.added
  object.isLoved = track.isLoved
}
