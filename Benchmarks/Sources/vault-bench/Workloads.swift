// Workloads 1 to 7: inserting, fetching, looking up, changing.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

/// A folder with a store and the floor's file.
@MainActor final class Bench {
  let folder: URL
  let store: Store
  let floor: Floor

  init() async throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    store = try await Store.open(
      at: folder.appendingPathComponent("ours.store"), key: .raw(rawKey), schema: benchSchema,
      migrations: .creatingSchema)
    floor = Floor(folder.appendingPathComponent("floor.db").path)
    floor.run(
      """
      CREATE TABLE Track (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, number INTEGER NOT NULL,
        plays INTEGER NOT NULL, year INTEGER NOT NULL, seconds REAL NOT NULL, rating REAL NOT NULL,
        title TEXT NOT NULL, artist TEXT NOT NULL, comment TEXT, added REAL NOT NULL, isLoved INTEGER NOT NULL);
      CREATE TABLE Ten (id INTEGER PRIMARY KEY, _version INTEGER NOT NULL DEFAULT 1, i0 INTEGER NOT NULL,
        i1 INTEGER NOT NULL, i2 INTEGER NOT NULL, i3 INTEGER NOT NULL, i4 INTEGER NOT NULL, i5 INTEGER NOT NULL,
        i6 INTEGER NOT NULL, i7 INTEGER NOT NULL, i8 INTEGER NOT NULL, i9 INTEGER NOT NULL);
      """)
  }

  isolated deinit {
    store.close()
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: 1

  func floorInsert(_ tracks: [TrackRow]) -> Double {
    floor.run("DELETE FROM Track")
    return seconds {
      floor.run("BEGIN IMMEDIATE")
      let statement = floor.prepare(
        "INSERT INTO Track(id, number, plays, year, seconds, rating, title, artist, comment, added, isLoved) "
          + "VALUES (?,?,?,?,?,?,?,?,?,?,?)")
      for (index, track) in tracks.enumerated() {
        sqlite3_bind_int64(statement, 1, sqlite3_int64(index + 1))
        sqlite3_bind_int64(statement, 2, sqlite3_int64(track.number))
        sqlite3_bind_int64(statement, 3, sqlite3_int64(track.plays))
        sqlite3_bind_int64(statement, 4, sqlite3_int64(track.year))
        sqlite3_bind_double(statement, 5, track.seconds)
        sqlite3_bind_double(statement, 6, track.rating)
        sqlite3_bind_double(statement, 10, track.added.timeIntervalSinceReferenceDate)
        sqlite3_bind_int(statement, 11, track.isLoved ? 1 : 0)
        // The engine reads the bytes in place until the reset and does not copy them, as a careful
        // programmer would have it.
        var (title, artist, comment) = (track.title, track.artist, track.comment ?? "")
        title.withUTF8 { title in
          artist.withUTF8 { artist in
            comment.withUTF8 { comment in
              floor.lend(statement, 7, title)
              floor.lend(statement, 8, artist)
              if track.comment == nil {
                sqlite3_bind_null(statement, 9)
              } else {
                floor.lend(statement, 9, comment)
              }
              if sqlite3_step(statement) != SQLITE_DONE { fatalError("floor insert") }
              sqlite3_reset(statement)
            }
          }
        }
      }
      sqlite3_finalize(statement)
      floor.run("COMMIT")
    }
  }

  func oursInsert(_ tracks: [TrackRow]) throws -> Double {
    try clear("Track")
    let context = store.makeContext()
    return try seconds {
      for track in tracks {
        context.insert(Track.self) {
          $0.number = track.number
          $0.plays = track.plays
          $0.year = track.year
          $0.seconds = track.seconds
          $0.rating = track.rating
          $0.title = track.title
          $0.artist = track.artist
          $0.comment = track.comment
          $0.added = track.added
          $0.isLoved = track.isLoved
        }
      }
      try context.save()
    }
  }

  /// Empties a table by a connection, outside the timed part.
  func clear(_ table: String) throws {
    let connection = try Connection.open(store.url.path, key: .raw(rawKey))
    try connection.execute(sql: "DELETE FROM \(table)")
  }

  // MARK: 2 and 3

  func fillTens(_ count: Int) throws {
    floor.run("BEGIN")
    let statement = floor.prepare(
      "INSERT INTO Ten(id, i0, i1, i2, i3, i4, i5, i6, i7, i8, i9) VALUES (?,?,?,?,?,?,?,?,?,?,?)")
    for row in 0..<count {
      sqlite3_bind_int64(statement, 1, sqlite3_int64(row + 1))
      for column in 0..<10 {
        sqlite3_bind_int64(statement, Int32(column + 2), sqlite3_int64(row * 7 + column))
      }
      sqlite3_step(statement)
      sqlite3_reset(statement)
    }
    sqlite3_finalize(statement)
    floor.run("COMMIT")
    let context = store.makeContext()
    for row in 0..<count {
      context.insert(Ten.self) {
        $0.i0 = row * 7
        $0.i1 = row * 7 + 1
        $0.i2 = row * 7 + 2
        $0.i3 = row * 7 + 3
        $0.i4 = row * 7 + 4
        $0.i5 = row * 7 + 5
        $0.i6 = row * 7 + 6
        $0.i7 = row * 7 + 7
        $0.i8 = row * 7 + 8
        $0.i9 = row * 7 + 9
      }
    }
    try context.save()
  }

  func floorTens() -> Double {
    var rows: [TenRow] = []
    var sum = 0
    let time = floor.asReader {
      seconds {
        rows = tenRows(floor)
        for row in rows { sum &+= row.i0 &+ row.i9 }
      }
    }
    blackHole(sum)
    return time
  }

  func oursTens(readingAll: Bool) async throws -> Double {
    try await store.read { context in
      var sum = 0
      // Declared outside the timed part, like the floor's rows, so that freeing the objects is not timed.
      var rows: [Ten] = []
      let time = try seconds {
        rows = try context.fetch(Ten.self).all()
        if readingAll {
          for row in rows {
            sum &+= row.i0 &+ row.i1 &+ row.i2 &+ row.i3 &+ row.i4
            sum &+= row.i5 &+ row.i6 &+ row.i7 &+ row.i8 &+ row.i9
          }
        } else {
          sum = rows.count
        }
      }
      blackHole(sum &+ rows.count)
      return time
    }
  }

  // MARK: 4

  func floorTracks() -> Double {
    var rows: [TrackRow] = []
    let time = floor.asReader {
      seconds {
        let statement = floor.prepare(
          "SELECT id, _version, number, plays, year, seconds, rating, title, artist, comment, added, isLoved FROM Track"
        )
        while sqlite3_step(statement) == SQLITE_ROW {
          let hasComment = sqlite3_column_type(statement, 9) != SQLITE_NULL
          rows.append(
            TrackRow(
              number: integer(statement, 2), plays: integer(statement, 3), year: integer(statement, 4),
              seconds: real(statement, 5), rating: real(statement, 6), title: text(statement, 7),
              artist: text(statement, 8), comment: hasComment ? text(statement, 9) : nil,
              added: Date(timeIntervalSinceReferenceDate: real(statement, 10)),
              isLoved: integer(statement, 11) != 0))
        }
        sqlite3_finalize(statement)
      }
    }
    blackHole(rows.count)
    return time
  }

  func oursTracks() async throws -> Double {
    try await store.read { context in
      var sum = 0
      var rows: [Track] = []
      let time = try seconds {
        rows = try context.fetch(Track.self).all()
        for row in rows { sum &+= sumOfAll(row) }
      }
      blackHole(sum &+ rows.count)
      return time
    }
  }

  // MARK: 5 and 6

  func floorLookUps(_ ids: [Int64]) -> Double {
    var sum = 0
    // One transaction around all look-ups, as in a read of the store: without it, each look-up would take
    // a lock of its own.
    let time = floor.asReader {
      seconds {
        floor.run("BEGIN")
        defer { floor.run("COMMIT") }
        let statement = floor.prepare(
          "SELECT id, _version, number, plays, year, seconds, rating, title, artist, comment, added, isLoved "
            + "FROM Track WHERE id = ?")
        for id in ids {
          sqlite3_bind_int64(statement, 1, id)
          if sqlite3_step(statement) == SQLITE_ROW {
            let row = TrackRow(
              number: integer(statement, 2), plays: integer(statement, 3), year: integer(statement, 4),
              seconds: real(statement, 5), rating: real(statement, 6), title: text(statement, 7),
              artist: text(statement, 8), comment: text(statement, 9),
              added: Date(timeIntervalSinceReferenceDate: real(statement, 10)),
              isLoved: integer(statement, 11) != 0)
            sum &+= row.number
          }
          sqlite3_reset(statement)
        }
        sqlite3_finalize(statement)
      }
    }
    blackHole(sum)
    return time
  }

  func oursLookUps(_ ids: [Int64], isWarm: Bool, readingAll: Bool = false) async throws -> Double {
    try await store.read { context in
      var sum = 0
      let held = isWarm ? try context.fetch(Track.self).all() : []
      let time = try seconds {
        if readingAll {
          for id in ids { sum &+= try context.existing(ObjectID<Track>(rowID: id)).map(sumOfAll) ?? 0 }
        } else {
          for id in ids { sum &+= try context.existing(ObjectID<Track>(rowID: id))?.number ?? 0 }
        }
      }
      blackHole(sum &+ held.count)
      return time
    }
  }

  // MARK: 7

  /// - Parameter clause: The conflict clause, such as `OR FAIL`. Without it, SQLite 3.15 copies each page
  ///   in case the statement is undone.
  func floorUpdate(_ count: Int, _ value: Int, _ clause: String = "") -> Double {
    seconds {
      floor.run("BEGIN IMMEDIATE")
      let statement = floor.prepare("UPDATE \(clause) Track SET plays = ? WHERE id = ?")
      for id in 1...count {
        sqlite3_bind_int64(statement, 1, sqlite3_int64(value))
        sqlite3_bind_int64(statement, 2, sqlite3_int64(id))
        if sqlite3_step(statement) != SQLITE_DONE { fatalError("floor update") }
        sqlite3_reset(statement)
      }
      sqlite3_finalize(statement)
      floor.run("COMMIT")
    }
  }

  func oursUpdate(_ count: Int, _ value: Int) throws -> Double {
    let context = store.makeContext()
    let tracks = try context.fetch(Track.self).limit(count).all()
    return try seconds {
      for track in tracks { track.plays = value }
      try context.save()
    }
  }
}

