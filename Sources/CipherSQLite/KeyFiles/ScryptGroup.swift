// Slots of a key file that cost one derivation together.

/// The passphrase slots that are opened by one derivation: same salt, same costs.
struct ScryptGroup: Hashable {
  let salt: [UInt8]
  let work: ScryptWork

  init?(_ slot: KeyFileFormat.Slot) {
    guard let work = slot.work else { return nil }
    self.salt = slot.salt
    self.work = work
  }

  /// The derivations that some slots take.
  static func all(of slots: [KeyFileFormat.Slot]) -> Set<ScryptGroup> {
    Set(slots.compactMap { ScryptGroup($0) })
  }
}

extension SQLError {
  /// The error for slots that were not tried, with what all of them would cost.
  static func tooCostly(_ path: String, _ slots: [KeyFileFormat.Slot]) -> SQLError {
    let groups = ScryptGroup.all(of: slots)
    return .keyFileTooCostly(
      file: path, seconds: groups.reduce(0) { $0 + $1.work.seconds },
      memoryBytes: groups.map(\.work.memoryBytes).max() ?? 0)
  }
}
