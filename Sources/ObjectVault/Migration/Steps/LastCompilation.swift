// The last compilation of a set of steps, shared by the copies of the set.

private import CipherSQLite

/// The compiled steps above one version. It does not affect whether two sets are equal.
final class LastCompilation: Sendable, Hashable {
  private let last = Locked<(version: Int, steps: [CompiledStep])?>(nil)

  /// Returns the compiled steps above a version: those kept from the last call, or else those of `compile`.
  func steps(after version: Int, _ compile: () throws -> [CompiledStep]) rethrows -> [CompiledStep] {
    if let last = last.withLock({ $0 }), last.version == version { return last.steps }
    let steps = try compile()
    last.withLock { $0 = (version, steps) }
    return steps
  }

  func drop() { last.withLock { $0 = nil } }

  static func == (_: LastCompilation, _: LastCompilation) -> Bool { true }
  func hash(into hasher: inout Hasher) {}
}
