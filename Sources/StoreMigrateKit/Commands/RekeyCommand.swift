// The `rekey` command: encrypts a store under another key.

import CipherSQLite
import Foundation
import ObjectVault

enum RekeyCommand: Command {
  static let name = "rekey"
  static let summary = "Encrypt the store with another key, and verify it"
  static let group = CommandGroup.change
  static let positionalCount = 1
  static let options = Option.store + Option.newKey + [Option.newCipher]
  static let help = """
    EXAMPLES
      store-migrate rekey notes.store                                   prompts for both keys
      store-migrate rekey notes.store --key-file old.txt --new-key-file new.txt
      store-migrate rekey notes.store --new-cipher rounds=1000000       same key, but 1,000,000 KDF rounds

    One transaction: the store always opens with either the old key or the new one. If another process holds
    the write lock longer than --lock-timeout, the command ends with 11, and the old key stays valid.

    With --new-cipher, the content is written to a new file, which is compared with the old one and then renamed
    over it. No other program may have the store open. The key stays the same unless a new one is given. A file
    does not record its number of rounds: after you change it, give the new number with --cipher, and in the
    profile of the program's configuration.
    """

  struct RekeyReport: Report {
    let store: StoreSummary
    let profile: String
    /// The `--cipher` option that the file needs in order to open; nil when the key is enough.
    let cipherOption: String?
    let isNewKey: Bool
    let seconds: Double
    var description: String {
      "\(store.path) is encrypted with the \(isNewKey ? "new key" : "same key"), \(profile), "
        + "and was verified (\((seconds * 100).rounded() / 100) s)."
        + (cipherOption.map {
          "\nThe file does not record all settings. From now on it opens with: \($0)"
        } ?? "")
        + (isNewKey ? "\nOlder copies and backups still open with the old key." : "")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let (key, profile) = (try session.key(), try session.newProfile())
    let newKey: Key? =
      if profile == nil || session.hasNewKey { try session.newKey() } else {
        // The present key with another salt.
        try CipherSettings.given("--new-cipher", in: session.arguments)?.salt.map { key.withSalt($0) }
      }
    let start = Date()
    let bar = ProgressBar("rekey", session)
    let settings =
      if let profile {
        try resettle(session, from: key, to: newKey, profile: profile, progress: bar)
      } else {
        try rekey(session, from: key, to: newKey ?? key, progress: bar)
      }
    bar.finish()
    return RekeyReport(
      store: session.storeAfterwards, profile: "\(settings)",
      cipherOption: CipherSettings.option(for: settings),
      isNewKey: profile == nil || session.hasNewKey, seconds: Date().timeIntervalSince(start))
  }

  /// Changes the key in place. It uses a single connection, because a pool would switch the journal to
  /// WAL.
  private static func rekey(
    _ session: Session, from key: Key, to newKey: Key, progress bar: ProgressBar
  ) throws -> CipherProfile {
    let configuration = try session.configuration()
    let connection = try Connection.open(session.storePath, key: key, configuration: configuration)
    defer { connection.close() }
    try StoreInfo.prepare(connection)
    session.interruption.begin(
      KeyChange(store: session.storePath, old: key, new: newKey, configuration: configuration))
    try connection.rekey(to: newKey, gate: session.interruption.gate, progress: session.steps(bar))
    return connection.unlocked.profile
  }

  /// Changes the cipher settings by way of a new file.
  private static func resettle(
    _ session: Session, from key: Key, to newKey: Key?, profile: CipherProfile,
    progress bar: ProgressBar
  ) throws -> CipherProfile {
    let option = CipherSettings.option(for: profile).map { " and \($0)" } ?? ""
    let name = session.hasNewKey ? "the NEW key" : "its key"
    session.interruption.begin(
      Replacement(
        of: session.storePath,
        former:
          "\(session.storePath) opens with \(session.hasNewKey ? "the OLD key" : "its key"), as before.",
        new: "\(session.storePath) has the new settings and opens with \(name)\(option)."))
    return try Connection.upgradeCipher(
      session.storePath, key: key, newKey: newKey, to: profile, configuration: session.configuration(),
      prepare: { try StoreInfo.prepare($0) }, progress: session.steps(bar)
    ).to
  }
}
