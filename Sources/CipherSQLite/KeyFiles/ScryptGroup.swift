// Groups the passphrase slots of a key file that share one scrypt derivation, and sums up their cost.

/// The passphrase slots that one derivation opens: they have the same salt and the same cost.
struct ScryptGroup: Hashable {
  let salt: [UInt8]
  let work: ScryptWork

  init?(_ slot: KeyFileFormat.Slot) {
    guard let work = slot.work else { return nil }
    self.salt = slot.salt
    self.work = work
  }

  /// Returns the derivations that opening the given slots takes.
  static func all(of slots: [KeyFileFormat.Slot]) -> Set<ScryptGroup> {
    Set(slots.compactMap { ScryptGroup($0) })
  }
}

extension SQLError {
  /// Returns the error for slots that were not tried, with the cost of all of them.
  static func tooCostly(_ path: String, _ groups: Set<ScryptGroup>) -> SQLError {
    .keyFileTooCostly(file: path, seconds: groups.seconds, memoryBytes: groups.memoryBytes)
  }

  /// Returns the error for a slot that was not added, with the cost of opening a file that has it.
  static func slotTooCostly(
    _ path: String, _ groups: Set<ScryptGroup>, allowed: ScryptBudget
  ) -> SQLError {
    .slotTooCostly(
      file: path, seconds: groups.seconds, memoryBytes: groups.memoryBytes, allowedSeconds: allowed.seconds,
      allowedMemoryBytes: allowed.memoryBytes)
  }
}

extension Set<ScryptGroup> {
  /// The time of all derivations, one after the other.
  var seconds: Double { reduce(0) { $0 + $1.work.seconds } }
  /// The memory of the largest derivation.
  var memoryBytes: Int { map(\.work.memoryBytes).max() ?? 0 }
}
