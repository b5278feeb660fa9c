// The `upgrade-cipher` command: gives an old store the cipher settings of new files.

import CipherSQLite
import Foundation
import ObjectVault

enum UpgradeCipherCommand: Command {
  static let name = "upgrade-cipher"
  static let summary = "Convert a store with older cipher settings to the engine's defaults"
  static let group = CommandGroup.change
  static let positionalCount = 1
  static let options = Option.store + [Option.newCipher]
  static let help = """
    EXAMPLES
      store-migrate upgrade-cipher notes.store --key-file key.txt
      store-migrate upgrade-cipher notes.store --new-cipher sqlcipher4,page=8192

    Builds a new file, compares every row, and renames it over the old one. After a kill at any moment, the
    store is either the old file or the new one. The key stays the same. The number of rounds never decreases
    unless --new-cipher sets it. No other program may have the store open.
    """

  struct UpgradeReport: Report {
    let path: String
    let from: String
    let to: String
    /// Whether SQLCipher 3 opened the file before, and does not open it now.
    let needsNewerEngine: Bool
    let seconds: Double

    private enum CodingKeys: String, CodingKey { case path, from, to, seconds }

    var description: String {
      from == to
        ? "\(path) already has \(to). Nothing to do."
        : "\(path): converted from \(from) to \(to) (\((seconds * 100).rounded() / 100) s)."
          + (needsNewerEngine ? "\nPrograms with SQLCipher 3 can no longer open it." : "")
    }
  }

  static func run(_ session: Session) async throws -> any Report {
    let start = Date()
    let (key, profile, path) = (try session.key(), try session.newProfile(), session.storePath)
    session.interruption.begin(
      Replacement(
        of: path, former: "\(path) has its former settings and opens with its key, as before.",
        new: "\(path) has the new settings and opens with its key."))
    let bar = ProgressBar("upgrade-cipher", session)
    let moved = try Connection.upgradeCipher(
      path, key: key, to: profile, configuration: session.configuration(),
      prepare: { try StoreInfo.prepare($0) }, progress: session.steps(bar))
    bar.finish()
    return UpgradeReport(
      path: path, from: "\(moved.from)", to: "\(moved.to)",
      needsNewerEngine: moved.from.fitsSQLCipher3 && !moved.to.fitsSQLCipher3,
      seconds: Date().timeIntervalSince(start))
  }
}
