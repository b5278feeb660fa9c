// What a mistyped word may have meant.

import ObjectVault

/// Asks for the nearest of some names, in quotes, behind a space; empty when none is near enough to have been meant.
func didYouMean(_ name: String, among names: [String]) -> String {
  nearestName(name, among: names).map { " Did you mean \"\($0)\"?" } ?? ""
}

/// The same for what may be lost. Of a name of a letter or two nothing is near enough: what is proposed here is gone for good.
func didYouMean(lossy name: String, among losses: [String]) -> String {
  let word = name.hasPrefix("lossy:") ? String(name.dropFirst(6)) : name
  guard word.count > 2, let best = nearestName(word, among: losses) else { return "" }
  return " Did you mean \"lossy:\(best)\"?"
}

private func nearestName(_ name: String, among names: [String]) -> String? {
  guard !name.isEmpty else { return nil }
  // Capitals are the nearest of all mistakes.
  let lowercased = name.lowercased()
  let candidates = names.map { ($0, editDistance($0.lowercased(), lowercased)) }
  guard let best = candidates.min(by: { $0.1 < $1.1 }), best.1 <= max(name.count > 2 ? 2 : 1, name.count / 3)
  else {
    return names.first { $0.hasPrefix(name) }
  }
  return best.0
}
