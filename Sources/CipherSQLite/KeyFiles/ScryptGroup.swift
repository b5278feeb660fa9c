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
  static func tooCostly(_ path: String, _ groups: Set<ScryptGroup>) -> SQLError {
    .keyFileTooCostly(file: path, seconds: groups.seconds, memoryBytes: groups.memoryBytes)
  }

  /// The error for a slot that was not made, with what opening the file would cost with it.
  static func slotTooCostly(_ path: String, _ groups: Set<ScryptGroup>, _ allowed: ScryptBudget) -> SQLError {
    .slotTooCostly(
      file: path, seconds: groups.seconds, memoryBytes: groups.memoryBytes, allowedSeconds: allowed.seconds,
      allowedMemoryBytes: allowed.memoryBytes)
  }
}

extension Set<ScryptGroup> {
  /// What all of them take, one after the other.
  var seconds: Double { reduce(0) { $0 + $1.work.seconds } }
  /// What the largest of them takes.
  var memoryBytes: Int { map(\.work.memoryBytes).max() ?? 0 }
}
