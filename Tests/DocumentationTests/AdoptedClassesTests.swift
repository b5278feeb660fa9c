// The classes that an adoption writes for a Core Data inheritance hierarchy: they compile, match the step,
// and find the adopted objects.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing
import VaultAuthoring

@Suite(.tags(.documents, .slow)) struct AdoptedClasses {
  /// The file in a folder, and its adoption.
  static func hierarchy(in folder: TemporaryFolder) async throws -> (file: URL, adoption: Adoption) {
    let file = folder.url.appendingPathComponent("family.db")
    let path = folder.path("made")
    _ = try Connection.create(path, key: testKey) { try $0.executeScript(CoreDataHierarchy.file) }
    let connection = try Connection.open(path, key: testKey)
    defer { connection.close() }
    try connection.exportPlaintext(to: file.path)
    return (file, try await Store.planAdoption(of: file, key: nil))
  }

  /// The classes, in a program that opens a store with them and a folder of steps.
  static func program() async throws -> String {
    let folder = try TemporaryFolder()
    return try await hierarchy(in: folder).adoption.schema.rendered(as: .swift).text + """

      print(model.meaningHash, model.faults.count)
      let store = try await Store.open(
        at: URL(fileURLWithPath: CommandLine.arguments[1]), key: .raw([UInt8](repeating: 0x5A, count: 32)),
        schema: model, migrations: .directory(URL(fileURLWithPath: CommandLine.arguments[2])))
      try await store.read { context in
        for party in try context.fetch(Party.self).sorted(by: \\.name).all() {
          switch party {
          case let manager as Manager:
            print("manager", manager.name ?? "-", manager.level ?? 0, manager.leads.count, manager.desk?.number ?? 0)
          case let employee as Employee:
            print("employee", employee.name ?? "-", employee.employer?.name ?? "-", employee.mentor?.name ?? "-")
          case let person as Person: print("person", person.name ?? "-", person.title1 ?? "-")
          case let company as Company: print("company", company.title ?? "-", company.staff.compactMap(\\.name))
          default: print("party")
          }
        }
      }

      """
  }

  @Test func `adopted classes of a hierarchy compile, match the step, and find the objects`() async throws {
    let program = try await ReaderProgram(Self.program(), name: "adopted")
    let said = program.build.output + program.build.errors
    try #require(program.build.status == 0, "\(said)")
    #expect(!said.contains("adopted/main.swift"), "\(said)")
    let folder = try TemporaryFolder()
    let (file, adoption) = try await Self.hierarchy(in: folder)
    let store = folder.url.appendingPathComponent("new.store")
    try await Store.adopt(
      file, fileKey: nil, into: store, key: testKey, migrations: try MigrationSet([adoption.step]))
    let steps = folder.url.appendingPathComponent("Migrations")
    try FileManager.default.createDirectory(at: steps, withIntermediateDirectories: true)
    try Data(adoption.step.text.utf8).write(to: steps.appendingPathComponent(adoption.step.fileName))
    let ran = try program.run([store.path, steps.path])
    #expect(
      ran.output == """
        \(adoption.schema.meaningHash) 0
        person - -
        company the first ["Eve", "Bo"]
        person Ann Dr.
        company - ["Cid"]
        employee Bo Acme Ann
        manager Cid 3 1 22
        manager Dora 0 0 0
        employee Eve Acme Bo

        """, "\(ran.errors)")
  }
}
