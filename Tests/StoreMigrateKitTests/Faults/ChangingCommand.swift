// The commands that change something, each with its files and with the effect that a test checks.

import CipherSQLite
import Foundation
import ObjectVault
import TestSupport
import Testing

/// A command that changes something.
struct ChangingCommand: Sendable, CustomTestStringConvertible {
  /// The effect of the command once it is done.
  enum Effect: Sendable {
    /// The store is under the new key.
    case newKey
    /// The store has pages of another size.
    case newPages
    /// There is a file of this name with the content of the first file.
    case copy(String)
    /// The first file has the content of the second one.
    case content
    /// The store is under another data key.
    case newDataKey
    /// There is a key file of this name.
    case keyFile(String)
    /// The store has another version.
    case newVersion
    /// The store has its former version.
    case formerVersion
    /// A step was rolled back and ran again.
    case ranAgain
    /// There is a store of this name.
    case newStore(String)
    /// The store has no free pages.
    case noFreePages
    /// The record of a step has changed.
    case newRecord
    /// At most one transaction is left in the history.
    case purgedHistory
    /// There is a store of this name with the rows of the first file.
    case adopted(String)
  }

  /// The files that the command needs; the first of them is the store.
  let files: [String]
  /// The words after the tool's name. In a word `@` is the folder, and `%` is the template's folder.
  let words: [String]
  /// The words of a further run, after the first one had its effect.
  let wordsAgain: [String]
  let effect: Effect

  init(_ words: String, again: String? = nil, on files: String..., effect: Effect) {
    self.files = files
    self.words = words.split(separator: " ").map(String.init)
    wordsAgain = (again ?? words).split(separator: " ").map(String.init)
    self.effect = effect
  }

  var testDescription: String { words.joined(separator: " ") }
  var store: String { files[0] }

  private static let newKey = " --new-key-env NEW_KEY --new-key-format hex"

  static let all: [ChangingCommand] = [
    .init("rekey @log.store" + newKey, on: "log.store", effect: .newKey),
    .init("rekey @notes.store" + newKey, on: "notes.store", effect: .newKey),
    .init(
      "rekey @log.store --new-cipher page=8192", again: "rekey @log.store --new-cipher page=2048",
      on: "log.store", effect: .newPages),
    .init("upgrade-cipher @old.store", on: "old.store", effect: .newPages),
    .init(
      "encrypt @plain.db @new.store" + newKey, again: "encrypt @plain.db @again.store" + newKey,
      on: "plain.db",
      effect: .copy("new.store")),
    .init(
      "export @log.store @new.db --yes", again: "export @log.store @again.db --yes", on: "log.store",
      effect: .copy("new.db")),
    .init(
      "backup @log.store @new.store", again: "backup @log.store @again.store", on: "log.store",
      effect: .copy("new.store")),
    .init("restore @other.store @log.store --yes", on: "log.store", "other.store", effect: .content),
    .init(
      "restore @other.store @broken.store --yes", on: "broken.store", "other.store", "broken.store-wal",
      effect: .content),
    .init(
      "slots rotate @n.keys @slots.store --keep Ann=%ann.txt", on: "slots.store", "n.keys",
      effect: .newDataKey),
    .init(
      "slots create @new.keys Ann" + newKey, again: "slots create @again.keys Ann" + newKey,
      on: "notes.store",
      effect: .keyFile("new.keys")),
    .init("up @steps.store -m %Steps", on: "steps.store", effect: .newVersion),
    .init(
      "down @back.store -m %Steps --to 1 --allow lossy:User.town", on: "back.store", effect: .formerVersion),
    .init("redo @back.store -m %Steps --allow lossy:User.town", on: "back.store", effect: .ranAgain),
    .init(
      "baseline @plain.db @new.store --to 1 -m %Adopted --new-key-env OLD_KEY --new-key-format hex",
      again: "baseline @plain.db @again.store --to 1 -m %Adopted --new-key-env OLD_KEY --new-key-format hex",
      on: "plain.db", effect: .adopted("new.store")),
    .init("up @free.store -m %Steps --vacuum", on: "free.store", effect: .noFreePages),
    .init("repair @back.store 2 -m %Reworded --yes", on: "back.store", effect: .newRecord),
    .init(
      "log @recorded.store --purge --newest 1 --yes", again: "log @recorded.store --purge --newest 0 --yes",
      on: "recorded.store", effect: .purgedHistory),
    .init(
      "create @new.store -m %Steps", again: "create @again.store -m %Steps", on: "notes.store",
      effect: .newStore("new.store")),
  ]

  // MARK: Permitted messages

  /// Phrases that state that the command was not done, and that it was done.
  private var claims: (isNot: [String], isDone: [String]) {
    let common = ["the former state was kept", "Nothing was changed"]
    let own: ([String], [String]) =
      switch effect {
      case .newKey: (["with the OLD key"], ["with the NEW key", "the NEW key is in force"])
      case .newPages: (["opens with its key, as before"], ["has the new settings"])
      case .copy: (["was not created"], ["is complete"])
      case .content: (["was not replaced"], ["has the content of"])
      case .newDataKey: (["as before"], ["NEW data key"])
      case .keyFile: (["There is no key file"], ["is intact"])
      case .newVersion: (["version 1, as before"], ["is at version 2"])
      case .formerVersion: (["version 2, as before"], ["is at version 1"])
      case .ranAgain: (["is unchanged, at version 2"], ["were run again;"])
      case .newStore, .adopted: (["was not created"], ["was created"])
      case .noFreePages: (["keeps its free pages"], ["has no free pages"])
      case .newRecord: (["is unchanged, and the store opens"], ["are recorded as their files are now"])
      case .purgedHistory: (["is unchanged, and the store opens"], ["deleted from the history"])
      }
    return (own.0 + common, own.1)
  }

  /// Whether a text states that the command was done, or that it was not; nil if it states neither or both.
  func claim(in text: String) -> Bool? {
    let isDone = claims.isDone.contains(where: text.contains)
    return isDone == claims.isNot.contains(where: text.contains) ? nil : isDone
  }

  /// Whether the message of a failure is true. It may state that the result is unknown. A message without
  /// any statement means that nothing was done.
  func isTrue(_ text: String, isDone: Bool) -> Bool {
    if let claim = claim(in: text) { return claim == isDone }
    return !isDone || text.contains("Check it: ") || text.contains("Check the file: ")
      || text.contains("Keep both keys")
  }
}