/// Reads every attribute.
@inline(__always) private func sumOfAll(_ row: Track) -> Int {
  var sum = row.number &+ row.plays &+ row.year &+ Int(row.seconds) &+ Int(row.rating)
  sum &+= row.title.utf8.count &+ row.artist.utf8.count &+ (row.comment?.utf8.count ?? 0)
  return sum &+ Int(row.added.timeIntervalSinceReferenceDate) &+ (row.isLoved ? 1 : 0)
}

/// Reads all rows of ten integers by a loop.
func tenRows(_ floor: Floor) -> [TenRow] {
  var rows: [TenRow] = []
  let statement = floor.prepare("SELECT id, _version, i0, i1, i2, i3, i4, i5, i6, i7, i8, i9 FROM Ten")
  while sqlite3_step(statement) == SQLITE_ROW {
    rows.append(
      TenRow(
        i0: integer(statement, 2), i1: integer(statement, 3), i2: integer(statement, 4),
        i3: integer(statement, 5), i4: integer(statement, 6), i5: integer(statement, 7),
        i6: integer(statement, 8), i7: integer(statement, 9), i8: integer(statement, 10),
        i9: integer(statement, 11)))
  }
  sqlite3_finalize(statement)
  return rows
}

/// Keeps the compiler from removing the work.
@inline(never) func blackHole(_ value: Int) {
  if value == Int.min { print("") }
}
