// A store for the tests of `fetch` and `count`, and the real binary with it.

import CipherSQLite
import Foundation
import Microblog
import ObjectVault
import TestSupport
import Testing

/// A model without classes in the tool: the tool reads it from the file.
private let wide = Schema(entities: [
  EntityDescription(
    name: "Thing",
    attributes: [
      .init(name: "text", type: .string, isOptional: true),
      .init(name: "flag", type: .bool, isOptional: true),
      .init(name: "number", type: .int, isOptional: true),
      .init(name: "real", type: .double, isOptional: true),
      .init(name: "float", type: .float, isOptional: true),
      .init(name: "price", type: .decimal, isOptional: true),
      .init(name: "at", type: .date, isOptional: true), .init(name: "data", type: .data, isOptional: true),
      .init(name: "json", type: .json, isOptional: true),
    ],
    relationships: [
      .init(name: "parent", destination: "Thing", inverse: "parts"),
      .init(name: "parts", destination: "Thing", isToMany: true, inverse: "parent"),
    ])
])

/// A folder with a store that the tool reads.
struct FetchBench {
  let folder: TemporaryFolder
  let url: URL
  // Raw keys, as these tests are about rows and not about passphrases.
  static let key = Key.raw(Template.key)
  static let keyOptions = ["--key-format", "hex", "--no-input"]
  static let environment = ["STORE_MIGRATE_KEY": Template.hex(Template.key)]
  /// A program that calls the tool with the form of the key, for shell commands.
  private let tools: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    url = folder.url.appendingPathComponent("notes.store")
    tools = try TemporaryFolder()
    let script = "#!/bin/sh\nexec '\(builtExecutable("store-migrate"))' \"$@\" --key-format hex\n"
    try tools.write(Data(script.utf8), to: "tool")
    try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: tools.path("tool"))
  }

  func run(_ words: String..., key: [UInt8] = Template.key) throws -> ToolResult { try run(words, key: key) }

  func run(_ words: [String], key: [UInt8] = Template.key) throws -> ToolResult {
    try runTool(
      builtExecutable("store-migrate"), [words[0], url.path] + words.dropFirst() + Self.keyOptions,
      environment: ["STORE_MIGRATE_KEY": Template.hex(key)])
  }

  func shell(_ command: String) throws -> ToolResult {
    try runTool(
      "/bin/bash", ["-c", command],
      environment: Self.environment.merging(["TOOL": tools.path("tool"), "STORE": url.path]) { $1 })
  }

  func makeBlog() async throws {
    let store = try await openMicroblog(url, key: Self.key)
    defer { store.close() }
    try await store.write { context in
      for (number, name) in ["Binger", "陳大文", "Zoë", "e\u{301}mile"].enumerated() {
        let user = context.insert(User.self) {
          $0.name = name
          $0.city = number == 0 ? nil : "City \(number), \"old\""
        }
        for index in 0..<(number + 1) {
          context.insert(Status.self) {
            $0.text = "Status \(index)\nof \(name)"
            $0.createdAt = Date(timeIntervalSinceReferenceDate: 800_000_000.25 + Double(index))
            $0.user = index == 3 ? nil : user
          }
        }
      }
    }
  }

  func makeThings(_ fill: @Sendable @escaping (ObjectContext) throws -> Void) async throws {
    try await Store.create(at: url, key: Self.key, migrations: try .creating(wide))
    let store = try await Store.open(at: url, key: Self.key)
    defer { store.close() }
    try await store.write(fill)
  }

  func sql(_ text: String) throws -> [[SQLValue]] {
    let connection = try Connection.open(url.path, key: Self.key)
    defer { connection.close() }
    return try connection.rows(sql: text)
  }

  func objects(_ text: String) throws -> [[String: Any]] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
  }
}
