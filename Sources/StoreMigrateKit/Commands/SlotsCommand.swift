// slots: who may open a store, by a key file beside it.

import CipherSQLite
import Foundation
import ObjectVault

enum SlotsCommand: Command {
  static let name = "slots"
  static let summary = "Key file: create, list, add, change, remove, rename, rotate"
  static let group = CommandGroup.copy
  // Depends on the word behind it; checked below.
  static let positionalCount = -1
  static let positionalNames = "ACTION KEYFILE …"
  private static let recovery = Option("--recovery", "add: the tool makes a recovery code, and shows it once")
  private static let keep = Option(
    "--keep", value: "NAME=FILE", isList: true,
    "rotate: a slot that stays, and the file with its secret; once for each")
  private static let dropOthers = Option("--drop-others", "rotate: the slots that are not kept go")
  static let options: [Option] =
    [recovery, keep, dropOthers, .yes] + Option.slotKey + Option.newSlotKey + [Option.cipher, .lockTimeout]
  static let actions = [
    CommandAction(name: "create", count: 2, options: Option.newSlotKey),
    CommandAction(name: "list", count: 1, options: []),
    CommandAction(
      name: "add", count: 2, options: [recovery, .lockTimeout] + Option.slotKey + Option.newSlotKey),
    CommandAction(name: "change", count: 2, options: [.lockTimeout] + Option.slotKey + Option.newSlotKey),
    CommandAction(name: "remove", count: 2, options: [.yes, .lockTimeout] + Option.slotKey),
    CommandAction(name: "rename", count: 3, options: [.lockTimeout] + Option.slotKey),
    CommandAction(
      name: "rotate", count: 2, options: [keep, dropOthers, .cipher, .lockTimeout] + Option.slotKey),
  ]
  static let help = """
    EXAMPLES
      store-migrate slots create notes.keys Ann                     a new data key, opened by Ann's passphrase
      store-migrate rekey notes.store --new-slots notes.keys        the store is under the data key from now on
      store-migrate status notes.store --slots notes.keys           asks for a passphrase of any slot
      store-migrate slots list notes.keys                           needs no key
      store-migrate slots add notes.keys Bo --new-key-file bo.txt
      store-migrate slots add notes.keys paper --recovery           prints a recovery code, once
      store-migrate slots change notes.keys Ann                     a new passphrase, whatever the store's size
      store-migrate slots rename notes.keys Bo Bob
      store-migrate slots remove notes.keys Bob
      store-migrate slots rotate notes.keys notes.store --keep Ann=ann.txt --drop-others

    The key options open a slot; the --new-key options give a slot its secret (formats passphrase, hex, base64,
    recovery). After `remove` and `change` an old copy of the key file still opens the store with the old secret;
    `rotate` encrypts the store under a new data key, so that it does not. It carries over the slots whose secrets
    are in the files of --keep NAME=FILE; the others go with --drop-others.
    """

  struct SlotsReport: Report {
    struct Slot: Encodable {
      let name: String
      let kind: String
      let work: String?

      /// The kind as people write it.
      var kindInWords: String {
        switch kind {
        case "rawKey": "raw key"
        case "recoveryCode": "recovery code"
        default: kind
        }
      }
    }
    let file: String
    let slots: [Slot]
    /// Shown once, and kept nowhere.
    let recoveryCode: String?
    let loss: String?
    /// The code is nowhere else: without it the slot recovers nothing.
    var isData: Bool { recoveryCode != nil }

    init(_ file: String, recoveryCode: String? = nil, of slot: String = "") throws {
      self.file = file
      self.recoveryCode = recoveryCode
      loss = recoveryCode.map { _ in
        "The slot \(slot) was made and its code never shown: \(ToolLine("slots", "remove", argumentPath(file), slot))"
      }
      slots = try KeyFile.slots(at: file).map {
        Slot(name: $0.name, kind: "\($0.kind)", work: $0.work.map { "\($0)" })
      }
    }

    private enum CodingKeys: String, CodingKey { case file, slots, recoveryCode }

