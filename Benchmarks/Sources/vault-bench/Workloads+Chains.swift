// Workloads 34 to 37: long chains of steps. No loop does the same work, so the floor of 34, 36 and 37 is
// the promised time. The floor of 35 is a bare opening and a millisecond.

import CFloor
import CipherSQLite
import Foundation
import ObjectVault

/// A chain of steps such as an app has after some years: a tenth of them create an entity, two tenths
/// transform rows by SQL.
enum ChainBench {
  static func text(_ number: Int) -> String {
    let (block, turn) = ((number - 1) / 10, (number - 1) % 10)
    let entity = "E\(block)"
    let operations =
      switch turn {
      case 0:
        """
        create entity \(entity) {
            attribute name string unique
            attribute count int default 0
            attribute note string optional
        \(block > 0 ? "    relationship owner -> E\(block - 1)\n" : "")}
        """
      case 1: "add attribute \(entity).rating double default 1.5"
      case 2: "add index \(entity)(name, count)"
      case 3:
        """
        add attribute \(entity).slug string optional
        transform sql { UPDATE $\(entity) SET $\(entity).slug = lower($\(entity).name) }
        require "each has a slug" { SELECT count(*) = 0 FROM $\(entity) WHERE $\(entity).slug IS NULL }
        """
      case 4: "rename attribute \(entity).note -> remark"
      case 5: "make \(entity).remark required filling \"\""
      case 6: "retype \(entity).count to double using ($\(entity).count * 1.0)"
      case 7: "add relationship \(entity).peers -> \(entity) many"
      case 8: "set default of \(entity).rating to 2.5"
      default:
        """
        transform sql {
            UPDATE $\(entity) SET $\(entity).rating = $\(entity).rating / 2
            WHERE EXISTS (SELECT 1 FROM $\(entity) o WHERE o.$\(entity).name = $\(entity).$\(entity).slug)
        }
        require "no rating is negative" { SELECT count(*) = 0 FROM $\(entity) WHERE $\(entity).rating < 0 }
        """
      }
    return "format: 1\n[up]\n\(operations)\n"
  }

  static func set(_ count: Int) throws -> MigrationSet {
    try MigrationSet(
      (1...count).map { try MigrationStep(number: $0, name: "step\($0)", text: text($0)) })
  }

  /// Returns the seconds that `count` steps take on an empty store.
  static func migrate(_ count: Int) async throws -> Double {
    try await inFolder { folder in
      let (url, all) = (folder.appendingPathComponent("chain.store"), try set(count + 1))
      try await Store.create(at: url, key: .raw(rawKey), migrations: all.upTo(1))
      let start = DispatchTime.now().uptimeNanoseconds
      _ = try await Store.migrate(at: url, key: .raw(rawKey), migrations: all)
      lastThreadSeconds = .nan
      return Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    }
  }

  // MARK: Opening a store that is up to date

  final class Renamed: ManagedObject {
    @Attribute var b: String
    @Attribute var count: Int
  }
  private static let schema = Schema { Entity(Renamed.self) }

  /// Returns steps that rename an attribute back and forth. After the last one it has the name that the
  /// class declares.
  static func embedded(_ count: Int) throws -> [MigrationSet.Embedded] {
    let first = count.isMultiple(of: 2) ? "a" : "b"
    let steps = try (1...count).map { number in
      let (old, new) = (number + count).isMultiple(of: 2) ? ("a", "b") : ("b", "a")
      let operation =
        number == 1
        ? "create entity Renamed {\n    attribute \(first) string\n    attribute count int\n}"
        : "rename attribute Renamed.\(old) -> \(new)"
      return try MigrationStep(number: number, name: "step\(number)", text: "format: 1\n[up]\n\(operation)\n")
    }
    return steps.map { .init(number: $0.number, name: $0.name, checksum: $0.checksum, text: $0.text) }
  }

  /// A store that is opened repeatedly.
  struct UpToDate {
    let url: URL
    let steps: [MigrationSet.Embedded]

    init(_ count: Int, in folder: URL) async throws {
      (url, steps) = (folder.appendingPathComponent("up\(count).store"), try embedded(count))
      try await open().close()
    }

    private func open() async throws -> Store {
      try await Store.open(at: url, key: .raw(rawKey), schema: schema, migrations: .embedded(steps))
    }

    /// Returns the mean seconds of the least that an opening has to do, by the C interface: open the
    /// file, set its key, and read a row of its schema.
    func bareSeconds() -> Double {
      var time = 0.0
      for _ in 0..<20 {
        let start = DispatchTime.now().uptimeNanoseconds
        let floor = Floor(url.path)
        let statement = floor.prepare("SELECT name FROM sqlite_master LIMIT 1")
        _ = sqlite3_step(statement)
        sqlite3_finalize(statement)
        time += Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
        floor.close()
      }
      lastThreadSeconds = .nan
      return time / 20
    }

    /// Returns the mean seconds of an opening.
    func seconds() async throws -> Double {
      var time = 0.0
      for _ in 0..<20 {
        let start = DispatchTime.now().uptimeNanoseconds
        let store = try await open()
        time += Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
        store.close()
      }
      lastThreadSeconds = .nan
      return time / 20
    }
  }

  // MARK: The tool

  /// Writes `count` step files into a folder, and the files that `embed` generates.
  static func writeFiles(_ count: Int, into folder: URL) throws {
    for number in 1...count {
      let name =
        String(repeating: "0", count: max(0, 4 - "\(number)".count)) + "\(number)_step\(number).migration"
      try Data(text(number).utf8).write(to: folder.appendingPathComponent(name))
    }
    _ = try tool("embed", folder)
  }

  /// Returns the seconds of a run of the tool, from its start to its end. This program is the tool, too.
  static func tool(_ command: String, _ folder: URL) throws -> Double {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = [command, "-m", folder.path]
    process.standardOutput = FileHandle.nullDevice
    let start = DispatchTime.now().uptimeNanoseconds
    try process.run()
    process.waitUntilExit()
    let time = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
    lastThreadSeconds = .nan
    // `lint` ends with 2, because it has findings.
    guard [0, command == "lint" ? 2 : 0].contains(process.terminationStatus) else { fatalError(command) }
    return time
  }

  private static func inFolder(_ body: (URL) async throws -> Double) async throws -> Double {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "vault-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder)
  }
}
