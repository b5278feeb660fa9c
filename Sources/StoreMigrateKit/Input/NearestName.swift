// What a mistyped word may have meant.

import ObjectVault

/// The nearest of some names, if it is near enough to have been meant.
func nearestName(_ name: String, among names: [String]) -> String? {
  let candidates = names.map { ($0, editDistance($0, name)) }
  guard let best = candidates.min(by: { $0.1 < $1.1 }), best.1 <= max(2, name.count / 3) else {
    return names.first { $0.hasPrefix(name) }
  }
  return best.0
}
