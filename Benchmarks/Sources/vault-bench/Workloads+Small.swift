// Workloads 13 and 46 to 48: many small writes, a fetch by a list of ids, and objects that are found or made.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

extension Bench {
  // MARK: 46

  /// Writes each row in a transaction of its own.
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
          _ = context.insert(Track.self) { $0.set(track) }
        }
      }
    }
  }

  // MARK: 13

  func oursEnqueuedWrites(_ tracks: [TrackRow]) async throws -> Double {
    try clear("Track")
    let store = store
    return try await secondsOfAll {
      // From the main actor, each call would change the thread twice.
      try await Task.detached {
        for track in tracks {
          try await store.enqueue { context in
            _ = context.insert(Track.self) { $0.set(track) }
          }
        }
        try await store.flush()
      }.value
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

extension Bench {
  // MARK: 48

  /// Looks up each key by an index, and inserts a row where there is none. Half of the keys are found.
  func floorFindOrMake(_ count: Int) -> Double {
    floor.run(
      """
      DROP TABLE IF EXISTS Author;
      CREATE TABLE Author (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, name TEXT NOT NULL, age INTEGER NOT NULL);
      CREATE INDEX Author_name ON Author(name)
      """)
    return seconds {
      let find = floor.prepare("SELECT id, _version, name, age FROM Author WHERE name = ?")
      let make = floor.prepare("INSERT INTO Author(name, age) VALUES (?, 1)")
      floor.run("BEGIN IMMEDIATE")
      for number in 0..<count {
        let name = "author \(number % (count / 2))"
        sqlite3_bind_text(find, 1, name, -1, Floor.transient)
        let isThere = sqlite3_step(find) == SQLITE_ROW
        sqlite3_reset(find)
        guard !isThere else { continue }
        sqlite3_bind_text(make, 1, name, -1, Floor.transient)
        if sqlite3_step(make) != SQLITE_DONE { fatalError("floor insert") }
        sqlite3_reset(make)
      }
      floor.run("COMMIT")
      for each in [find, make] { sqlite3_finalize(each) }
    }
  }

  func oursFindOrMake(_ count: Int, inWrite: Bool) async throws -> Double {
    try clear("Author")
    let work: @Sendable (ObjectContext) throws -> Void = { context in
      for number in 0..<count {
        let name = "author \(number % (count / 2))"
        guard try context.fetch(Author.self).where(#Predicate { $0.name == name }).first() == nil else {
          continue
        }
        context.insert(Author.self) { ($0.name, $0.age) = (name, 1) }
      }
    }
    return try await secondsOfAll {
      if inWrite { return try await store.write(work) }
      let context = store.makeContext()
      try work(context)
      try context.save()
    }
  }
}
