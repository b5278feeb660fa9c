// A folder in which a command is run with a fault, and checks of what it left, which change nothing there.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// A folder with the files of one command.
struct Bench {
  let command: ChangingCommand
  let folder: TemporaryFolder
  private let template: TemporaryFolder

  init(_ command: ChangingCommand) async throws {
    self.command = command
    folder = try TemporaryFolder()
    template = try await Template.folder()
  }

  /// Empties the folder, and copies the command's files and foreign files into it.
  func reset() throws {
    for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
    for name in command.files {
      try FileManager.default.copyItem(atPath: template.path(name), toPath: folder.path(name))
    }
    for (name, bytes) in Template.bystanders { try folder.write(bytes, to: name) }
    try FileManager.default.createDirectory(
      atPath: folder.path(Template.directory), withIntermediateDirectories: false)
  }

  /// Runs the command with the present key of the store.
  func run(_ fault: Fault? = nil, calls: [String] = [], isAgain: Bool = false, lacks: String = "")
    async throws
    -> FaultInjector.Run
  {
    // Not on the tests' own threads, which are few: other tests would wait for theirs.
    try await onThread { try runHere(fault, calls: calls, isAgain: isAgain, lacks: lacks) }
  }

  private func runHere(_ fault: Fault?, calls: [String], isAgain: Bool, lacks: String) throws
    -> FaultInjector.Run
  {
    let words = (isAgain ? command.wordsAgain : command.words).map {
      $0.replacingOccurrences(of: "@", with: folder.path("") + "/")
        .replacingOccurrences(of: "%", with: template.path("") + "/")
    }
    var keys = [Template.key, Template.newKey]
    if isAgain, case .newKey = command.effect { keys.reverse() }
    return try FaultInjector.run(
      builtExecutable("store-migrate"),
      words + ["--no-input", "--quiet"]
        // These commands read plaintext, or nothing.
        + (words[0] == "encrypt" || words.prefix(2) == ["slots", "create"]
          ? [] : ["--key-env", "OLD_KEY", "--key-format", "hex"]),
      environment: [
        "OLD_KEY": Template.hex(keys[0]), "NEW_KEY": Template.hex(keys[1]), "VAULT_FAULT_LACKS": lacks,
      ],
      in: folder.url.lastPathComponent, calls: calls, fault: fault)
  }

  // MARK: What is there now

  /// Whether the command had its effect. Throws if it had a part of it.
  func isDone() throws -> Bool {
    if case .content = command.effect, try folder.bytes(command.store) == template.bytes(command.store) {
      return false
    }
    let (copy, original) = (try Look(folder, command.store), try rows(of: command.store))
    switch command.effect {
    case .newKey:
      if let rows = copy.rows(.raw(Template.newKey)) {
        try same(rows, as: original)
        return true
      }
      try same(copy.rows(.raw(Template.key)), as: original)
      return false
    case .newPages:
      try same(copy.rows(.raw(Template.key)), as: original)
      let before = try Look(template, command.store).value("PRAGMA page_size")
      return try copy.value("PRAGMA page_size") != before
    case .copy(let name):
      try same(copy.rows(command.store == "plain.db" ? nil : .raw(Template.key)), as: original)
      guard folder.names.contains(name) else { return false }
      let key: Key? =
        name.hasSuffix(".db") ? nil : .raw(command.store == "plain.db" ? Template.newKey : Template.key)
      try same(Look(folder, name).rows(key), as: original)
      return true
    case .content:
      let found = copy.rows(.raw(Template.key))
      if found == (try rows(of: "other.store")) { return true }
      try same(found, as: original)
      return false
    case .newDataKey:
      let keys = folder.path("n.keys")
      try same(copy.rows(.keyFile(keys, unlock: .rawKey(Template.key))), as: original)
      let former = try KeyFile.open(at: template.path("n.keys"), unlock: .rawKey(Template.key)).key
      return copy.rows(former) == nil
    case .keyFile(let name):
      guard folder.names.contains(name) else { return false }
      _ = try KeyFile.open(at: folder.path(name), unlock: .rawKey(Template.newKey))
      return true
    case .newVersion:
      try same(copy.rows(.raw(Template.key)), as: original)
      return try copy.value("PRAGMA user_version") == 2
    case .formerVersion:
      try same(copy.rows(.raw(Template.key)), as: original)
      return try copy.value("PRAGMA user_version") == 1
    case .ranAgain:
      try same(copy.rows(.raw(Template.key)), as: original)
      return try copy.value("SELECT count(*) FROM sqlite_master WHERE name = 'vault_undone'") == 1
    case .adopted(let name):
      try same(copy.rows(nil), as: original)
      guard folder.names.contains(name) else { return false }
      let store = try Look(folder, name)
      try same(store.rows(.raw(Template.key)), as: [])
      return try store.value("SELECT count(*) FROM T")
        == Look(template, "notes.store").value("SELECT count(*) FROM t")
    case .noFreePages:
      try same(copy.rows(.raw(Template.key)), as: original)
      return try copy.value("PRAGMA freelist_count") == 0
    case .newRecord:
      try same(copy.rows(.raw(Template.key)), as: original)
      return try copy.value("SELECT count(*) FROM sqlite_master WHERE name = 'vault_repaired'") == 1
    case .purgedHistory:
      try same(copy.rows(.raw(Template.key)), as: original)
      return try copy.value("SELECT count(*) <= 1 FROM vault_transactions") == 1
    case .newStore(let name):
      guard folder.names.contains(name) else { return false }
      let store = try Look(folder, name)
      try same(store.rows(.raw(Template.key)), as: [])
      return try store.value("PRAGMA user_version") == 2
    }
  }

