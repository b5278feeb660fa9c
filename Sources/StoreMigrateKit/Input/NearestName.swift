// What a mistyped word may have meant.

import ObjectVault

/// Asks for the nearest of some names, in quotes, behind a space; empty when none is near enough to have been meant.
func didYouMean(_ name: String, among names: [String]) -> String {
  nearestName(name, among: names).map { " Did you mean \"\($0)\"?" } ?? ""
}

private func nearestName(_ name: String, among names: [String]) -> String? {
  guard !name.isEmpty else { return nil }
  let candidates = names.map { ($0, editDistance($0, name)) }
  guard let best = candidates.min(by: { $0.1 < $1.1 }), best.1 <= max(name.count > 2 ? 2 : 1, name.count / 3)
  else {
    return names.first { $0.hasPrefix(name) }
  }
  return best.0
}
