// `slots rotate` and `slots forget`: the data keys of a key file, and the files encrypted under them.

import CipherSQLite
import Foundation
import ObjectVault

extension SlotsCommand {
  /// Gives the key file a new data key, and encrypts the stores under it one after another. The first
  /// store changes together with the key file; each other store is then rekeyed to the new data key.
  static func rotate(_ file: String, stores: [String], _ session: Session) throws -> SlotsReport {
    let secrets = try keptSecrets(file, session)
    guard let secret = secrets.first?.value else {
      throw UsageError("Name the slots that stay, each with --keep NAME=FILE.")
    }
    let paths = try stores.map { try DatabasePath($0).path }
    if let place = paths.indices.first(where: { paths[..<$0].contains(paths[$0]) }) {
      throw UsageError("\(stores[place]) is given twice. Give each store once.")
    }
    let unlock = try source("key", session).unlock(for: file)
    let configuration = try session.configuration()
    // Opening a store by the key file finishes or abandons an interrupted rotation. All stores are opened
    // before one is changed.
    let connections = try stores.map {
      let connection = try Connection.open(
        $0, key: .keyFile(file, unlock: unlock), configuration: configuration)
      try StoreInfo.prepare(connection)
      return connection
    }
    defer { for connection in connections { connection.close() } }
    var keys = try KeyFile.open(at: file, unlock: unlock)
    keys.lockTimeout = try session.lockTimeout()
    let before = try stores.map { try keys.generation(of: $0) }
    for (index, connection) in connections.enumerated() {
      try session.interruption.check()
      session.interruption.begin(
        Rotation(
          stores: stores, place: index, before: before, file: file, secret: secret,
          kept: secrets.keys.sorted(), configuration: configuration))
      let bar = ProgressBar("rotate", session)
      if index == 0 {
        keys = try keys.rotate(
          connection, keeping: secrets, dropsOthers: session.arguments.has("--drop-others"),
          gate: session.interruption.gate, progress: session.steps(bar))
      } else {
        session.interruption.gate.beginNext()
        try connection.rekey(
          to: keys.key, gate: session.interruption.gate, progress: session.steps(bar))
      }
      bar.finish()
    }
    for (number, files) in try files(near: [file] + stores, under: keys) {
      keys.note(files, under: number)
    }
    return try SlotsReport(file)
  }

  /// Removes a former data key, if `--yes` or the user's answer allows it. The question lists the files
  /// that become unreadable.
  static func forget(_ word: String, of file: String, _ session: Session) throws -> SlotsReport {
    guard let number = Int(word), number > 0 else {
      throw UsageError(
        "slots forget takes the number of a data key, not \"\(word)\". \(ToolLine.help(name))")
    }
    try session.requireThere(file)
    let former = try KeyFile.generations(at: file).filter { !$0.isCurrent }
    // Checked before a secret is requested.
    guard let generation = former.first(where: { $0.number == number }) else {
      throw SQLError.noSuchGeneration(file: file, number: number, available: former.map(\.number).sorted())
    }
    var keys = try KeyFile.open(at: file, unlock: source("key", session).unlock(for: file))
    keys.lockTimeout = try session.lockTimeout()
    let found = try files(near: [file] + generation.files, under: keys)[number] ?? []
    let noted = try Set(generation.files).subtracting(found).filter { path in
      guard try DatabasePath.isTaken(path) else { return true }
      return try keys.generation(of: path) == number
    }
    let loss =
      (found.isEmpty ? "" : " Found: \(list(found)).")
      + (noted.isEmpty ? "" : " Last recorded with it, but not found: \(list(noted.sorted())).")
      + (found.isEmpty && noted.isEmpty ? " No such file is known, but copies may exist elsewhere." : "")
    try session.confirm(
      "Every file encrypted with data key \(number) of \(file) would become unreadable.\(loss)",
      allow: "--yes")
    session.interruption.begin(SlotChange(file: file))
    try keys.forgetGeneration(number)
    return try SlotsReport(file)
  }

  private static func list(_ files: [String]) -> String { files.joined(separator: ", ") }

  /// Searches the folders of `others` for files that open with one of the data keys, and returns them by
  /// the number of their data key.
  private static func files(
    near others: [String], under keys: KeyFile
  ) throws -> [Int: [String]] {
    var found: [Int: [String]] = [:]
    for folder in Set(others.compactMap { try? DatabasePath($0).folder }).sorted() {
      for path in DatabasePath.databases(in: folder) {
        // An unreadable file cannot be assigned to a data key.
        guard let number = try? keys.generation(of: path) else { continue }
        found[number, default: []].append(path)
      }
    }
    return found
  }

  /// Returns the secrets of the slots that `--keep` names.
  static func keptSecrets(_ file: String, _ session: Session) throws -> [String: KeyFile.Unlock] {
    let kinds = Dictionary(uniqueKeysWithValues: try KeyFile.slots(at: file).map { ($0.name, $0.kind) })
    let budget = try KeySource.budget(session.arguments)
    var secrets: [String: KeyFile.Unlock] = [:]
    for text in session.arguments.all("--keep") {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let data = FileManager.default.contents(atPath: parts[1]) else {
        throw UsageError("--keep takes NAME=FILE, with the slot's secret in FILE, not \"\(text)\".")
      }
      let bytes = KeySource.trimmed(Array(data))
      let secret: KeyFile.Unlock =
        switch kinds[parts[0]] {
        case .recoveryCode: .recoveryCode(try RecoveryCode(typed: String(decoding: bytes, as: UTF8.self)))
        case .rawKey: try KeySource.unlock(bytes, format: "hex", "keep")
        default: try KeySource.unlock(bytes, format: "passphrase", "keep")
        }
      secrets[parts[0]] = budget.map { secret.allowing($0) } ?? secret
    }
    return secrets
  }
}
