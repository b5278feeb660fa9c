// Workloads 42 to 44: a tenth of the versions changed, a section deleted with its packages, and the
// packages that need another one.

import CFloor
import Foundation
import ObjectVault

extension PackageIndexBench {
  // MARK: 42

  /// Returns the size below which a tenth of the versions are.
  private func sizeOfTenth(_ floor: Floor) -> Int {
    let sql = "SELECT size FROM Version ORDER BY size LIMIT 1 OFFSET (SELECT count(size) / 10 FROM Version)"
    return floor.rows(sql).first.flatMap { Int($0[0]) } ?? 0
  }

  private struct VersionRow {
    var id, version: Int
    var architecture, priority, summary, text: String
    var installedSize, size, maintainer: Int?
    var seen: Double
    var package: Int
  }

  func floorUpdate() async throws -> Double {
    let limit = sizeOfTenth(Floor(imported.path))
    return try await withFloor { floor in
      seconds {
        floor.run("BEGIN IMMEDIATE")
        let rows = versions(floor, below: limit)
        let statement = floor.prepare(
          "UPDATE Version SET installedSize = ?, _version = ? WHERE id = ? AND _version = ?")
        for row in rows {
          sqlite3_bind_int64(statement, 1, sqlite3_int64((row.installedSize ?? 0) + 1))
          sqlite3_bind_int64(statement, 2, sqlite3_int64(row.version + 1))
          sqlite3_bind_int64(statement, 3, sqlite3_int64(row.id))
          sqlite3_bind_int64(statement, 4, sqlite3_int64(row.version))
          if sqlite3_step(statement) != SQLITE_DONE { fatalError("floor update") }
          sqlite3_reset(statement)
        }
        sqlite3_finalize(statement)
        floor.run("COMMIT")
      }
    }
  }

  func floorUpdateAtOnce() async throws -> Double {
    let limit = sizeOfTenth(Floor(imported.path))
    return try await withFloor { floor in
      seconds {
        floor.run(
          """
          BEGIN IMMEDIATE;
          UPDATE Version SET installedSize = ifnull(installedSize, 0) + 1, _version = _version + 1 WHERE size < \(limit);
          COMMIT
          """)
      }
    }
  }

  private func versions(_ floor: Floor, below limit: Int) -> [VersionRow] {
    var rows: [VersionRow] = []
    let statement = floor.prepare(
      "SELECT id, _version, architecture, priority, summary, text, installedSize, size, "
        + "maintainer_id, seen, package_id FROM Version WHERE size < ?")
    sqlite3_bind_int64(statement, 1, sqlite3_int64(limit))
    while sqlite3_step(statement) == SQLITE_ROW {
      rows.append(
        VersionRow(
          id: integer(statement, 0), version: integer(statement, 1), architecture: text(statement, 2),
          priority: text(statement, 3), summary: text(statement, 4), text: text(statement, 5),
          installedSize: optional(statement, 6), size: optional(statement, 7),
          maintainer: optional(statement, 8), seen: real(statement, 9), package: integer(statement, 10)))
    }
    sqlite3_finalize(statement)
    return rows
  }

  func oursUpdate() async throws -> Double {
    let limit = sizeOfTenth(Floor(imported.path))
    return try await withStore { store in
      try await processSeconds {
        try await store.write { context in
          for version in try context.fetch(DebianIndex.Version.self).where("size < %d", limit).all() {
            version.installedSize = (version.installedSize ?? 0) + 1
          }
        }
      }
    }
  }

  // MARK: 43

  private var section: String { "python" }

  func floorDelete() async throws -> Double {
    try await withFloor { floor in
      seconds {
        floor.run("BEGIN IMMEDIATE")
        let statement = floor.prepare("DELETE FROM Section WHERE name = ?")
        floor.bind(statement, 1, section)
        if sqlite3_step(statement) != SQLITE_DONE { fatalError("floor delete") }
        sqlite3_finalize(statement)
        floor.run("COMMIT")
      }
    }
  }

  func oursDelete() async throws -> Double {
    let name = section
    return try await withStore { store in
      try await processSeconds {
        try await store.write { context in
          context.delete(
            try context.fetch(DebianIndex.Section.self).where(#Predicate { $0.name == name }).one())
        }
      }
    }
  }

  // MARK: 44

  private var popular: String { "python3" }

  private struct PackageRow {
    var id, version: Int
    var name: String
    var homepage: String?
    var section: Int?
  }

  func floorNeeds() async throws -> Double {
    try await withFloor { floor in
      var rows: [PackageRow] = []
      let time = floor.asReader {
        seconds {
          let statement = floor.prepare(
            """
            SELECT id, _version, name, homepage, section_id FROM Package WHERE id IN (
              SELECT v.package_id FROM Package t JOIN Dependency d ON d.target_id = t.id
                JOIN Version v ON v.id = d.version_id WHERE t.name = ?)
            """)
          floor.bind(statement, 1, popular)
          while sqlite3_step(statement) == SQLITE_ROW {
            let hasHomepage = sqlite3_column_type(statement, 3) != SQLITE_NULL
            rows.append(
              PackageRow(
                id: integer(statement, 0), version: integer(statement, 1), name: text(statement, 2),
                homepage: hasHomepage ? text(statement, 3) : nil, section: optional(statement, 4)))
          }
          sqlite3_finalize(statement)
        }
      }
      blackHole(rows.count)
      return time
    }
  }

  func oursNeeds() async throws -> Double {
    let name = popular
    return try await withStore { store in
      try await store.read { context in
        var found: [DebianIndex.Package] = []
        let time = try seconds {
          found = try context.fetch(DebianIndex.Package.self)
            .where(
              #Predicate { $0.versions.contains { $0.dependencies.contains { $0.target?.name == name } } }
            ).all()
        }
        blackHole(found.count)
        return time
      }
    }
  }

  private func optional(_ statement: OpaquePointer?, _ column: Int32) -> Int? {
    sqlite3_column_type(statement, column) == SQLITE_NULL ? nil : integer(statement, column)
  }
}

/// Returns the wall time of `body`, like `seconds`, for work of other threads. `lastThreadSeconds` then
/// has the processor time of the whole process.
@MainActor func processSeconds(_ body: () async throws -> Void) async rethrows -> Double {
  var (startCPU, endCPU) = (timespec(), timespec())
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &startCPU)
  let start = DispatchTime.now().uptimeNanoseconds
  try await body()
  let wall = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &endCPU)
  lastThreadSeconds =
    Double(endCPU.tv_sec - startCPU.tv_sec) + Double(endCPU.tv_nsec - startCPU.tv_nsec) / 1e9
  return wall
}
