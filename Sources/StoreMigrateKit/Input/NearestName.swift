// Suggestions for a mistyped word.

import ObjectVault

/// Returns a question for the nearest of some names, with a space before it; empty when no name is near
/// enough.
func didYouMean(_ name: String, among names: [String]) -> String {
  nearestName(name, among: names).map { " Did you mean \"\($0)\"?" } ?? ""
}

/// Returns the question for a mistyped loss. Nothing is suggested for a name of one or two letters,
/// because an allowed loss cannot be undone.
func didYouMean(lossy name: String, among losses: [String]) -> String {
  let word = name.hasPrefix("lossy:") ? String(name.dropFirst(6)) : name
  guard word.count > 2, let best = nearestName(word, among: losses) else { return "" }
  return " Did you mean \"lossy:\(best)\"?"
}

private func nearestName(_ name: String, among names: [String]) -> String? {
  guard !name.isEmpty else { return nil }
  // Differences in case do not count.
  let lowercased = name.lowercased()
  let candidates = names.map { ($0, editDistance(from: $0.lowercased(), to: lowercased)) }
  guard let best = candidates.min(by: { $0.1 < $1.1 }), best.1 <= max(name.count > 2 ? 2 : 1, name.count / 3)
  else {
    return names.first { $0.hasPrefix(name) }
  }
  return best.0
}