    var description: String {
      let width = CellWidth.widest(slots.map(\.name))
      var lines = slots.map {
        "  \(padded($0.name, width))  \($0.kindInWords)\($0.work.map { ", \($0)" } ?? "")"
      }
      lines.insert("\(file): \(counted(slots.count, "slot"))", at: 0)
      if let recoveryCode {
        lines += ["", "Recovery code, shown this once: write it down.", "", "  \(recoveryCode)"]
      }
      return lines.joined(separator: "\n")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let words = Array(session.arguments.positional.dropFirst())
    guard let action = Self.action(session.arguments) else {
      let names = actions.map(\.name).sorted()
      throw UsageError(
        "slots takes one of \(names.joined(separator: ", "))."
          + "\(didYouMean(words.first ?? "", among: names)) \(ToolLine.help(name))")
    }
    guard words.count == action.count + 1 else {
      throw UsageError(
        "slots \(action.name) takes \(action.count) arguments, \(words.count - 1) given. \(ToolLine.help(name))"
      )
    }
    let file = words[1]
    switch action.name {
    case "list": return try SlotsReport(file)
    case "create":
      try session.requireFree(file)
      let unlock = try source("new-key", session).unlock(for: file)
      session.interruption.begin(SlotChange(file: file))
      _ = try KeyFile.create(at: file, slot: words[2], unlock: unlock)
      return try SlotsReport(file)
    case "rotate": return try rotate(file, store: words[2], session)
    default: return try change(file, action.name, words, session)
    }
  }

  private static func change(
    _ file: String, _ action: String, _ words: [String], _ session: Session
  ) throws -> SlotsReport {
    try session.requireThere(file)
    // Before anybody is asked for secrets of a slot that is not there.
    let names = try KeyFile.slots(at: file).map(\.name)
    guard action == "add" || names.contains(words[2]) else {
      throw SQLError.noSuchSlot(file: file, name: words[2], available: names)
    }
    var keys = try KeyFile.open(at: file, unlock: source("key", session).unlock(for: file))
    keys.lockTimeout = try session.lockTimeout()
    let isRecovery = session.arguments.has("--recovery")
    let secret =
      ["add", "change"].contains(action) && !(isRecovery && action == "add")
      ? try source("new-key", session).unlock(for: file) : nil
    if action == "remove" {
      try session.confirm("The slot \(words[2]) will be gone for good.", allow: "--yes")
    }
    session.interruption.begin(SlotChange(file: file))
    switch (action, secret) {
    case ("add", nil):
      let code = try keys.addRecoveryCode(slot: words[2]).text()
      return try SlotsReport(file, recoveryCode: code, of: words[2])
    case ("add", let secret?): try keys.addSlot(words[2], unlock: secret)
    case ("change", let secret?): try keys.changeSlot(words[2], unlock: secret)
    case ("rename", _): try keys.renameSlot(words[2], to: words[3])
    default: try keys.removeSlot(words[2])
    }
    return try SlotsReport(file)
  }

  private static func rotate(_ file: String, store: String, _ session: Session) throws -> SlotsReport {
    let secrets = try keptSecrets(file, session)
    guard let secret = secrets.first?.value else {
      throw UsageError("Say with --keep NAME=FILE which slots are to stay.")
    }
    let unlock = try source("key", session).unlock(for: file)
    let configuration = try session.configuration()
    // Opened by the file, which finishes a rotation that was interrupted.
    let connection = try Connection.open(
      store, key: .keyFile(file, unlock: unlock), configuration: configuration)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    var keys = try KeyFile.open(at: file, unlock: unlock)
    keys.lockTimeout = try session.lockTimeout()
    session.interruption.begin(
      Rotation(
        store: store, file: file, former: keys.key, secret: secret, kept: secrets.keys.sorted(),
        configuration: configuration))
    let bar = ProgressBar("rotate", session)
    _ = try keys.rotate(
      connection, keeping: secrets, dropsOthers: session.arguments.has("--drop-others"),
      gate: session.interruption.gate, progress: session.steps(bar))
    bar.finish()
    return try SlotsReport(file)
  }

  /// The secrets of the slots that `--keep` names.
  private static func keptSecrets(_ file: String, _ session: Session) throws -> [String: KeyFile.Unlock] {
    let kinds = Dictionary(uniqueKeysWithValues: try KeyFile.slots(at: file).map { ($0.name, $0.kind) })
    let budget = try KeySource.budget(session.arguments)
    var secrets: [String: KeyFile.Unlock] = [:]
    for text in session.arguments.all("--keep") {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let data = FileManager.default.contents(atPath: parts[1]) else {
        throw UsageError("--keep takes NAME=FILE, and FILE holds the slot's secret; \"\(text)\" is not so.")
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

  private static func source(_ prefix: String, _ session: Session) -> KeySource {
    KeySource(
      arguments: session.arguments, prefix: prefix, standardError: session.standardError, warn: session.warn)
  }
}
