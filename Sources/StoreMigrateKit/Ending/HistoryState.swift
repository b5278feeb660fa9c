// How a store's history compares with the available steps, for JSON. People get a screen instead.

import ObjectVault

/// The comparison of the steps that ran on a store with the available ones.
struct HistoryState: Encodable {
  /// A step that differs, and how.
  struct Mismatch: Encodable {
    /// The kind of difference: `edited`, `refolded`, `missing` or `reordered`.
    let kind: String
    let number: Int
    /// The step's name in the store.
    let name: String
    /// The checksum of the step that ran.
    let applied: String
    /// The checksum of the available step with this number; nil when there is none.
    let found: String?
    /// The lines that differ, for an edited step; empty for others.
    let difference: [String]

    /// Creates the mismatch for a conflict; nil for a conflict that is not about one step.
    init?(_ conflict: HistoryConflict, applied steps: [AppliedStep], _ set: MigrationSet) {
      func checksum(_ number: Int) -> String { steps.first { $0.number == number }?.checksum ?? "" }
      func present(_ number: Int) -> String? {
        number <= set.version ? set.steps[number - 1].checksum : nil
      }
      switch conflict {
      case .edited(let number, let name, let applied, let found, let difference):
        (kind, self.number, self.name) = ("edited", number, name)
        (self.applied, self.found, self.difference) = (applied, found, difference)
      case .missing(let number, let name):
        (kind, self.number, self.name) = ("missing", number, name)
        (applied, found, difference) = (checksum(number), present(number), [])
      case .reordered(let number, let name, _):
        (kind, self.number, self.name) = ("reordered", number, name)
        (applied, found, difference) = (checksum(number), present(number), [])
      case .refolded(let number, let name, let applied, let found, _, _):
        (kind, self.number, self.name) = ("refolded", number, name)
        (self.applied, self.found, difference) = (applied, found, [])
      case .gap, .noVersion, .duplicate, .folded, .misembedded, .foldEdited: return nil
      }
    }
  }

  /// Whether all steps that ran match.
  let complete: Bool
  let applied: Int
  /// The number of steps that match: they are available and have the same checksum.
  let matching: Int
  let mismatches: [Mismatch]

  init(_ steps: [AppliedStep], _ set: MigrationSet) {
    let conflicts = set.conflicts(with: steps)
    mismatches = conflicts.compactMap { Mismatch($0, applied: steps, set) }
    (complete, applied) = (conflicts.isEmpty, steps.count)
    matching = min(steps.count, set.version) - conflicts.count
  }
  /// Whether steps ran that are not available, which is permitted when their `reader:` lines allow older
  /// programs.
  var leadsBeyond: Bool { complete && matching < applied }

  /// The result of the comparison, in words.
  var sentence: String {
    guard applied > 0 else { return "no step has run yet" }
    let beyond = applied - matching
    return (beyond == 0 ? "complete, " : "") + "\(matching) of \(applied) "
      + (applied == 1 ? "checksum matches" : "checksums match")
      + (beyond == 0
        ? "" : "; these migrations do not have the last \(beyond == 1 ? "step" : "\(beyond) steps")")
  }
}