  private func rows(of name: String) throws -> [[SQLValue]]? {
    switch name {
    case "plain.db": try Look(template, name).rows(nil)
    case "slots.store":
      try Look(template, name).rows(
        KeyFile.open(at: template.path("n.keys"), unlock: .rawKey(Template.key)).key)
    default: try Look(template, name).rows(.raw(Template.key))
    }
  }

  private func same(_ found: [[SQLValue]]?, as wanted: [[SQLValue]]?) throws {
    struct NotTheSame: Error, CustomStringConvertible { let description: String }
    guard found == wanted, found != nil else {
      throw NotTheSame(description: "\(found?.count ?? -1) rows, and \(wanted?.count ?? -1) are wanted")
    }
  }

  // MARK: What else is there

  /// Names that were not there before, and that the command should not have created.
  var leftovers: [String] {
    var allowed = Set(command.files + Template.bystanders.keys + [Template.directory])
    switch command.effect {
    case .copy(let name), .keyFile(let name), .newStore(let name), .adopted(let name):
      allowed.formUnion([name, "again." + (name.split(separator: ".").last ?? "")])
    case .newDataKey: allowed.insert("n.keys.previous")
    default: break
    }
    return folder.names.filter { !allowed.contains($0) && !$0.hasSuffix(".backup") }
  }

  /// Whether the foreign files are unchanged.
  var isOthersUntouched: Bool {
    Template.bystanders.allSatisfy { (try? folder.bytes($0)) == $1 }
      && folder.names.contains(Template.directory)
  }

  /// Names of files in which rows are readable, except for a plaintext output of the command.
  var inClear: [String] {
    let canary = Data(Template.canary.utf8)
    return folder.names.filter { name in
      if case .copy(name) = command.effect { return false }
      return name != "plain.db" && (try? folder.bytes(name).range(of: canary)) ?? nil != nil
    }
  }
}

/// A copy of a file and its companions, which can be opened.
struct Look {
  private let folder: TemporaryFolder
  private let path: String

  init(_ original: TemporaryFolder, _ name: String) throws {
    folder = try TemporaryFolder()
    path = folder.path(name)
    for suffix in ["", "-wal", "-journal"] where original.names.contains(name + suffix) {
      try FileManager.default.copyItem(atPath: original.path(name + suffix), toPath: path + suffix)
    }
  }

  /// All rows with their ids; nil if the key does not open the file.
  /// - Parameter key: nil for a file in clear.
  func rows(_ key: Key?) -> [[SQLValue]]? {
    let encrypted = path + ".encrypted"
    if key == nil { try? Connection.encrypt(plaintext: path, to: encrypted, key: testKey) }
    defer { try? FileManager.default.removeItem(atPath: encrypted) }
    guard let connection = try? Connection.open(key == nil ? encrypted : path, key: key ?? testKey),
      // A change of the key may still be in the log.
      (try? connection.checkpoint(.truncate)) != nil, connection.auditPages().isEmpty,
      let tables = try? connection.rows("SELECT name FROM sqlite_master WHERE name IN ('t', 'k', 'User')")
    else { return nil }
    return try? tables.compactMap { $0[0].string }.sorted().flatMap { table in
      try connection.rows(
        sql: table == "User"
          ? "SELECT rowid, name FROM User" : "SELECT rowid, * FROM \(table) ORDER BY rowid")
    }
  }

  func value(_ sql: SQL) throws -> SQLValue? { try Connection.open(path, key: .raw(Template.key)).value(sql) }
}
