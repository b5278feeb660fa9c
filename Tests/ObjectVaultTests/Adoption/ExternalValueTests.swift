// "Allows External Storage": the column has the bytes after a 1, or the name of a file after a 2.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite struct ExternalValueAdoptions {
  private static let names = (1...3).map { "A0B1C2D3-0000-4000-8000-00000000000\($0)" }

  /// A file whose column ZPHOTO has these values.
  private func lab(_ values: [String], files: [String: Data] = [:]) throws -> AdoptionLab {
    let rows = values.enumerated().map {
      "INSERT INTO ZSTONE VALUES (\($0.offset + 1), 1, 1, \($0.element));"
    }
    let lab = try AdoptionLab(
      """
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
      CREATE TABLE ZSTONE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPHOTO BLOB);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Stone', 0, 9);
      """ + rows.joined())
    let folder = lab.folder.url.appendingPathComponent(".legacy_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, data) in files { try data.write(to: folder.appendingPathComponent(name)) }
    return lab
  }

  private func link(_ name: String) -> String {
    "x'02\(Data(name.utf8).map { String(format: "%02x", $0) }.joined())00'"
  }

  @Test func `bytes are imported from the column and from files, without the first byte`() async throws {
    let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let lab = try lab(
      ["x'01ff00'", link(Self.names[0]), "NULL", "x'01'", link(Self.names[1])],
      files: [Self.names[0]: large, Self.names[1]: Data()])
    let adoption = try await lab.adopt()
    #expect(adoption.losses.isEmpty)
    #expect(
      try lab.rows("SELECT photo FROM Stone ORDER BY id").map(\.[0]) == [
        .blob(Data([255, 0])), .blob(large), .null, .blob(Data()), .blob(Data()),
      ])
  }

  @Test func `missing files and files that no value names are losses`() async throws {
    let lab = try lab(
      ["x'0100'", link(Self.names[0]), link(Self.names[1])], files: [Self.names[2]: Data([1])])
    let losses = try await lab.plan().losses
    #expect(losses.map(\.name) == ["Stone.photo", "_SUPPORT"] && losses.map(\.rows) == [2, 1])
    await #expect { try await lab.adopt() } throws: {
      "\($0)".contains("allow these names: Stone.photo")
    }
    try await lab.adopt(allowing: ["Stone.photo", "_SUPPORT"])
    #expect(
      try lab.rows("SELECT photo FROM Stone ORDER BY id").map(\.[0]) == [.blob(Data([0])), .null, .null])
  }

  /// Runs something after the rows were checked and counted, and before the first one is imported.
  // Safe to share: its only property does not change.
  private final class BeforeRows: Progress, @unchecked Sendable {
    private let work: @Sendable () throws -> Void
    init(_ work: @escaping @Sendable () throws -> Void) {
      self.work = work
      super.init(parent: nil, userInfo: nil)
    }
    override var totalUnitCount: Int64 { didSet { if totalUnitCount > 0 { try? work() } } }
  }

  @Test(arguments: ["gone", "a folder"])
  func `a file that becomes unreadable before its row is imported is an error, and not nil`(_ now: String)
    async throws
  {
    let lab = try lab(
      ["x'0100'", link(Self.names[0]), link(Self.names[1])],
      files: [Self.names[0]: Data([7]), Self.names[1]: Data([8])])
    let file = lab.folder.url.appendingPathComponent(".legacy_SUPPORT/_EXTERNAL_DATA/\(Self.names[1])")
    let progress = BeforeRows {
      try FileManager.default.removeItem(at: file)
      if now == "a folder" {
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
      }
    }
    let set = try MigrationSet([try await lab.plan().step])
    await #expect {
      // The allowed loss covers only files that were missing when they were counted.
      try await Store.adopt(
        lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: set, allowing: ["Stone.photo"],
        progress: progress)
    } throws: { error in
      guard case StoreError.adoptionRefused(lab.file.path, let reason, _) = error else { return false }
      return reason.contains(".legacy_SUPPORT/_EXTERNAL_DATA/\(Self.names[1])")
        && reason.contains("cannot be read")
    }
    #expect(!FileManager.default.fileExists(atPath: lab.store.path))
  }

  // Root may read any folder, so a cyclic link and a file replace the folder.
  @Test(arguments: ["a link to itself", "a file"])
  func `files in a folder that cannot be read are an error, and not missing`(_ now: String) async throws {
    let lab = try lab(["x'0100'", link(Self.names[0])], files: [Self.names[0]: Data([7])])
    let folder = lab.folder.url.appendingPathComponent(".legacy_SUPPORT/_EXTERNAL_DATA")
    let set = try MigrationSet([try await lab.plan().step])
    try FileManager.default.removeItem(at: folder)
    if now == "a file" {
      try Data().write(to: folder)
    } else {
      try FileManager.default.createSymbolicLink(at: folder, withDestinationURL: folder)
    }
    let isRefused = { (error: any Error) in
      guard case StoreError.adoptionRefused(lab.file.path, let reason, _) = error else { return false }
      return reason.contains(".legacy_SUPPORT/_EXTERNAL_DATA") && reason.contains("cannot be read")
    }
    await #expect { try await lab.plan() } throws: { isRefused($0) }
    await #expect {
      try await Store.adopt(
        lab.file, fileKey: nil, into: lab.store, key: testKey, migrations: set, allowing: ["Stone.photo"])
    } throws: { isRefused($0) }
    #expect(!FileManager.default.fileExists(atPath: lab.store.path))
  }

  @Test func `without their folder all files are missing`() async throws {
    let lab = try lab(["x'0100'", link(Self.names[0]), link(Self.names[1])])
    try FileManager.default.removeItem(at: lab.folder.url.appendingPathComponent(".legacy_SUPPORT"))
    #expect(try await lab.plan().losses.map(\.rows) == [2])
    // If no value names a file, the folder is not read.
    let plain = try self.lab(["x'0100'", "x'0101'"])
    let folder = plain.folder.url.appendingPathComponent(".legacy_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.removeItem(at: folder)
    try FileManager.default.createSymbolicLink(at: folder, withDestinationURL: folder)
    #expect(try await plain.plan().losses.isEmpty)
  }

  @Test func `neither a name nor a link can leave the folder of external values`() async throws {
    let lab = try lab(["x'0100'", link(Self.names[0])])
    try FileManager.default.createSymbolicLink(
      at: lab.folder.url.appendingPathComponent(".legacy_SUPPORT/_EXTERNAL_DATA/\(Self.names[0])"),
      withDestinationURL: lab.file)
    #expect(try await lab.plan().losses.map(\.rows) == [1])
    let other = try self.lab(["x'0100'", link("../../../../../etc/host-name-0-0-0-0")])
    let adoption = try await other.adopt()
    #expect(adoption.losses.isEmpty)
    #expect(try other.rows("SELECT length(photo) FROM Stone ORDER BY id") == [[2], [38]])
  }

  @Test func `bytes that all begin with a 1 stay as they are, and a note states why`() async throws {
    let lab = try lab(["x'01ff'", "x'0100'"])
    let adoption = try await lab.adopt()
    #expect(adoption.notes.contains { $0.hasPrefix("Stone.photo") && $0.contains("Allows External Storage") })
    #expect(try lab.rows("SELECT hex(photo) FROM Stone ORDER BY id") == [["01FF"], ["0100"]])
    // Other bytes are imported without a note.
    let plain = try self.lab(["x'01ff'", "x'02'", "x''"])
    #expect(try await plain.plan().notes.allSatisfy { !$0.hasPrefix("Stone.photo") })
  }
}
