// A store's history beside the steps at hand, as JSON has it: what a program looks at, where a person reads a screen.

import ObjectVault

/// Whether the steps behind a store are those at hand.
struct HistoryState: Encodable {
  /// A step that is not, and in which way.
  struct Mismatch: Encodable {
    /// `edited`, `refolded`, `missing` or `reordered`.
    let kind: String
    let number: Int
    /// What the store calls it.
    let name: String
    /// The checksum of what ran.
    let applied: String
    /// The checksum of what the steps have there; none where they have nothing.
    let found: String?
    /// Of one that was edited: the lines that only one of both has.
    let difference: [String]

    /// nil for what is no matter of one step.
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

  /// Whether no step is another.
  let complete: Bool
  let applied: Int
  /// How many of them are among the steps at hand, with the same checksum.
  let matching: Int
  let mismatches: [Mismatch]

  init(_ steps: [AppliedStep], _ set: MigrationSet) {
    let conflicts = set.conflicts(with: steps)
    mismatches = conflicts.compactMap { Mismatch($0, applied: steps, set) }
    (complete, applied) = (conflicts.isEmpty, steps.count)
    matching = min(steps.count, set.version) - conflicts.count
  }
  /// Whether steps ran that are not among those at hand, which `reader:` lets programs do without.
  var leadsBeyond: Bool { complete && matching < applied }

  /// How many steps are those at hand, in words.
  var sentence: String {
    guard applied > 0 else { return "no step ran yet" }
    let beyond = applied - matching
    return (beyond == 0 ? "complete, " : "") + "\(matching) of \(applied) "
      + (applied == 1 ? "checksum matches" : "checksums match")
      + (beyond == 0
        ? "" : "; \(beyond == 1 ? "the last is" : "the last \(beyond) are") not among these migrations")
  }
}
