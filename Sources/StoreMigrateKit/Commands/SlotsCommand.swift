// The `slots` command: manages a key file, whose slots hold the secrets that open a store.

import CipherSQLite
import Foundation
import ObjectVault

enum SlotsCommand: Command {
  static let name = "slots"
  static let summary = "Manage a key file: create, list, add, change, remove, rename, rotate, forget"
  static let group = CommandGroup.copy
  // The count depends on the action; `run` checks it.
  static let positionalCount = -1
  static let positionalNames = "ACTION KEYFILE …"
  private static let recovery = Option("--recovery", "add: generate a recovery code, and show it once")
  private static let keep = Option(
    "--keep", value: "NAME=FILE", isList: true,
    "rotate: a slot that stays, and the file with its secret; repeatable")
  private static let dropOthers = Option("--drop-others", "rotate: remove the slots without --keep")
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
      name: "rotate", count: 2, takesMore: true,
      options: [keep, dropOthers, .cipher, .lockTimeout] + Option.slotKey),
    CommandAction(name: "forget", count: 2, options: [.yes, .cipher, .lockTimeout] + Option.slotKey),
  ]
  static let help = """
    EXAMPLES
      store-migrate slots create notes.keys Ann                     new data key with a slot for Ann's passphrase
      store-migrate rekey notes.store --new-slots notes.keys        encrypts the store with the data key
      store-migrate status notes.store --slots notes.keys           prompts for the passphrase of any slot
      store-migrate slots list notes.keys                           needs no key
      store-migrate slots add notes.keys Bo --new-key-file bo.txt
      store-migrate slots add notes.keys paper --recovery           prints a recovery code, once
      store-migrate slots change notes.keys Ann                     new passphrase; the store is not rewritten
      store-migrate slots rename notes.keys Bo Bob
      store-migrate slots remove notes.keys Bob
      store-migrate slots rotate notes.keys notes.store --keep Ann=ann.txt --drop-others
      store-migrate slots rotate notes.keys a.store b.store --keep Ann=ann.txt     several stores of one key file
      store-migrate slots forget notes.keys 1                       lists the files that need data key 1, asks, removes it

    The --key-... options open a slot. The --new-key-... options give the secret of a new or changed slot
    (formats passphrase, hex, base64, recovery). After `remove` and `change`, an old copy of the key file
    still opens the store with the old secret. `rotate` prevents that: it encrypts the store with a new data
    key. `rotate` keeps the slots whose secrets are in the files of --keep NAME=FILE. If there are others, it
    ends with 5, unless --drop-others allows their removal.

    One key file can serve several stores and their backups. A rotation encrypts only the stores that are
    given. A store that was not rotated keeps its former data key. The key file keeps that key, so the
    remaining slots still open the store, and so does an old copy of the key file. To move such a store to the
    present data key: `rekey b.store --slots notes.keys --new-slots notes.keys`. `list` shows the data keys,
    and for each former data key the files last recorded with it. `forget` removes a former data key. It first
    lists the files that become unreadable, and asks.
    """

  struct SlotsReport: Report {
    struct Slot: Encodable {
      let name: String
      let kind: String
      let work: String?

      /// The kind in plain words.
      var kindInWords: String {
        switch kind {
        case "rawKey": "raw key"
        case "recoveryCode": "recovery code"
        default: kind
        }
      }
    }
    struct DataKey: Encodable {
      let number: Int
      /// The date of its replacement; nil for the present data key.
      let retired: String?
      let files: [String]
    }
    let file: String
    let slots: [Slot]
    /// The data keys, beginning with the present one.
    let dataKeys: [DataKey]
    /// The new recovery code. It is shown once and stored nowhere.
    let recoveryCode: String?
    let loss: String?
    /// What was done, as the first line states it; only the path of the key file when nothing was.
    let done: String
    /// The code is stored nowhere else: if `--quiet` hid it, the slot would be useless.
    var isData: Bool { recoveryCode != nil }

    init(_ file: String, recoveryCode: String? = nil, of slot: String = "", done: String? = nil) throws {
      self.file = file
      self.done = done ?? file
      self.recoveryCode = recoveryCode
      loss = recoveryCode.map { _ in
        "The slot \(slot) was added, but its code was not shown. Remove it: "
          + "\(ToolLine("slots", "remove", argumentPath(file), slot))"
      }
      slots = try KeyFile.slots(at: file).map {
        Slot(name: $0.name, kind: "\($0.kind)", work: $0.work.map { "\($0)" })
      }
      dataKeys = try KeyFile.generations(at: file).map {
        DataKey(
          number: $0.number, retired: $0.retired.map { CellText.date($0.timeIntervalSinceReferenceDate) },
          files: $0.files)
      }
    }

    private enum CodingKeys: String, CodingKey { case file, slots, dataKeys, recoveryCode }

    var description: String {
      let width = CellWidth.widest(slots.map(\.name))
      var lines = slots.map {
        "  \(padded($0.name, width))  \($0.kindInWords)\($0.work.map { ", \($0)" } ?? "")"
      }
      lines.insert("\(done): \(counted(slots.count, "slot"))", at: 0)
      lines += dataKeyLines
      if let recoveryCode {
        lines += ["", "Recovery code, shown only once. Write it down:", "", "  \(recoveryCode)"]
      }
      return lines.joined(separator: "\n")
    }

    /// The lines about the data keys; none when there was only ever one.
    private var dataKeyLines: [String] {
      let former = dataKeys.compactMap { key in key.retired.map { (key, retired: $0) } }
      guard !former.isEmpty else { return [] }
      var lines = ["", "Data key \(dataKeys[0].number) is in use."]
      for (key, retired) in former {
        let seen =
          "\(counted(key.files.count, "file")) \(key.files.count == 1 ? "was" : "were") last recorded with it"
        lines.append(
          "Data key \(key.number) was replaced \(retired)\(key.files.isEmpty ? "." : "; \(seen):")")
        lines += key.files.map { "  \($0)" }
      }
      lines.append(
        "Files with a former data key open with these slots, and also with any old copy of the key file.")
      return lines
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let words = Array(session.arguments.positional.dropFirst())
    guard let action = Self.action(session.arguments) else {
      let names = actions.map(\.name).sorted()
      throw UsageError(
        "slots takes one of \(names.joined(separator: ", "))"
          + "\(words.first.map { ", not \"\($0)\"" } ?? "")."
          + "\(didYouMean(words.first ?? "", among: names)) \(ToolLine.help(name))")
    }
    guard words.count == action.count + 1 || action.takesMore && words.count > action.count else {
      throw UsageError(
        "slots \(action.name) takes \(counted(action.count, "argument"))\(action.takesMore ? " or more" : ""), "
          + "but got \(words.count - 1). \(ToolLine.help(name))"
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
      return try SlotsReport(file, done: "created \(file)")
    case "rotate": return try rotate(file, stores: Array(words.dropFirst(2)), session)
    case "forget": return try forget(words[2], of: file, session)
    default: return try change(file, action: action.name, words: words, in: session)
    }
  }

  private static func change(
    _ file: String, action: String, words: [String], in session: Session
  ) throws -> SlotsReport {
    try session.requireThere(file)
    // Checked first, so that no secret is requested for a slot that does not exist.
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
      try session.confirm("The slot \(words[2]) would be removed permanently.", allow: "--yes")
    }
    session.interruption.begin(SlotChange(file: file))
    switch (action, secret) {
    case ("add", nil):
      let code = try keys.addRecoveryCode(slot: words[2]).text()
      return try SlotsReport(file, recoveryCode: code, of: words[2], done: "added \(words[2]) to \(file)")
    case ("add", let secret?):
      try keys.addSlot(words[2], unlock: secret)
      return try SlotsReport(file, done: "added \(words[2]) to \(file)")
    case ("change", let secret?): try keys.changeSlot(words[2], unlock: secret)
    case ("rename", _): try keys.renameSlot(words[2], to: words[3])
    default: try keys.removeSlot(words[2])
    }
    return try SlotsReport(file)
  }

  static func source(_ prefix: String, _ session: Session) -> KeySource {
    KeySource(
      arguments: session.arguments, prefix: prefix, standardError: session.standardError, warn: session.warn)
  }
}
